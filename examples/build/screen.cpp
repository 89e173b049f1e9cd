#include "build/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace build {
namespace {

std::string with_end(std::string_view output) {
  std::string out(output);
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out;
}

std::size_t width_of(int terminal) noexcept {
  winsize size{};
  return ::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Fits a line into `width` columns, one per byte: a line that is too long loses its middle.
std::string fitted(std::string line, std::size_t width) {
  std::replace_if(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (line.size() < width || width < 8) return line.substr(0, width);
  const std::size_t half = (width - 4) / 2;
  return line.substr(0, half) + "..." + line.substr(line.size() - half);
}

}  // namespace

screen::screen(int fd, std::size_t commands)
    : fd_(fd), is_terminal_(::isatty(fd) == 1), commands_(commands) {}

std::string screen::line(std::string_view what) const {
  return "[" + std::to_string(ended_) + "/" + std::to_string(commands_) + "] " + std::string(what);
}

void screen::print(const std::string& words) noexcept {
  std::string_view rest = words;
  while (!rest.empty()) {
    const ssize_t length = ::write(fd_, rest.data(), rest.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return;  // a closed output is no reason to stop
    rest.remove_prefix(static_cast<std::size_t>(length));
  }
}

void screen::print_over(const std::string& status, const std::string& below) {
  if (!is_terminal_) return print(status + "\n" + below);
  is_open_ = below.empty();
  print("\r" + fitted(status, width_of(fd_)) + "\x1b[K" + (below.empty() ? "" : "\n" + below));
}

void screen::started(std::string_view what) {
  const std::lock_guard guard(mutex_);
  if (is_terminal_) print_over(line(what), "");
}

void screen::ended(std::string_view what, std::string_view output) {
  const std::lock_guard guard(mutex_);
  ++ended_;
  print_over(line(what), with_end(output));
}

void screen::say(std::string_view what) {
  const std::lock_guard guard(mutex_);
  if (is_open_) print("\r\x1b[K");
  is_open_ = false;
  print(with_end(what));
}

void screen::leave_line() {
  const std::lock_guard guard(mutex_);
  if (is_open_) print("\n");
  is_open_ = false;
}

}  // namespace build
