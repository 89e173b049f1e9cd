// P8: cancellation against completion and running. One outcome each time, every frame destroyed once and by a
// worker, no resumption without its event, no task left behind.
#include <optional>

#include "model/model_scheduler.hpp"
#include "task/entered.hpp"

#include <rota/detail/enter.hpp>

namespace rota::model {
namespace {

enum class seen { nothing, value, exception, cancelled };

struct world {
  model_scheduler s;
  model_event first;
  model_event second;
  int guards = 0;
  int steps = 0;
  std::optional<join_handle<int>> handle;

  /// Returns the outcome that the handle has at the end.
  seen look() {
    auto got = handle->wait_for(std::chrono::nanoseconds(0));
    if (!got.has_value()) return seen::nothing;
    if (got->has_value()) return seen::value;
    return got->is_cancelled() ? seen::cancelled : seen::exception;
  }
};

void add_workers(execution& e, world& w, int count) {
  for (int i = 0; i < count; ++i) e.daemon("worker", [&w] { w.s.work(); });
}

/// The end of the task, whichever it is: one, seen once, and everything freed.
void check_one_end(world& w, bool may_be_cancelled) {
  const seen what = w.look();
  check(what != seen::nothing, "it has ended");
  check(w.s.ended == 1 && w.s.freed == 1, "once");
  check(w.s.cancelled == (what == seen::cancelled ? 1 : 0), "as its handle says");
  check(may_be_cancelled || what != seen::cancelled, "nobody asked");
  check(w.s.unhandled == 0, "it was seen");
}

task<int> wait_inside(world& w) {
  const guard here(&w.guards);
  co_await w.first();
  co_return 1;
}

task<int> one_leaf(world& w) {
  const guard here(&w.guards);
  ++w.steps;
  const int got = co_await wait_inside(w);
  co_return got;
}

task<int> throws_after(world& w) {
  const guard here(&w.guards);
  co_await w.first();
  throw 7;
  co_return 1;
}

template <class Make>
auto cancelled_and_fired(int workers, Make make) {
  return [workers, make](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(make(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    add_workers(e, w, workers);
    e.thread("event", [&w] { w.first.fire(); });
    e.thread("canceller", [&c] { c.cancel(); });
    e.finally([&w] {
      check(w.first.cancels <= 1 && w.first.resumes + w.first.cancels <= 1, "resumed or cancelled");
      check_one_end(w, true);
    });
  };
}

TEST(cancel_model, cancel_that_races_an_event_gives_one_outcome) {
  expect_holds(exhaustive("cancel_fire", 3), cancelled_and_fired(1, one_leaf));
  expect_holds(exhaustive("cancel_fire_2"), cancelled_and_fired(2, one_leaf));
  expect_holds(at_random("cancel_fire"), cancelled_and_fired(2, one_leaf));
}

TEST(cancel_model, cancel_that_races_an_exception_gives_one_outcome) {
  expect_holds(exhaustive("cancel_throw"), cancelled_and_fired(1, throws_after));
  expect_holds(at_random("cancel_throw"), cancelled_and_fired(2, throws_after));
}

TEST(cancel_model, two_concurrent_cancels_end_the_task_once) {
  expect_holds_everywhere("cancel_twice", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(one_leaf(w));
    w.handle.emplace(t);
    add_workers(e, w, 1);
    for (const auto why : {cancel_reason::user, cancel_reason::timeout}) {
      auto& c = e.make<canceller>(t);
      e.thread("canceller", [&c, why] { c.cancel(why); });
    }
    e.finally([&w] {
      auto got = w.handle->wait_for(std::chrono::nanoseconds(0));
      check(got.has_value() && got->is_cancelled(), "the event never fires, so it is cancelled");
      check(got->reason() == cancel_reason::user || got->reason() == cancel_reason::timeout,
            "for a reason that was given");
      check(w.first.cancels <= 1 && w.first.resumes == 0, "once");
      check(w.s.ended == 1 && w.s.freed == 1, "one end");
    });
  });
}

TEST(cancel_model, cancel_that_races_a_drop_of_the_handle_ends_the_task_once) {
  expect_holds_everywhere("cancel_drop", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(one_leaf(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.first.fire(); });
    e.thread("canceller", [&c] { c.cancel(); });
    e.thread("owner", [&w] { w.handle.reset(); });
    e.finally([&w] {
      check(w.s.ended == 1 && w.s.freed == 1 && w.s.unhandled == 0, "one end");
      check(w.guards == 0 || w.guards == 2, "of all frames or of none that had started");
    });
  });
}

TEST(cancel_model, task_cancelled_before_its_first_run_does_not_begin) {
  expect_holds_everywhere("cancel_unstarted", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(one_leaf(w));
    w.handle.emplace(t);
    check(core::cancel(t, cancel_reason::user), "it has not ended");
    add_workers(e, w, 2);
    e.thread("event", [&w] { w.first.fire(); });
    e.finally([&w] {
      check(w.steps == 0 && w.guards == 0, "none of its code has run");
      check(w.look() == seen::cancelled, "and it ends as cancelled");
      check(w.s.ended == 1 && w.s.freed == 1, "once");
    });
  });
}

/// A redundant request and a late wake: the state that a run finds decides.
TEST(cancel_model, cancel_that_races_a_stolen_waker_gives_one_outcome) {
  expect_holds_everywhere("cancel_stale", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(one_leaf(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    add_workers(e, w, 1);
    e.thread("thief", [&w] {
      waker stolen = w.first.steal();
      stolen.wake();
    });
    e.thread("canceller", [&c] { c.cancel(); });
    e.finally([&w] { check_one_end(w, true); });
  });
}

// --- late wakes

task<int> two_leaves(world& w) {
  const guard here(&w.guards);
  co_await w.first();
  ++w.steps;
  co_await w.second();
  ++w.steps;
  co_return 2;
}

/// The waker of the first leaf is used when the task may be in the second: model_event checks that no task is
/// resumed without its event.
TEST(cancel_model, late_wake_of_the_first_leaf_does_not_resume_the_second) {
  expect_holds_everywhere("cancel_two_leaves", [](execution& e) {
    auto& w = e.make<world>();
    w.handle.emplace(w.s.spawn(two_leaves(w)));
    add_workers(e, w, 1);
    e.thread("first", [&w] {
      waker late = w.first.steal();
      w.first.fire();
      late.wake();
    });
    e.thread("second", [&w] { w.second.fire(); });
    e.finally([&w] {
      check(w.steps == 2, "both leaves");
      check_one_end(w, false);
    });
  });
}

// --- shields

class word_shield {
 public:
  word_shield() noexcept : of_(core::current_task()) { static_cast<void>(of_->word.shield_up()); }
  word_shield(const word_shield&) = delete;
  word_shield& operator=(const word_shield&) = delete;
  ~word_shield() { static_cast<void>(of_->word.shield_down()); }

 private:
  core::header* of_;
};

task<int> shielded_then_not(world& w) {
  const guard here(&w.guards);
  {
    const word_shield shield;
    co_await w.first();
    ++w.steps;
  }
  co_await w.second();
  co_return 3;
}

TEST(cancel_model, shield_delays_a_cancellation_and_does_not_lose_it) {
  expect_holds_everywhere("cancel_shield", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(shielded_then_not(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.first.fire(); });
    e.thread("canceller", [&c] { c.cancel(); });
    e.finally([&w] {
      check(w.second.resumes == 0, "the second event never fires");
      check(w.steps == 1 || w.guards == 0, "the shielded part is done whole, or has not begun");
      check(w.look() == seen::cancelled, "so it ends as cancelled");
      check(w.s.ended == 1 && w.s.freed == 1, "once");
    });
  });
}

TEST(cancel_model, override_ends_a_task_that_waits_under_a_shield) {
  expect_holds_everywhere("cancel_override", [](execution& e) {
    auto& w = e.make<world>();
    core::header& t = w.s.launch(shielded_then_not(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    auto& kept = e.make<waker>(core::make_waker(t));
    add_workers(e, w, 1);
    e.thread("canceller", [&c] { c.cancel(); });
    // Like a shutdown: cancels again and again, since a task may raise another shield.
    e.thread("overrider", [&t, &kept] {
      while (!core::is_complete(t)) {
        core::override_shields(t);
        base::cpu_relax();
      }
      kept = waker();
    });
    e.finally([&w] {
      check(w.look() == seen::cancelled, "it ends as cancelled");
      check(w.s.ended == 1 && w.s.freed == 1, "once");
    });
  });
}

// --- leaves that end later

/// Another thread carries the operation out, and touches the leaf until it has reported the end.
class operation {
 public:
  class wait final : public leaf {
   public:
    explicit wait(operation& of) noexcept : of_(&of) { of.running_ = this; }
    [[nodiscard]] bool is_ready() noexcept override {
      // acquire. Pairs with carry_out().
      return of_->ended_.load(base::order::acquire) == 1;
    }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      ++of_->cancels;
      return is_ready() ? cancel_progress::ended : cancel_progress::pending;
    }
    void await_resume() const noexcept { ++of_->resumes; }

   protected:
    bool start() override {
      of_->waiting_ = make_waker();
      // release. Pairs with carry_out(): leaf and waker are there.
      of_->started_.store(1, base::order::release);
      base::futex_wake(&of_->started_, 1);
      return false;
    }

   private:
    friend class operation;
    operation* of_;
    base::cell<int> touched_;
  };

  [[nodiscard]] wait operator()() noexcept { return wait(*this); }

  /// Like the kernel: begins on request, writes into the leaf, and ends.
  void carry_out() {
    // acquire. Pairs with start().
    while (started_.load(base::order::acquire) == 0)
      static_cast<void>(base::futex_wait(started_, 0, base::never));
    running_->touched_.set(1);
    waker last = std::move(waiting_);
    // release. Pairs with is_ready(): the leaf is not touched any more.
    ended_.store(1, base::order::release);
    last.wake();
  }

  int cancels = 0;
  int resumes = 0;

 private:
  wait* running_ = nullptr;
  waker waiting_;
  base::atomic<std::uint32_t> started_{0};
  base::atomic<std::uint32_t> ended_{0};
};

struct slow_world : world {
  operation op;
};

task<int> wait_slowly(slow_world& w) {
  const guard here(&w.guards);
  co_await w.op();
  co_return 4;
}

TEST(cancel_model, frames_stay_until_a_pending_operation_has_ended) {
  expect_holds_everywhere("cancel_pending", [](execution& e) {
    auto& w = e.make<slow_world>();
    core::header& t = w.s.launch(wait_slowly(w));
    w.handle.emplace(t);
    auto& c = e.make<canceller>(t);
    add_workers(e, w, 1);
    e.daemon("operation", [&w] { w.op.carry_out(); });
    e.thread("canceller", [&c] { c.cancel(); });
    e.thread("joiner", [&w] {
      auto got = w.handle->wait_for(std::chrono::nanoseconds::max());
      check(got.has_value(), "it has ended");
      check(w.op.cancels + w.op.resumes <= 1, "resumed or cancelled");
      check(got->is_cancelled() || w.op.resumes == 1, "and its outcome says which");
    });
    e.finally([&w] { check(w.s.ended == 1, "once"); });
  });
}

/// The second request wakes a task that already unwinds and has a leaf that has not ended.
TEST(cancel_model, a_wake_does_not_let_go_of_a_pending_operation) {
  expect_holds_everywhere("cancel_pending_twice", [](execution& e) {
    auto& w = e.make<slow_world>();
    core::header& t = w.s.launch(wait_slowly(w));
    w.handle.emplace(t);
    auto& first = e.make<canceller>(t);
    auto& second = e.make<canceller>(t);
    add_workers(e, w, 1);
    e.daemon("operation", [&w] { w.op.carry_out(); });
    e.thread("canceller", [&] {
      first.cancel();
      second.cancel();
    });
    e.finally([&w] {
      check(w.op.cancels + w.op.resumes <= 1, "resumed or cancelled");
      check_one_end(w, true);
    });
  });
}

// --- claimed, and cancelled before it starts

task<int> parent_of_one(world& w) {
  const guard here(&w.guards);
  core::header& t = w.s.launch(one_leaf(w));
  join_handle<int> child(t);
  auto got = co_await child.result();
  co_return got.has_value() ? got.value() : -1;
}

TEST(cancel_model, a_parent_that_runs_its_child_is_cancelled) {
  const auto body = [](int workers) {
    return [workers](execution& e) {
      auto& w = e.make<world>();
      core::header& t = w.s.launch(parent_of_one(w));
      w.handle.emplace(t);
      auto& c = e.make<canceller>(t);
      add_workers(e, w, workers);
      e.thread("event", [&w] { w.first.fire(); });
      e.thread("canceller", [&c] { c.cancel(); });
      e.finally([&w] {
        check(w.look() != seen::nothing, "it has ended");
        check(w.s.freed == w.s.ended && w.s.unhandled == 0, "and its child with it");
      });
    };
  };
  expect_holds(exhaustive("cancel_parent"), body(1));
  expect_holds(at_random("cancel_parent"), body(2));
}

// --- on the caller's own thread

TEST(cancel_model, a_thread_that_runs_its_own_task_is_woken_and_cancelled) {
  expect_holds_everywhere("cancel_entered", [](execution& e) {
    auto& w = e.make<world>();
    auto& found = e.make<std::optional<canceller>>();
    auto& there = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread("inside", [&] {
      base::this_thread_locals().worker = &w;
      const auto body =
          [](world* in, std::optional<canceller>* out, base::atomic<std::uint32_t>* told) -> task<int> {
        const guard here(&in->guards);
        out->emplace(*core::current_task());
        // release. The canceller is there.
        told->store(1, base::order::release);
        base::futex_wake(told, 1);
        const int got = co_await wait_inside(*in);
        co_return got;
      };
      try {
        check(core::run_on_this_thread(body(&w, &found, &there), nullptr) == 1, "the value");
        w.steps = 1;
      } catch (const cancelled_error&) {
        w.steps = 2;
      }
    });
    e.thread("event", [&w] { w.first.fire(); });
    e.thread("canceller", [&] {
      // acquire. Pairs with the store above.
      while (there.load(base::order::acquire) == 0)
        static_cast<void>(base::futex_wait(there, 0, base::never));
      found->cancel();
    });
    e.finally([&w] {
      check(w.steps == 1 || w.steps == 2, "it has ended");
      check(w.guards == 2, "both frames");
    });
  });
}

TEST(cancel_model, a_thread_that_runs_its_own_task_misses_no_wake) {
  expect_holds_everywhere("cancel_entered_two", [](execution& e) {
    auto& w = e.make<world>();
    e.thread("inside", [&w] {
      base::this_thread_locals().worker = &w;
      check(core::run_on_this_thread(two_leaves(w), nullptr) == 2, "the value");
    });
    e.thread("first", [&w] { w.first.fire(); });
    e.thread("second", [&w] { w.second.fire(); });
    e.finally([&w] { check(w.steps == 2 && w.guards == 1, "both leaves"); });
  });
}

}  // namespace
}  // namespace rota::model
