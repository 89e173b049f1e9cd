#include "http_get/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

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

output::output(const options& o) : path_(o.output) {
  if (path_ == "-") {
    file_ = STDOUT_FILENO;
  } else if (o.beginning == starts::where_it_ended) {
    open_what_is_there();
  }
}

output::~output() { static_cast<void>(close()); }

void output::open_what_is_there() {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ == -1 && errno == ENOENT) return;
  is_ours_ = file_ != -1;
  struct stat about{};
  if (file_ == -1 || ::fstat(file_, &about) != 0 || ::lseek(file_, 0, SEEK_END) == -1) {
    error_ = reason(path_);
    return;
  }
  size_ = static_cast<std::uint64_t>(about.st_size);
}

std::string output::begin() {
  size_ = 0;
  if (file_ == -1) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    is_ours_ = file_ != -1;
    return is_ours_ ? std::string() : reason(path_);
  }
  if (!is_ours_ || (::ftruncate(file_, 0) == 0 && ::lseek(file_, 0, SEEK_SET) == 0)) return {};
  return reason(path_);
}

std::string output::close() {
  if (!is_ours_) return {};
  is_ours_ = false;
  // If close() is interrupted by a signal, the file is closed all the same.
  return ::close(std::exchange(file_, -1)) == 0 || errno == EINTR ? std::string() : reason(path_);
}

rota::task<std::string> output::start_anew() {
  auto beginning = rota::spawn_blocking([this] { return begin(); });
  co_return co_await beginning;
}

rota::task<std::string> output::finish() {
  auto closing = rota::spawn_blocking([this] { return close(); });
  co_return co_await closing;
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
