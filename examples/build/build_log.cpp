#include "build/build_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <utility>

#include "build/file_times.hpp"

namespace build {
namespace {

std::string line_of(const std::string& output, const made_file& what) {
  return std::to_string(what.command) + ' ' + std::to_string(what.started) + ' ' + std::to_string(what.left) +
         ' ' + output + '\n';
}

template <class Number>
bool take_number(std::string_view& from, Number& to) {
  const auto [end, failed] = std::from_chars(from.data(), from.data() + from.size(), to);
  const auto length = static_cast<std::size_t>(end - from.data());
  if (failed != std::errc() || length == from.size() || *end != ' ') return false;
  from.remove_prefix(length + 1);
  return true;
}

}  // namespace

std::uint64_t hash_of(std::string_view command) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (const char c : command) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
  return hash;
}

build_log::build_log(std::string path) : path_(std::move(path)) {
  std::ifstream in(path_, std::ios::binary);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    // A last line without a line end was cut off while it was written.
    if (!in.eof()) read_line(line);
  }
  constexpr std::size_t few = 100;
  if (lines > few + 2 * files_.size()) write_anew();
}

void build_log::read_line(std::string_view line) {
  made_file what;
  if (take_number(line, what.command) && take_number(line, what.started) && take_number(line, what.left))
    files_.insert_or_assign(std::string(line), what);
}

/// Rewrites the log without the obsolete lines. If that fails, the old file stays.
void build_log::write_anew() const {
  const std::string next = path_ + ".new";
  std::ofstream out(next, std::ios::binary | std::ios::trunc);
  for (const auto& [output, what] : files_) out << line_of(output, what);
  out.close();
  if (out) std::rename(next.c_str(), path_.c_str());
}

std::optional<made_file> build_log::find(const std::string& output) const {
  const std::lock_guard guard(mutex_);
  const auto found = files_.find(output);
  return found == files_.end() ? std::nullopt : std::optional(found->second);
}

common::unique_fd build_log::open() const noexcept {
  return common::unique_fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
}

file_time build_log::now() const noexcept {
  const common::unique_fd mine = open();
  struct stat about{};
  if (::futimens(mine.get(), nullptr) == 0 && ::fstat(mine.get(), &about) == 0)
    return nanoseconds_of(about.st_mtim);
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  return nanoseconds_of(clock);
}

bool build_log::add(const std::string& output, const made_file& what) {
  const std::string line = line_of(output, what);
  const std::lock_guard guard(mutex_);
  files_.insert_or_assign(output, what);
  const common::unique_fd out = open();
  return out.is_open() && ::write(out.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace build
