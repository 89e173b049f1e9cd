// Turns a command into a child.
#pragma once

#include "process/starting.hpp"

#include <rota/process.hpp>

#include <optional>
#include <utility>

namespace rota::process::detail {

/// A command that is being started, and the child that it becomes. It must live in a frame of the awaiting
/// task.
class starter {
 public:
  explicit starter(recipe what) noexcept : what_(std::move(what)), starting_(what_) {}
  starter(const starter&) = delete;
  starter& operator=(const starter&) = delete;
  ~starter() = default;

  /// Makes the child, or returns the error. After a cancellation the process may run all the same; end()
  /// handles it.
  [[nodiscard]] task<std::error_code> start();
  [[nodiscard]] child& made() noexcept { return *made_; }
  /// Waits until the child has ended.
  [[nodiscard]] task<result<exit_status>> wait();
  /// If there is a process that has not been waited for to its end: kills it (its group if it leads one), and
  /// waits for it.
  [[nodiscard]] task<void> end();

 private:
  [[nodiscard]] std::error_code make_child();
  [[nodiscard]] std::error_code take_pipes(child& to);

  const recipe what_;
  starting starting_;
  std::optional<child> made_;
  bool has_ended_ = false;  // and wait() has returned that end
};

[[nodiscard]] task<result<child>> spawn(recipe what);
[[nodiscard]] task<result<exit_status>> run(recipe what);
[[nodiscard]] task<result<captured>> output(recipe what, output_options how);

}  // namespace rota::process::detail
