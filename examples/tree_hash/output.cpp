#include "tree_hash/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

#include <rota/this_task.hpp>

namespace tree_hash {
namespace {

/// A pipe that polls as writable accepts this much without blocking.
constexpr std::size_t most_at_once = PIPE_BUF;
constexpr int patience_ms = 100;
/// A terminal that polls as writable may still have no space for a line end.
constexpr int pause_ms = 10;

std::string_view next_piece(std::string_view text) noexcept {
  if (text.size() <= most_at_once) return text;
  const std::size_t line_end = text.rfind('\n', most_at_once - 1);
  return text.substr(0, line_end == std::string_view::npos ? most_at_once : line_end + 1);
}

bool is_passing(int error) noexcept { return error == EINTR || error == EAGAIN; }

}  // namespace

unique_fd open_terminal_again(int fd) noexcept {
  unsigned number = 0;
  // The master end of a terminal: opening it would create another pair.
  const bool is_master = ::ioctl(fd, TIOCGPTN, &number) == 0;
  if (is_master || ::isatty(fd) != 1) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return unique_fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::error_code write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    if (rota::this_task::cancel_requested()) return std::make_error_code(std::errc::operation_canceled);
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int count = ::poll(&ready, 1, patience_ms);
    if (count < 0 && !is_passing(errno)) return {errno, std::generic_category()};
    if (count <= 0) continue;
    const std::string_view piece = next_piece(text);
    const ssize_t written = ::write(fd, piece.data(), piece.size());
    if (written < 0 && !is_passing(errno)) return {errno, std::generic_category()};
    if (written < 0 && errno == EAGAIN) ::poll(nullptr, 0, pause_ms);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace tree_hash
