// The standard streams, and the one line of progress that must not get between what they print.
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

/// if_terminal: where the standard error is one.
enum class bar : std::uint8_t { if_terminal, always, never };

/// Threads    Any. `print` may block; the others give up instead.
class screen {
 public:
  screen(int out, int error, bar wish) noexcept;
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen() { erase(); }

  [[nodiscard]] bool has_bar() const noexcept { return has_bar_; }
  [[nodiscard]] std::size_t width() const noexcept;

  /// Puts `line` in the place of the last one. Nothing happens while somebody prints, or while the terminal takes nothing.
  void draw(std::string_view line) noexcept;
  void erase() noexcept;
  /// The error is that of the standard output: that nobody hears complaints is no reason to stop.
  [[nodiscard]] std::error_code print(const texts& t) noexcept;

 private:
  void erase_locked() noexcept;

  unique_fd out_terminal_;    // if it is one, and may be opened again
  unique_fd error_terminal_;  // likewise
  int out_;
  int error_;
  bool has_bar_;
  std::mutex mutex_;  // for what is drawn, and for whose turn it is
  bool is_drawn_ = false;
};

}  // namespace tree_hash
