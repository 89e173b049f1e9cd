// The resources of a process start, released if the start fails.
#pragma once

#include "base/sys/processes.hpp"

#include <rota/process.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace rota::process::detail {

/// Threads       begin() in the task, start() in a thread that may block, the rest in the task again: one
///               after the other.
/// Ownership     Owns descriptors and the process until they are taken. The destructor closes the former and
///               kills the latter.
class starting {
 public:
  explicit starting(const recipe& what) noexcept : what_(what) {}
  starting(const starting&) = delete;
  starting& operator=(const starting&) = delete;
  ~starting();

  /// Prepares strings and descriptors. Throws std::bad_alloc.
  [[nodiscard]] std::error_code begin();
  /// Starts the process. Blocks.
  void start() noexcept;
  [[nodiscard]] std::error_code error() const noexcept { return error_; }

  [[nodiscard]] int id() const noexcept { return id_; }
  /// Returns this process's end of the pipe for 0, 1 or 2, or -1 if there is none. The caller owns it from
  /// now on.
  [[nodiscard]] int take_pipe(int number) noexcept;
  /// Returns -1 if the process had gone.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_; }
  void give_pidfd(int pidfd) noexcept { pidfd_ = pidfd; }
  [[nodiscard]] bool leads_group() const noexcept { return what_.leads_session || what_.group == 0; }

 private:
  [[nodiscard]] bool has_bad_text() const noexcept;
  void set_arguments();
  void set_environment();
  [[nodiscard]] std::error_code set_file(int number);
  [[nodiscard]] bool merges_into_nothing() const noexcept;
  void close_child_ends() noexcept;
  void start_with(int spare) noexcept;
  void watch_process(int spare) noexcept;
  [[nodiscard]] bool close_own_end() noexcept;

  const recipe& what_;
  std::vector<std::string> variables_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  int child_ends_[3] = {-1, -1, -1};
  int own_ends_[3] = {-1, -1, -1};

  int id_ = 0;
  int pidfd_ = -1;
  std::error_code error_;
};

}  // namespace rota::process::detail
