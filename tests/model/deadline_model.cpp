// Deadlines, inherited deadlines, limits of shields and cancel hooks, against timers that fire, events that
// happen and cancellations at any moment. Every execution ends, in one way. The real task core runs.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <rota/testing/explore.hpp>
#include "base/mutex.hpp"
#include "model/exploring.hpp"
#include "task/entered.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/enter.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/time.hpp>

namespace rota::core {
namespace {

using namespace std::chrono_literals;
using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

constexpr base::time_point start{1'000s};
constexpr base::time_point due = start + 10ms;

/// The runtime: one shard, and a clock that stands still, so that only a timer shows that time has passed.
class services : public scheduler {
 public:
  services() : scheduler{&table, &passed_here} {}

  /// A poller that fires one timer as soon as there is one.
  void fire_one() {
    while (shard.poll(due, 1) == 0) base::cpu_relax();
  }
  /// Polls `times` times.
  void look(int times) {
    for (int i = 0; i < times; ++i) {
      static_cast<void>(shard.poll(due, 1));
      base::cpu_relax();
    }
  }

  timing::shard shard{start};
  passed_deadlines passed_here;

 private:
  static const scheduler_ops table;
};

const scheduler_ops services::table{
    .admit = [](scheduler&) noexcept { return true; },
    .schedule = no_services().ops->schedule,
    .reschedule = no_services().ops->reschedule,
    .take_entry = [](header&) noexcept { return on_take::not_here; },
    .enroll = [](scheduler&, header&) noexcept {},
    .withdraw = [](scheduler&, header&) noexcept {},
    .rename = no_services().ops->rename,
    .ended = [](scheduler&, header&, bool) noexcept {},
    .unhandled = no_services().ops->unhandled,
    .children = [](scheduler& self) noexcept -> scheduler& { return self; },
    .now = [](const scheduler&) noexcept { return start; },
    .timer_shard = [](scheduler& self) noexcept -> timing::shard& {
      return static_cast<services&>(self).shard;
    },
    .deadline_moved = [](scheduler&, base::time_point) noexcept {},
    .freed = [](scheduler&) noexcept {},
};

/// Runs a task on this fibre, and checks its end.
template <class T>
outcome<T> run_here(task<T> work, services& around) {
  header& done = enter(*work.release(), result_vtable_of<T>, &around, {});
  outcome<T> end = take_outcome<T>(done);
  drop(&done);
  return end;
}

/// Fired by another thread, at any moment.
class event {
 public:
  void fire() {
    waker waiting;
    {
      const base::lock_guard held(mutex_);
      fired_ = true;
      waiting = std::move(waiting_);
    }
    waiting.wake();
  }

  class wait final : public leaf {
   public:
    explicit wait(event& of) noexcept : of_(of) {}
    [[nodiscard]] bool is_ready() noexcept override {
      const base::lock_guard held(of_.mutex_);
      return of_.fired_;
    }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      waker dropped;
      const base::lock_guard held(of_.mutex_);
      dropped = std::move(of_.waiting_);
      ++of_.cancels;
      return cancel_progress::ended;
    }
    void await_resume() const noexcept { ++of_.resumes; }

   protected:
    bool start() override {
      waker mine = make_waker();
      const base::lock_guard held(of_.mutex_);
      if (of_.fired_) return true;
      of_.waiting_ = std::move(mine);
      return false;
    }

   private:
    event& of_;
  };
  [[nodiscard]] wait operator()() noexcept { return wait(*this); }

  int cancels = 0;
  int resumes = 0;

 private:
  base::mutex mutex_;
  bool fired_ = false;
  waker waiting_;
};

/// A task that can be cancelled from another thread, as by its handle.
class target {
 public:
  /// Called by the task itself, before it waits.
  void publish() {
    header& me = *current_task();
    me.word.retain();
    // release. Pairs with the acquire in cancel(): the reference was taken.
    task_.store(&me, base::order::release);
  }
  bool cancel() {
    header* me = nullptr;
    // acquire. Pairs with publish().
    while ((me = task_.load(base::order::acquire)) == nullptr) base::cpu_relax();
    const bool in_time = core::cancel(*me, cancel_reason::user);
    release(*me);
    return in_time;
  }

 private:
  base::atomic<header*> task_;
};

TEST(deadline_model, a_passed_deadline_cancels_a_wait_that_gets_no_event) {
  expect_holds_everywhere("deadline alone", [](execution& e) {
    auto& around = e.make<services>();
    auto& never = e.make<event>();
    e.thread("task", [&] {
      const auto end = run_here(
          [](event& n) -> task<bool> {
            auto r = co_await timeout(10ms, n());
            co_return r.has_value();
          }(never),
          around);
      check(end.has_value() && !outcome(end).value(), "late");
    });
    e.thread("poller", [&] { around.fire_one(); });
    e.finally([&] { check(never.cancels == 1 && never.resumes == 0, "the wait was cancelled once"); });
  });
}

TEST(deadline_model, a_wait_ends_once_when_its_deadline_races_with_its_event) {
  expect_holds_everywhere("deadline and event", [](execution& e) {
    auto& around = e.make<services>();
    auto& first = e.make<event>();
    auto& last = e.make<event>();
    e.thread("task", [&] {
      const auto end = run_here(
          [](event& a, event& b) -> task<bool> {
            auto r = co_await timeout(10ms, a());
            // A wake of the first wait that comes now must not end this one.
            co_await b();
            co_return r.has_value();
          }(first, last),
          around);
      check(end.has_value(), "it came to its end");
    });
    e.thread("poller", [&] { around.look(2); });
    e.thread("event", [&] {
      first.fire();
      last.fire();
    });
    e.finally([&] {
      check(first.cancels + first.resumes == 1, "one end");
      check(last.resumes == 1 && last.cancels == 0, "the second wait saw its own event");
    });
  });
}

// A passage cannot be handed on, so it counts although it is late: two arrive, and both pass.
TEST(deadline_model, a_barrier_passage_that_races_with_its_timeout_counts) {
  enum class form : unsigned char { around, of_its_own, around_its_own };
  struct scene {
    services around;
    sync::barrier both{2};

    static task<void> arrives(scene& x, form how) {
      bool passed = false;
      if (how == form::around) {
        const auto got = co_await timeout(10ms, x.both.arrive_and_wait());
        passed = got.has_value();
      } else if (how == form::of_its_own) {
        const auto got = co_await x.both.arrive_and_wait_for(10ms);
        passed = got.has_value();
      } else {
        const auto got = co_await timeout(10ms, x.both.arrive_and_wait_for(20ms));
        passed = got.has_value() && got->has_value();
      }
      // The arrival is taken back: so it arrives once more, and else the other would wait for ever.
      if (!passed) co_await x.both.arrive_and_wait();
    }
  };
  for (const form how : {form::around, form::of_its_own, form::around_its_own}) {
    expect_holds_everywhere("deadline barrier " + std::to_string(static_cast<int>(how)), [how](execution& e) {
      auto& x = e.make<scene>();
      e.thread("task", [&x, how] {
        const auto end = run_here(scene::arrives(x, how), x.around);
        check(end.has_value(), "it came to its end");
      });
      e.thread("poller", [&x] { x.around.look(2); });
      e.thread("other", [&x] { static_cast<void>(x.both.blocking_arrive_and_wait()); });
      e.finally([&x] { check(x.both.arrived() == 0, "nobody is left"); });
    });
  }
}

TEST(deadline_model, a_deadline_whose_wakeup_an_event_consumed_cancels_the_next_wait) {
  expect_holds_everywhere("deadline behind an event", [](execution& e) {
    auto& around = e.make<services>();
    auto& first = e.make<event>();
    auto& never = e.make<event>();
    e.thread("task", [&] {
      const auto end = run_here(
          [](event& a, event& b) -> task<bool> {
            auto r = co_await timeout(10ms, [](event& x, event& y) -> task<> {
              co_await x();
              co_await y();
            }(a, b));
            co_return r.has_value();
          }(first, never),
          around);
      check(end.has_value() && !outcome(end).value(), "late");
    });
    e.thread("poller", [&] { around.fire_one(); });
    e.thread("event", [&] { first.fire(); });
  });
}

TEST(deadline_model, an_inherited_deadline_that_passes_at_the_end_of_the_task_does_no_harm) {
  expect_holds_everywhere("inherited deadline", [](execution& e) {
    auto& around = e.make<services>();
    auto& happens = e.make<event>();
    e.thread("task", [&] {
      const auto end =
          run_here(under_deadline(due, [](event& a) -> task<> { co_await a(); }(happens)), around);
      check(end.has_value() || end.reason() == cancel_reason::timeout, "one of two ends");
      check(end.has_value() == (happens.resumes == 1), "a value only after the event");
    });
    e.thread("poller", [&] { around.look(2); });
    e.thread("event", [&] { happens.fire(); });
    e.finally([&] { check(happens.cancels + happens.resumes <= 1, "at most one end"); });
  });
}

TEST(deadline_model, a_shield_past_its_limit_lets_a_cancellation_through) {
  expect_holds_everywhere("limit of a shield", [](execution& e) {
    auto& around = e.make<services>();
    auto& never = e.make<event>();
    auto& self = e.make<target>();
    e.thread("task", [&] {
      const auto end = run_here(
          [](event& n, target& me) -> task<> {
            me.publish();
            auto guard = shield(10ms);
            co_await n();
          }(never, self),
          around);
      check(end.is_cancelled(), "cancelled");
    });
    e.thread("poller", [&] { around.fire_one(); });
    e.thread("canceller", [&] { check(self.cancel(), "in time"); });
  });
}

TEST(deadline_model, a_cancellation_under_a_shield_is_delivered_after_the_shield_ends) {
  expect_holds_everywhere("shield goes", [](execution& e) {
    auto& around = e.make<services>();
    auto& first = e.make<event>();
    auto& never = e.make<event>();
    auto& self = e.make<target>();
    e.thread("task", [&] {
      const auto end = run_here(
          [](event& a, event& n, target& me) -> task<> {
            me.publish();
            {
              auto guard = shield(std::chrono::hours::max());
              co_await a();
            }
            co_await n();
          }(first, never, self),
          around);
      check(end.is_cancelled(), "cancelled");
    });
    e.thread("event", [&] { first.fire(); });
    e.thread("canceller", [&] { check(self.cancel(), "in time"); });
    e.finally([&] { check(first.resumes == 1 && never.cancels == 1, "the shield held"); });
  });
}

/// Counts its calls.
struct counting_hook : cancel_hook {
  counting_hook() : cancel_hook{called, destroyed} {}
  static void called(cancel_hook& self) noexcept {
    auto& mine = static_cast<counting_hook&>(self);
    check(mine.built.get() == 1, "the hook is built");
    // relaxed. A count.
    mine.calls.fetch_add(1, base::order::relaxed);
  }
  static void destroyed(cancel_hook* self) noexcept { static_cast<counting_hook*>(self)->ends.set(1); }

  base::atomic<unsigned> calls{0};
  base::cell<int> built;  // by the task, and plain
  base::cell<int> ends;
};

TEST(deadline_model, a_cancellation_calls_a_hook_that_is_set_at_the_same_time) {
  expect_holds_everywhere(
      "cancel hook",
      [](execution& e) {
        auto& around = e.make<services>();
        auto& hook = e.make<counting_hook>();
        auto& self = e.make<target>();
        auto& in_time = e.make<base::cell<bool>>();
        e.thread("task", [&] {
          const auto end = run_here(
              [](counting_hook& h, target& me) -> task<> {
                me.publish();
                h.built.set(1);
                set_cancel_hook(*current_task(), h);
                co_return;
              }(hook, self),
              around);
          check(end.has_value(), "complete wins");
        });
        e.thread("canceller", [&] { in_time.set(self.cancel()); });
        e.finally([&] {
          // relaxed. The threads have ended.
          check(!in_time.get() || hook.calls.load(base::order::relaxed) >= 1, "the hook was told");
          check(hook.ends.get() == 1, "and ended with the task");
        });
      },
      3);
}

/// A value of a task_local that two tasks share.
struct shared_local : local_node {
  base::cell<int> value{1};
  bool is_destroyed = false;
};

// The last of two tasks destroys the value, after the other has read it.
TEST(deadline_model, the_last_task_destroys_a_shared_task_local_after_all_reads) {
  expect_holds_everywhere("deadline_local", [](execution& e) {
    auto& local = e.make<shared_local>();
    local.destroy = [](local_node* self) noexcept {
      auto& mine = *static_cast<shared_local*>(self);
      mine.value.set(0);
      mine.is_destroyed = true;
    };
    static_cast<void>(share(&local));
    for (int i = 0; i < 2; ++i) {
      e.thread("task", [&local] {
        check(local.value.get() == 1, "it is there");
        unshare(&local);
      });
    }
    e.finally([&local] { check(local.is_destroyed, "the last one has destroyed it"); });
  });
}

}  // namespace
}  // namespace rota::core
