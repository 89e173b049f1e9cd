// What the user is told while commands run.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace build {

/// "[3/12] text": counts what has ended. On a terminal the line is written over by the next; whatever else is said is printed whole,
/// in one piece.
///
/// Threads    Any.
class screen {
 public:
  screen(int fd, std::size_t commands);
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen() { leave_line(); }

  void started(std::string_view what);
  /// `output` may be empty, and need not end with a line.
  void ended(std::string_view what, std::string_view output);
  void say(std::string_view line);
  /// A line that is to be written over becomes one that stays.
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
  bool is_open_ = false;  // the cursor is behind a line that is to be written over
};

}  // namespace build
