// Shows the progress of the commands.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace build {

/// Prints "[3/12] text", with the number of ended commands. On a terminal the next such line overwrites it.
/// Any other text is printed whole, in one piece.
///
/// Threads    Any.
class screen {
 public:
  screen(int fd, std::size_t commands);
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen() { leave_line(); }

  void started(std::string_view what);
  /// `output` may be empty, and need not end with a line feed.
  void ended(std::string_view what, std::string_view output);
  void say(std::string_view line);
  /// Keeps the current line: it will not be overwritten.
  void leave_line();

 private:
  [[nodiscard]] std::string line(std::string_view what) const;
  void print(const std::string& words) noexcept;
  void print_over(const std::string& status, const std::string& below);

  int fd_;
  bool is_terminal_;
  std::size_t commands_;
  std::mutex mutex_;
  std::size_t ended_ = 0;
  bool is_open_ = false;  // the cursor is behind a line that will be overwritten
};

}  // namespace build
