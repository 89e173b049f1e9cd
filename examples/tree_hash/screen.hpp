// The standard streams, and the line of progress, which must not mix with other output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <system_error>

#include "common/unique_fd.hpp"
#include "tree_hash/report.hpp"

namespace tree_hash {

using common::unique_fd;

/// if_terminal: if standard error is a terminal.
enum class bar : std::uint8_t { if_terminal, always, never };

/// Threads    Any. `print` may block; the other functions give up instead.
class screen {
 public:
  screen(int out, int error, bar wish) noexcept;
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen() { erase(); }

  [[nodiscard]] bool has_bar() const noexcept { return has_bar_; }
  [[nodiscard]] std::size_t width() const noexcept;

  /// Replaces the drawn line by `line`. Does nothing while another thread prints, or while the terminal takes
  /// nothing.
  void draw(std::string_view line) noexcept;
  void erase() noexcept;
  /// Prints. Returns the error of standard output; a failure of standard error is ignored.
  [[nodiscard]] std::error_code print(const texts& t) noexcept;

 private:
  void erase_locked() noexcept;

  unique_fd out_terminal_;    // open if `out_` is a terminal that may be opened again
  unique_fd error_terminal_;  // likewise
  int out_;
  int error_;
  bool has_bar_;
  std::mutex mutex_;  // guards the drawn line, and gives threads their turn
  bool is_drawn_ = false;
};

}  // namespace tree_hash
