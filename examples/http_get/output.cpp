#include "http_get/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <rota/spawn.hpp>

namespace http_get {

namespace {

using namespace std::chrono_literals;

std::string reason(const std::string& what) {
  return what + ": " + std::error_code(errno, std::generic_category()).message();
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

}  // namespace

output::output(const options& o) {
  if (o.output == "-") {
    file_ = STDOUT_FILENO;
    return;
  }
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC;
  file_ = ::open(o.output.c_str(), how, 0666);
  is_ours_ = file_ != -1;
  struct stat about{};
  if (file_ == -1 || ::fstat(file_, &about) != 0) {
    error_ = reason(o.output);
    return;
  }
  if (o.beginning == starts::anew) return;
  size_ = static_cast<std::uint64_t>(about.st_size);
  if (::lseek(file_, 0, SEEK_END) == -1) error_ = reason(o.output);
}

output::~output() {
  if (is_ours_) ::close(file_);
}

std::string output::start_anew() {
  size_ = 0;
  if (!is_ours_) return {};
  if (::ftruncate(file_, 0) == 0 && ::lseek(file_, 0, SEEK_SET) == 0) return {};
  // A pipe, a terminal, /dev/null: they have no beginning.
  return errno == ESPIPE || errno == EINVAL ? std::string() : reason("the file");
}

std::string output::put(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return reason("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

rota::task<std::string> output::write(std::string_view bytes) {
  auto writing = rota::spawn_blocking([this, bytes] { return put(bytes); });
  const std::string why = co_await writing;
  if (why.empty()) size_ += bytes.size();
  co_return why;
}

std::string progress_text(std::uint64_t done, std::optional<std::uint64_t> whole) {
  std::string text = size_text(done);
  if (!whole.has_value()) return text;
  text += " of " + size_text(*whole);
  if (*whole != 0) text += ", " + std::to_string(done / std::max<std::uint64_t>(*whole / 100, 1)) + " %";
  return text;
}

progress::progress(shows_progress how)
    : is_shown_(how == shows_progress::always ||
                (how == shows_progress::on_a_terminal && ::isatty(STDERR_FILENO) == 1)) {}

void progress::show(std::uint64_t done, std::optional<std::uint64_t> whole) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_shown_ || now < next_) return;
  next_ = now + 100ms;
  std::fprintf(stderr, "\r\x1b[K%s", progress_text(done, whole).c_str());
}

void progress::finish(std::uint64_t done, std::optional<std::uint64_t> whole) {
  if (is_shown_) std::fprintf(stderr, "\r\x1b[K%s\n", progress_text(done, whole).c_str());
}

}  // namespace http_get
