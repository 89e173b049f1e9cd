// Real tasks on a small scheduler: workers share one locked queue and sleep on a counter of pushes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <rota/testing/explore.hpp>
#include "base/frame_allocator.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/tls_slot.hpp"
#include "model/exploring.hpp"
#include "queue/fork_deque.hpp"
#include "task/harness.hpp"
#include "time/shard.hpp"

#include <rota/detail/fork_group.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/this_task.hpp>

namespace rota::model {

using testing::check;
using testing::execution;

/// The last task frees its core: a later access is a use after free.
class model_scheduler {
  struct core_type : core::scheduler {
    core_type() : scheduler{&table, &passed_here} {}

    core::passed_deadlines passed_here;
    std::optional<timing::shard> timers;
    base::atomic<base::nanoseconds::rep> time;
    base::mutex mutex;
    std::deque<core::header*> queue;  // under the mutex
    base::atomic<std::uint32_t> pushes{0};
    // One more for the model_scheduler itself. relaxed would do: acq_rel, since the last one frees.
    base::atomic<int> owners{1};
    model_scheduler* outside = nullptr;
  };

 public:
  model_scheduler() : core_(::new(base::allocate_frame(sizeof(core_type))) core_type) {
    core_->outside = this;
  }
  model_scheduler(const model_scheduler&) = delete;
  model_scheduler& operator=(const model_scheduler&) = delete;
  ~model_scheduler() { close(); }

  template <class T>
  [[nodiscard]] join_handle<T> spawn(task<T> work) {
    return core::spawn_on(*core_, std::move(work));
  }

  /// The same, with the task's header: the caller holds the handle.
  template <class T>
  [[nodiscard]] core::header& launch(task<T> work) {
    return core::launch(*work.release(), *core_, core::result_vtable_of<T>, {});
  }

  /// Runs runnable tasks for ever: for daemons. `mine`: where its tasks may fork; `other`: where it steals.
  void work(core::fork_context* mine = nullptr, core::fork_context* other = nullptr) {
    base::this_thread_locals().worker = core_;
    base::this_thread_locals().forks = mine;
    core_type& c = *core_;
    for (;;) {
      // acquire. Pairs with push().
      const std::uint32_t seen = c.pushes.load(base::order::acquire);
      if (run_own_fork(mine) || run_one(c) || run_stolen_fork(other)) continue;
      static_cast<void>(base::futex_wait(c.pushes, seen, base::never));
    }
  }
  /// Runs one entry, if there is one.
  bool run_one() { return run_one(*core_); }

  /// Gives the scheduler up: its core lives on while there are tasks.
  void close() {
    if (core_ != nullptr) forget(*std::exchange(core_, nullptr));
  }

  [[nodiscard]] core::scheduler& core() noexcept { return *core_; }

  /// Before the first task. Time stands still at `now`, until let_time_pass().
  void have_timers(base::time_point now) {
    core_->timers.emplace(now);
    // relaxed: no other thread is here.
    core_->time.store(now.time_since_epoch().count(), base::order::relaxed);
  }
  /// By one thread: it is `now`, and timers fire, one after the other, until `is_over` returns true.
  template <class Over>
  void let_time_pass(base::time_point now, Over is_over) {
    // release: a thread that sees the new time comes after what was done before.
    core_->time.store(now.time_since_epoch().count(), base::order::release);
    while (!is_over()) {
      static_cast<void>(core_->timers->poll(now, 1));
      base::cpu_relax();
    }
  }

  [[nodiscard]] static bool is_worker() noexcept { return base::this_thread_locals().worker != nullptr; }

  // Plain: a model has one thread of the machine, and no decision depends on these.
  bool claims = true;
  int admitted = 0;
  int ended = 0;
  int cancelled = 0;
  int unhandled = 0;
  int freed = 0;

 private:
  static core_type& of(core::scheduler& s) noexcept { return static_cast<core_type&>(s); }
  static const core_type& of(const core::scheduler& s) noexcept { return static_cast<const core_type&>(s); }
  static core_type& of(core::header& task) noexcept { return of(*task.owner); }

  static bool run_one(core_type& c) {
    core::header* next = nullptr;
    {
      const base::lock_guard lock(c.mutex);
      if (c.queue.empty()) return false;
      next = c.queue.front();
      c.queue.pop_front();
    }
    core::run_entry(*next);
    return true;
  }

  static bool run_own_fork(core::fork_context* mine) {
    if (mine == nullptr || mine->waiting.is_empty()) return false;
    core::promise_base* const child = mine->waiting.pop();
    if (child != nullptr) core::run_entry(core::fork_group::adopt(*child));
    return child != nullptr;
  }
  static bool run_stolen_fork(core::fork_context* other) {
    if (other == nullptr) return false;
    const auto got = queue::fork_thief(other->waiting).steal();
    if (got.item != nullptr) core::run_entry(core::fork_group::adopt(*got.item));
    return got.status != queue::on_fork_steal::empty;
  }

  static void push(core::header& task) noexcept {
    core_type& c = of(task);
    {
      const base::lock_guard lock(c.mutex);
      c.queue.push_back(&task);
    }
    tell(c);
  }
  static void tell(core_type& c) noexcept {
    // release. Pairs with work(): the entry is there.
    c.pushes.fetch_add(1, base::order::release);
    base::futex_wake(&c.pushes, 1);
  }

  static void forget(core_type& c) noexcept {
    // acq_rel: release: my last use happens before the end; acquire: and that of all others.
    if (c.owners.fetch_sub(1, base::order::acq_rel) != 1) return;
    c.~core_type();
    base::free_frame(&c, sizeof(core_type));
  }

  static const core::scheduler_ops table;

  core_type* core_;
};

inline constexpr core::scheduler_ops model_scheduler::table{
    .admit =
        [](core::scheduler& s) noexcept {
          // relaxed. The caller is an owner.
          of(s).owners.fetch_add(1, base::order::relaxed);
          ++of(s).outside->admitted;
          return true;
        },
    .schedule = push,
    .reschedule = push,
    .take_entry =
        [](core::header& task) noexcept {
          const core::scheduler& s = *task.owner;
          const bool may =
              of(s).outside->claims && base::this_thread_locals().worker == static_cast<const void*>(&s);
          return may ? core::on_take::no_entry : core::on_take::not_here;
        },
    .enroll = [](core::scheduler&, core::header& task) noexcept { task.shard = 0; },
    .withdraw = [](core::scheduler&, core::header&) noexcept {},
    .rename = [](core::scheduler&, core::header& task, void* name) noexcept { task.label.set_name(name); },
    .ended =
        [](core::scheduler& s, core::header&, bool was_cancelled) noexcept {
          ++of(s).outside->ended;
          if (was_cancelled) ++of(s).outside->cancelled;
        },
    .unhandled =
        [](core::scheduler& s, core::header&, std::exception_ptr) noexcept { ++of(s).outside->unhandled; },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now =
        [](const core::scheduler& s) noexcept {
          // acquire. See let_time_pass().
          const base::nanoseconds passed(of(s).time.load(base::order::acquire));
          return of(s).timers ? base::time_point(passed) : base::now();
        },
    .timer_shard = [](core::scheduler& s) noexcept -> timing::shard& {
      if (!of(s).timers) ROTA_FATAL("this scheduler has no timers", 0);
      return *of(s).timers;
    },
    .deadline_moved = [](core::scheduler&, base::time_point) noexcept {},
    .forked = [](core::scheduler& s) noexcept { tell(of(s)); },
    .draw = [](core::scheduler&) noexcept { return std::uint64_t{testing::choose(2)}; },
    .freed =
        [](core::scheduler& s) noexcept {
          ++of(s).outside->freed;
          forget(of(s));
        },
};

/// An event that stays, once it is there. Waited for by one task at a time; fired by any thread.
class model_event {
 public:
  model_event() = default;
  model_event(const model_event&) = delete;
  model_event& operator=(const model_event&) = delete;
  ~model_event() = default;

  void fire() {
    waker waiting;
    {
      const base::lock_guard lock(mutex_);
      fired_.set(true);
      base::note_write(&waiting_);
      waiting = std::move(waiting_);
    }
    waiting.wake();
  }
  /// Returns a second source of wakes: it wakes the waiter, soon or late, without the event.
  [[nodiscard]] waker steal() {
    const base::lock_guard lock(mutex_);
    base::note_read(&waiting_);
    return waiting_.clone();
  }

  class wait final : public leaf {
   public:
    explicit wait(model_event& of) noexcept : of_(&of) {}
    [[nodiscard]] bool is_ready() noexcept override {
      const base::lock_guard lock(of_->mutex_);
      return of_->fired_.get();
    }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      ++of_->cancels;
      const waker unlinked = unlink();
      return cancel_progress::ended;
    }
    void await_resume() const {
      check(of_->has_fired(), "nobody is resumed without its event");
      ++of_->resumes;
    }

   protected:
    bool start() override {
      waker mine = make_waker();
      const base::lock_guard lock(of_->mutex_);
      if (of_->fired_.get()) return true;
      base::note_write(&of_->waiting_);
      // A waker of another task that was there is dropped with mine, after the lock.
      std::swap(of_->waiting_, mine);
      return false;
    }

   private:
    waker unlink() noexcept {
      const base::lock_guard lock(of_->mutex_);
      base::note_write(&of_->waiting_);
      return std::move(of_->waiting_);
    }
    model_event* of_;
  };
  [[nodiscard]] wait operator()() noexcept { return wait(*this); }

  int resumes = 0;
  int cancels = 0;

 private:
  bool has_fired() {
    const base::lock_guard lock(mutex_);
    return fired_.get();
  }

  base::mutex mutex_;
  base::cell<bool> fired_;
  waker waiting_;
};

/// Cancels a task from anywhere, at any time: with a reference of its own, since a handle is one thread's.
class canceller {
 public:
  explicit canceller(core::header& task) noexcept : task_(&task), keeps_(core::make_waker(task)) {}

  bool cancel(cancel_reason reason = cancel_reason::user) {
    const bool asked = core::cancel(*task_, reason);
    keeps_ = waker();
    return asked;
  }

 private:
  core::header* task_;
  waker keeps_;
};

/// Lives in a frame: is destroyed once, by a worker, and seen by the checker if it leaks.
class guard {
 public:
  explicit guard(int* destroyed) noexcept : destroyed_(destroyed) {
    testing::track_new(this, "a local of a task");
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() {
    testing::track_delete(this);
    check(model_scheduler::is_worker(), "frames are destroyed on the thread that runs the task");
    ++*destroyed_;
  }

 private:
  int* destroyed_;
};

/// A result: each of its lives must end.
class tracked {
 public:
  explicit tracked(int v) noexcept : value(v) { testing::track_new(this, "a result"); }
  tracked(const tracked&) = delete;
  tracked& operator=(const tracked&) = delete;
  tracked(tracked&& other) noexcept : tracked(other.value) {}
  tracked& operator=(tracked&&) = delete;
  ~tracked() { testing::track_delete(this); }

  int value;
};

}  // namespace rota::model
