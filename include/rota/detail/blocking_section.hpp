// A part of a task that may block its thread.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::core {

struct thread_ports;

/// Lends this worker's role while the object lives, if this thread plays one. Inside, the thread is a plain
/// one: no task runs on it.
class ROTA_API blocking_section {
 public:
  blocking_section();
  blocking_section(const blocking_section&) = delete;
  blocking_section& operator=(const blocking_section&) = delete;
  ~blocking_section();

  /// Returns the header of the task that this section is a part of; null if it began outside of a task, or
  /// directly inside of another section.
  [[nodiscard]] void* task() const noexcept { return task_; }
  /// Returns the section around this one on the same thread; null if there is none.
  [[nodiscard]] const blocking_section* outer() const noexcept { return outer_; }

 private:
  const thread_ports* ports_;  // the ports at the beginning: a thread that has lent its role has other ones
  void* lent_;
  void* task_ = nullptr;
  const blocking_section* outer_ = nullptr;
};

}  // namespace rota::core
