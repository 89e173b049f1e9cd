#include "tree_hash/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "tree_hash/output.hpp"

namespace tree_hash {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";

bool is_wanted(int error, bar wish) noexcept {
  return wish == bar::always || (wish == bar::if_terminal && ::isatty(error) == 1);
}

int either(const unique_fd& terminal, int fd) noexcept { return terminal.is_open() ? terminal.get() : fd; }

/// Writes once, if that does not block. If the terminal does not take the text, there is no second attempt.
void put(int fd, std::string_view text) noexcept {
  pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1) return;
  const ssize_t written = ::write(fd, text.data(), text.size());
  static_cast<void>(written);
}

}  // namespace

screen::screen(int out, int error, bar wish) noexcept
    : out_terminal_(open_terminal_again(out)),
      error_terminal_(open_terminal_again(error)),
      out_(either(out_terminal_, out)),
      error_(either(error_terminal_, error)),
      has_bar_(is_wanted(error, wish)) {}

std::size_t screen::width() const noexcept {
  constexpr std::size_t usual = 80;
  winsize size{};
  return ::ioctl(error_, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : usual;
}

void screen::draw(std::string_view line) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  std::string text(clear_line);
  text += line;
  put(error_, text);
  is_drawn_ = true;
}

void screen::erase() noexcept {
  const std::lock_guard lock(mutex_);
  erase_locked();
}

void screen::erase_locked() noexcept {
  if (is_drawn_) put(error_, clear_line);
  is_drawn_ = false;
}

std::error_code screen::print(const texts& t) noexcept {
  const std::lock_guard lock(mutex_);
  if (!t.errors.empty() || ::isatty(out_) == 1) erase_locked();
  static_cast<void>(write_all(error_, t.errors));
  return write_all(out_, t.out);
}

}  // namespace tree_hash
