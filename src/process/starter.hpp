// How a command becomes a child.
#pragma once

#include "process/starting.hpp"

#include <rota/process.hpp>

#include <optional>
#include <utility>

namespace rota::process::detail {

/// A command that is being started, and the child that it becomes. What it refers to lies in the frame of whoever awaits it.
class starter {
 public:
  explicit starter(recipe what) noexcept : what_(std::move(what)), starting_(what_) {}
  starter(const starter&) = delete;
  starter& operator=(const starter&) = delete;
  ~starter() = default;

  /// Afterwards there is a child, or the error. Cancelled: the process may run all the same, and end() knows of it.
  [[nodiscard]] task<std::error_code> start();
  [[nodiscard]] child& made() noexcept { return *made_; }
  /// Until it has ended.
  [[nodiscard]] task<result<exit_status>> wait();
  /// If there is a process, and nobody has waited for it to its end: it is killed, its group if it leads one, and waited for.
  [[nodiscard]] task<void> end();

 private:
  [[nodiscard]] std::error_code make_child();
  [[nodiscard]] std::error_code take_pipes(child& to);

  const recipe what_;
  starting starting_;
  std::optional<child> made_;
  bool has_ended_ = false;  // and somebody has waited for that
};

[[nodiscard]] task<result<child>> spawn(recipe what);
[[nodiscard]] task<result<exit_status>> run(recipe what);
[[nodiscard]] task<result<captured>> output(recipe what, output_options how);

}  // namespace rota::process::detail
