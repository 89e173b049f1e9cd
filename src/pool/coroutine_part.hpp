// What a work has that is a coroutine: a scheduler of its own, whose one thread at a time the pool provides.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"
#include "pool/work.hpp"
#include "task/header.hpp"
#include "time/timer.hpp"

#include <cstdint>

namespace rota::pool::detail {

// PROTOCOL: segments
//   lock_ guards what follows. The work is in a queue of the pool (queued_), or a thread runs its tasks (running_), or neither: then
//   the travelling reference is this part's, and whoever makes a task runnable puts the work into a queue. A thread that finds no
//   runnable task says so under the lock under which it looked. paused_: what would be queued is not, until go_on().
//   A task of this scheduler owns a reference to the work as long as its memory is there.
//
// PROTOCOL: an inherited deadline
//   deadline_ is written once, by the submitting thread, before the work can begin or be found by its timer. `limit` is the timer of
//   the deadline: the thread that brings the work into the pool arms it, the end of the work cancels it, and its waker owns a reference.
//   I1  A thread that ends the job for its deadline notes the time in pool_core::passed first. So a task that awaits the job, and has
//       the same deadline, finds at the end of the job that its own deadline has passed.
//   I2  The timer may be late. So a thread that is about to begin an attempt looks at the clock itself (is_late), and begins none.
//   I3  The root has the deadline in its header: its waits and its children see it as if the submitting task had spawned the root.
//       A wait of the root may find that the deadline has passed before the timer fires. Then only the root was cancelled, and the
//       thread that runs it writes the reason into the word of the work (root_end::late).
//   I4  The observers hear of the deadline once (is_told_), by the first thread that acts on it: the timer, the thread that runs the job, or the one
//       that cancels a task that awaits the job. forget_stop() takes the flags out of the word, and so cannot say whether they have heard.
class coroutine_part final : public core::scheduler {
 public:
  explicit coroutine_part(work_core& work) noexcept;
  coroutine_part(const coroutine_part&) = delete;
  coroutine_part& operator=(const coroutine_part&) = delete;
  ~coroutine_part();

  /// By the thread that submits, before the work can begin: each attempt has the task locals and the deadline of the task that runs
  /// here. What this thread runs in a foreign_call hands nothing on: another work, a callback, an observer.
  void inherit() noexcept;
  /// base::never: the job has inherited none.
  [[nodiscard]] base::time_point deadline() const noexcept { return deadline_; }
  /// Returns true if the inherited deadline has passed by the clock. Then the time was noted (I1).
  [[nodiscard]] bool is_late() noexcept;
  /// Returns true if a thread has acted on the inherited deadline, or on a later one.
  [[nodiscard]] bool was_late() const noexcept { return passed->include(deadline_); }
  /// Returns true the first time: the caller tells the observers that the inherited deadline has passed.
  [[nodiscard]] bool is_first_to_tell() noexcept {
    // relaxed. It decides which thread tells, and orders nothing.
    return !is_told_.exchange(true, base::order::relaxed);
  }
  timing::timer_node limit;

  enum class [[nodiscard]] on_segment : std::uint8_t { waits, ended };

  /// The thread that the pool gave: begins the tasks with this one.
  void begin(task<void> root) noexcept;
  /// The thread that the pool gave: runs what can run.
  on_segment run() noexcept;
  /// After `ended`: how the root has ended. Its memory goes.
  enum class [[nodiscard]] root_end : std::uint8_t { returned, cancelled, late };
  root_end take_end() noexcept;
  [[nodiscard]] bool has_begun() noexcept;
  /// It has begun, and not ended.
  [[nodiscard]] bool has_tasks() noexcept {
    const base::lock_guard guard(lock_);
    return root_ != nullptr;
  }

  /// Any thread that has a reference to the work.
  void stop() noexcept;
  void go_on() noexcept;

 private:
  static const core::scheduler_ops ops_table;
  static coroutine_part& of(core::scheduler& s) noexcept { return static_cast<coroutine_part&>(s); }

  void push(core::header& task) noexcept;
  [[nodiscard]] core::header* take_first() noexcept;

  work_core& work_;  // whoever calls here owns a reference
  base::mutex lock_;
  core::header* first_ = nullptr;
  core::header* last_ = nullptr;
  core::header* root_ = nullptr;  // its handle is this part's
  bool queued_ = true;            // the submitted work is
  bool running_ = false;
  bool paused_ = false;
  bool root_cancelled_ = false;
  std::uint32_t alive_ = 0;
  core::local_node* locals_ = nullptr;  // of the task that has submitted the work; a reference
  base::time_point deadline_ = base::never;
  base::atomic<bool> is_told_{false};  // the observers have heard of the inherited deadline
};

void end_coroutine(coroutine_part* part) noexcept;

}  // namespace rota::pool::detail
