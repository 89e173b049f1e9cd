// A scheduler that runs tasks on the test's thread, on demand, with a clock that the test moves.
#pragma once

#include "base/tls_slot.hpp"
#include "queue/fork_deque.hpp"
#include "task/harness.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/detail/fork_group.hpp>
#include <rota/detail/spawn_on.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

namespace rota::test {

/// Tasks run in the order in which they became runnable, or in reverse order with `lifo`. Any thread may wake
/// them, and any thread that calls run_one() runs them.
class manual_scheduler : public core::scheduler {
 public:
  manual_scheduler() : scheduler{&table, &passed_here_} {}
  manual_scheduler(const manual_scheduler&) = delete;
  manual_scheduler& operator=(const manual_scheduler&) = delete;
  ~manual_scheduler() {
    run_until_idle();
    if (live != 0) std::abort();  // a task outlived the test
  }

  template <class T>
  [[nodiscard]] join_handle<T> spawn(task<T> work) {
    return core::spawn_on(*this, std::move(work));
  }
  template <class F, class... Args>
  [[nodiscard]] auto spawn(F&& function, Args&&... args) {
    return core::spawn_on(*this, core::make_task(std::forward<F>(function), std::forward<Args>(args)...));
  }

  /// Runs one entry. Returns false if none was queued.
  bool run_one() {
    core::header* const next = take();
    if (next == nullptr) return false;
    run(*next);
    return true;
  }
  /// The entries that are queued, and the task of the i-th, counted from the one that came first.
  [[nodiscard]] std::size_t queued() {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }
  [[nodiscard]] std::uint64_t queued_id(std::size_t i) {
    const std::lock_guard lock(mutex_);
    return queue_[i]->id;
  }
  /// Runs the i-th.
  void run_queued(std::size_t i) {
    core::header* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      next = queue_[i];
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    run(*next);
  }
  /// Runs until nothing is runnable, and returns how many entries that took. The clock stands still.
  int run_until_idle() {
    int entries = 0;
    while (run_one()) ++entries;
    return entries;
  }
  /// Moves the clock and fires what is due.
  void advance(base::nanoseconds by) {
    time += by;
    while (shard.poll(time, 32) != 0) {
    }
  }
  /// Runs, and moves the clock to the next deadline whenever nothing is runnable, until neither is left.
  void run_with_time() {
    for (;;) {
      run_until_idle();
      const base::time_point next = shard.earliest();
      if (next == base::never) return;
      if (next > time) time = next;
      while (shard.poll(time, 32) != 0) {
      }
    }
  }

  bool lifo = false;
  bool at_once = false;  // a woken task runs inside of the wake; then only one thread may wake and run tasks
  bool claims = true;    // an awaited task that has not started runs inside its awaiter
  bool forks_in_place = false;  // children of a when_* run in its place; then only one thread may run tasks
  bool closed = false;
  std::atomic<unsigned> looks = 0;
  std::atomic<int> live = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> cancelled = 0;
  std::atomic<int> enrolled = 0;
  int deadline_moves = 0;
  int overrides = 0;
  std::exception_ptr unhandled;
  int unhandled_count = 0;
  int suppressed = 0;
  base::time_point time{std::chrono::seconds(1000)};
  timing::shard shard{time};

 private:
  core::passed_deadlines passed_here_;
  static manual_scheduler& self_of(core::header& task) noexcept {
    return static_cast<manual_scheduler&>(*task.owner);
  }
  static manual_scheduler& of(core::scheduler& s) noexcept { return static_cast<manual_scheduler&>(s); }
  static const manual_scheduler& of(const core::scheduler& s) noexcept {
    return static_cast<const manual_scheduler&>(s);
  }

  void run(core::header& next) {
    const manual_scheduler* const outer = std::exchange(running_here, this);
    void* const outer_forks =
        std::exchange(base::this_thread_locals().forks, forks_in_place ? &places : nullptr);
    looks += core::run_entry(next);
    base::this_thread_locals().forks = outer_forks;
    running_here = outer;
  }
  core::header* take() {
    if (forks_in_place) {
      if (core::promise_base* const child = places.waiting.pop()) return &core::fork_group::adopt(*child);
    }
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return nullptr;
    core::header* const next = lifo ? queue_.back() : queue_.front();
    lifo ? queue_.pop_back() : queue_.pop_front();
    return next;
  }
  static void push(core::header& task) noexcept {
    manual_scheduler& self = self_of(task);
    if (self.at_once) return self.run(task);
    const std::lock_guard lock(self.mutex_);
    self.queue_.push_back(&task);
  }

  static const core::scheduler_ops table;

  static inline thread_local const manual_scheduler* running_here = nullptr;

  core::fork_context places{queue::best_pop_barrier(), *this};
  std::mutex mutex_;
  std::deque<core::header*> queue_;
};

inline constexpr core::scheduler_ops manual_scheduler::table{
    .admit =
        [](core::scheduler& s) noexcept {
          ++of(s).live;
          return !of(s).closed;
        },
    .schedule = push,
    .reschedule =
        [](core::header& task) noexcept {
          manual_scheduler& self = self_of(task);
          const std::lock_guard lock(self.mutex_);
          self.lifo ? self.queue_.push_front(&task) : self.queue_.push_back(&task);
        },
    .take_entry =
        [](core::header& task) noexcept {
          const manual_scheduler& self = self_of(task);
          const bool may = self.claims && running_here == &self;
          return may ? core::on_take::no_entry : core::on_take::not_here;
        },
    .enroll =
        [](core::scheduler&, core::header& task) noexcept {
          task.shard = 0;
          ++self_of(task).enrolled;
        },
    .withdraw = [](core::scheduler&, core::header& task) noexcept { --self_of(task).enrolled; },
    .rename = [](core::scheduler&, core::header& task, void* name) noexcept { task.label.set_name(name); },
    .ended =
        [](core::scheduler&, core::header& task, bool was_cancelled) noexcept {
          ++self_of(task).ended;
          if (was_cancelled) ++self_of(task).cancelled;
        },
    .unhandled =
        [](core::scheduler&, core::header& task, std::exception_ptr what) noexcept {
          self_of(task).unhandled = std::move(what);
          ++self_of(task).unhandled_count;
        },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now = [](const core::scheduler& s) noexcept { return of(s).time; },
    .timer_shard = [](core::scheduler& s) noexcept -> timing::shard& { return of(s).shard; },
    .deadline_moved = [](core::scheduler& s, base::time_point) noexcept { ++of(s).deadline_moves; },
    .shield_overridden = [](core::scheduler&, core::header& task) noexcept { ++self_of(task).overrides; },
    .suppressed = [](core::scheduler& s) noexcept { ++of(s).suppressed; },
    .is_open = [](const core::scheduler& s) noexcept { return !of(s).closed; },
    .freed = [](core::scheduler& s) noexcept { --of(s).live; },
};

}  // namespace rota::test
