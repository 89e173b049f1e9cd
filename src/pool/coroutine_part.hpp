// The part of a job that is a coroutine: a scheduler of its own. The pool provides its one thread at a time.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"
#include "pool/work.hpp"
#include "task/header.hpp"
#include "time/timer.hpp"

#include <cstdint>

namespace rota::pool::detail {

// PROTOCOL: segments
//   lock_ guards the fields below. The job is in one of three states:
//     queued_   the job is in a queue of the pool
//     running_  a thread runs its tasks
//     neither   this part holds the travelling reference. A thread that makes a task runnable puts the job
//               into a queue.
//   A thread that finds no runnable task clears running_ in the critical section in which it searched. While
//   paused_ is set the job is not put into a queue; go_on() does that later.
//   A task of this scheduler owns a reference to the job until the task's memory is freed.
//
// PROTOCOL: an inherited deadline
//   The submitting thread writes deadline_ once, before the job can begin or be found by its timer. `limit`
//   is the timer of the deadline. The thread that brings the job into the pool arms it, and the end of the
//   job cancels it. Its waker owns a reference.
//   I1  A thread that ends the job for its deadline notes the time in pool_core::passed first. So a task that
//       awaits the job, and has the same deadline, finds at the end of the job that its own deadline has
//       passed.
//   I2  The timer may be late. So a thread that is about to begin an attempt reads the clock (is_late). It
//       begins none after the deadline.
//   I3  The root has the deadline in its header: its waits and its children see it as if the submitting task
//       had spawned the root. A wait of the root may find that the deadline has passed before the timer
//       fires. Then only the root was cancelled, and the thread that runs it writes the reason into the word
//       of the job (root_end::late).
//   I4  The observers hear of the deadline once (is_told_), from the first thread that acts on it: the
//       timer's thread, the thread that runs the job, or a thread that cancels a task that awaits the job.
//       The word cannot tell whether they have heard: forget_stop() clears its flags.
class coroutine_part final : public core::scheduler {
 public:
  explicit coroutine_part(work_core& work) noexcept;
  coroutine_part(const coroutine_part&) = delete;
  coroutine_part& operator=(const coroutine_part&) = delete;
  ~coroutine_part();

  /// Makes each attempt inherit the task locals and the deadline of the task that runs on this thread. Called
  /// by the submitting thread, before the job can begin. Inside a foreign_call (another job, a callback, an
  /// observer) nothing is inherited.
  void inherit() noexcept;
  /// Returns base::never if the job has inherited no deadline.
  [[nodiscard]] base::time_point deadline() const noexcept { return deadline_; }
  /// Returns true if the inherited deadline has passed by the clock. Then the time is noted (I1).
  [[nodiscard]] bool is_late() noexcept;
  /// Returns true if a thread has acted on the inherited deadline, or on a later one.
  [[nodiscard]] bool was_late() const noexcept { return passed->include(deadline_); }
  /// Returns true the first time: the caller tells the observers that the inherited deadline has passed.
  [[nodiscard]] bool is_first_to_tell() noexcept {
    // relaxed: the exchange decides which thread tells, and orders nothing.
    return !is_told_.exchange(true, base::order::relaxed);
  }
  timing::timer_node limit;

  enum class [[nodiscard]] on_segment : std::uint8_t { waits, ended };

  /// Begins the tasks with `root`. Called by the thread that the pool provides.
  void begin(task<void> root) noexcept;
  /// Runs the tasks that are runnable. Called by the thread that the pool provides.
  on_segment run() noexcept;
  /// Returns how the root has ended, and frees its memory. Called after `ended`.
  enum class [[nodiscard]] root_end : std::uint8_t { returned, cancelled, late };
  root_end take_end() noexcept;
  [[nodiscard]] bool has_begun() noexcept;
  /// Returns true if the root has begun and not ended.
  [[nodiscard]] bool has_tasks() noexcept {
    const base::lock_guard guard(lock_);
    return root_ != nullptr;
  }

  /// Cancels the root. Any thread that has a reference to the job.
  void stop() noexcept;
  void go_on() noexcept;

 private:
  static const core::scheduler_ops ops_table;
  static coroutine_part& of(core::scheduler& s) noexcept { return static_cast<coroutine_part&>(s); }

  void push(core::header& task) noexcept;
  [[nodiscard]] core::header* take_first() noexcept;

  work_core& work_;  // each caller owns a reference
  base::mutex lock_;
  core::header* first_ = nullptr;
  core::header* last_ = nullptr;
  core::header* root_ = nullptr;  // this part owns its handle
  bool queued_ = true;            // true from the start: submit() queues the job
  bool running_ = false;
  bool paused_ = false;
  bool root_cancelled_ = false;
  std::uint32_t alive_ = 0;
  core::local_node* locals_ = nullptr;  // of the task that has submitted the job; owned
  base::time_point deadline_ = base::never;
  base::atomic<bool> is_told_{false};  // the observers have heard of the inherited deadline
};

void end_coroutine(coroutine_part* part) noexcept;

}  // namespace rota::pool::detail
