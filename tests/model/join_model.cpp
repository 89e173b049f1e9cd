// P7: a task's end against its handle: registering, leaving, dropping; by a blocking thread and by another
// task. The result is destroyed once, the joiner is woken, and no access follows the last reference.
#include <chrono>
#include <optional>

#include "model/model_scheduler.hpp"
#include "task/harness.hpp"

namespace rota::model {
namespace {

using namespace std::chrono_literals;

struct world {
  model_scheduler s;
  model_event event;
  int guards = 0;
  int seen = 0;     // joiners that got the value
  int refused = 0;  // joiners that got an exception
  std::optional<join_handle<tracked>> handle;
};

task<tracked> give(world& w, int value) {
  const guard here(&w.guards);
  co_return tracked(value);
}

task<tracked> give_later(world& w, int value) {
  const guard here(&w.guards);
  co_await w.event();
  co_return tracked(value);
}

task<tracked> fail(world& w) {
  const guard here(&w.guards);
  throw 7;
  co_return tracked(0);
}

void add_workers(execution& e, world& w, int count) {
  for (int i = 0; i < count; ++i) e.daemon("worker", [&w] { w.s.work(); });
}

void check_end(world& w, int tasks) {
  check(w.s.ended == tasks, "every task has ended once");
  check(w.s.freed == tasks, "and its memory has gone");
}

// --- the handle is dropped

TEST(join_model, the_handle_is_dropped_while_the_task_ends) {
  expect_holds_everywhere(
      "join_drop",
      [](execution& e) {
        auto& w = e.make<world>();
        w.handle.emplace(w.s.spawn(give(w, 1)));
        add_workers(e, w, 1);
        e.thread("owner", [&w] { w.handle.reset(); });
        e.finally([&w] {
          check_end(w, 1);
          check(w.s.unhandled == 0 && w.guards == 1, "a value is no failure");
        });
      },
      3);
}

TEST(join_model, an_exception_is_reported_once_when_the_handle_is_dropped) {
  expect_holds_everywhere(
      "join_unhandled",
      [](execution& e) {
        auto& w = e.make<world>();
        w.handle.emplace(w.s.spawn(fail(w)));
        add_workers(e, w, 1);
        e.thread("owner", [&w] { w.handle.reset(); });
        e.finally([&w] {
          check_end(w, 1);
          check(w.s.unhandled == 1, "reported once");
        });
      },
      3);
}

// --- a thread waits

TEST(join_model, a_thread_waits_while_the_task_ends) {
  expect_holds_everywhere(
      "join_blocking",
      [](execution& e) {
        auto& w = e.make<world>();
        w.handle.emplace(w.s.spawn(give(w, 5)));
        add_workers(e, w, 1);
        e.thread("joiner", [&w] { check(w.handle->join().value == 5, "the value arrives"); });
        e.finally([&w] {
          w.handle.reset();
          check_end(w, 1);
        });
      },
      3);
}

TEST(join_model, a_thread_waits_for_an_exception) {
  expect_holds_everywhere("join_blocking_throws", [](execution& e) {
    auto& w = e.make<world>();
    w.handle.emplace(w.s.spawn(fail(w)));
    add_workers(e, w, 1);
    e.thread("joiner", [&w] {
      try {
        static_cast<void>(w.handle->join());
      } catch (int seven) {
        w.refused += seven == 7 ? 1 : 0;
      }
    });
    e.finally([&w] {
      check(w.refused == 1 && w.s.unhandled == 0, "it was seen, so it is not reported");
      w.handle.reset();
      check_end(w, 1);
    });
  });
}

/// Waits with a limit, up to `times`, then does `then` with the handle. The clock may jump to the limit.
template <class Then>
auto waiting_with_limits(int times, Then then) {
  return [times, then](execution& e) {
    auto& w = e.make<world>();
    w.handle.emplace(w.s.spawn(give_later(w, 6)));
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.event.fire(); });
    e.thread("joiner", [&w, times, then] {
      for (int i = 0; i < times; ++i) {
        auto got = w.handle->wait_for(1ms);
        if (!got.has_value()) continue;
        check(std::move(*got).value().value == 6, "the result is not lost");
        check(!w.handle->valid(), "and the handle is used up");
        return;
      }
      then(w);
    });
    e.finally([&w] {
      w.handle.reset();
      check_end(w, 1);
    });
  };
}

TEST(join_model, a_thread_gives_up_and_waits_again) {
  const auto body = waiting_with_limits(2, [](world& w) { check(w.handle->join().value == 6, "at last"); });
  auto all = exhaustive("join_limits");
  all.early_timeouts = 2;
  expect_holds(all, body);
  auto random = at_random("join_limits");
  random.early_timeouts = 2;
  expect_holds(random, body);
}

TEST(join_model, a_thread_gives_up_and_drops_the_handle) {
  const auto body = waiting_with_limits(1, [](world& w) { w.handle.reset(); });
  auto all = exhaustive("join_limit_drop");
  all.early_timeouts = 1;
  expect_holds(all, body);
}

/// A parameter of a task: plain memory that the frame owns until it has gone.
class parcel {
 public:
  explicit parcel(base::cell<int>* gone) noexcept : gone_(gone) {}
  parcel(parcel&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)) {}
  parcel(const parcel&) = delete;
  parcel& operator=(const parcel&) = delete;
  parcel& operator=(parcel&&) = delete;
  ~parcel() {
    if (gone_ != nullptr) gone_->set(gone_->get() + 1);
  }

 private:
  base::cell<int>* gone_;
};

task<tracked> keep(world& w, parcel /*until_the_end*/) {
  const guard here(&w.guards);
  co_return tracked(4);
}

TEST(join_model, a_joiner_returns_after_the_task_frame_is_destroyed) {
  expect_holds_everywhere(
      "join_parameters",
      [](execution& e) {
        auto& w = e.make<world>();
        auto& gone = e.make<base::cell<int>>(0);
        w.handle.emplace(w.s.spawn(keep(w, parcel(&gone))));
        add_workers(e, w, 1);
        e.thread("joiner", [&] {
          check(w.handle->join().value == 4, "the value arrives");
          check(gone.get() == 1, "the task's parameters have gone");
        });
        e.finally([&w] {
          w.handle.reset();
          check_end(w, 1);
        });
      },
      3);
}

// --- a task waits

task<> await_value(world& w, int expected) {
  const guard here(&w.guards);
  const auto got = co_await *w.handle;
  check(got.value == expected, "the value arrives");
  ++w.seen;
}

auto awaited_by_a_task(int workers, bool claims) {
  return [workers, claims](execution& e) {
    auto& w = e.make<world>();
    w.s.claims = claims;
    w.handle.emplace(w.s.spawn(give_later(w, 7)));
    w.s.spawn(await_value(w, 7)).detach();
    add_workers(e, w, workers);
    e.thread("event", [&w] { w.event.fire(); });
    e.finally([&w] {
      check(w.seen == 1 && w.guards == 2, "the joiner was woken");
      check_end(w, 2);
    });
  };
}

TEST(join_model, a_task_awaits_a_task_that_ends_on_another_worker) {
  expect_holds(exhaustive("join_task"), awaited_by_a_task(2, false));
  expect_holds(at_random("join_task"), awaited_by_a_task(2, false));
}

TEST(join_model, a_task_claims_the_one_it_awaits) {
  expect_holds(exhaustive("join_claim"), awaited_by_a_task(2, true));
  expect_holds(at_random("join_claim"), awaited_by_a_task(2, true));
}

/// Spawned by the awaiting task, claimed while another worker may have taken its entry already.
task<> spawn_and_await(world& w) {
  const guard here(&w.guards);
  auto child = w.s.spawn(give_later(w, 8));
  const auto got = co_await child;
  check(got.value == 8, "the value arrives");
  ++w.seen;
}

TEST(join_model, a_spawned_child_is_run_by_its_parent_or_by_a_thief) {
  expect_holds_everywhere("join_child", [](execution& e) {
    auto& w = e.make<world>();
    w.s.spawn(spawn_and_await(w)).detach();
    add_workers(e, w, 2);
    e.thread("event", [&w] { w.event.fire(); });
    e.finally([&w] {
      check(w.seen == 1 && w.guards == 2, "both have ended");
      check_end(w, 2);
    });
  });
}

/// A blocking join on a worker runs the child there, or waits for the thread that runs it.
task<> spawn_and_block(world& w) {
  const guard here(&w.guards);
  auto child = w.s.spawn(give(w, 9));
  check(child.join().value == 9, "the value arrives");
  ++w.seen;
  co_return;
}

TEST(join_model, a_worker_blocks_in_a_join) {
  expect_holds_everywhere("join_nested", [](execution& e) {
    auto& w = e.make<world>();
    w.s.spawn(spawn_and_block(w)).detach();
    add_workers(e, w, 2);
    e.finally([&w] {
      check(w.seen == 1 && w.guards == 2, "both have ended");
      check_end(w, 2);
    });
  });
}

// --- the awaiting task is cancelled

task<> await_detached(world& w) {
  const guard here(&w.guards);
  const auto got = co_await w.handle->detached_wait();
  check(got.value == 3, "the value arrives");
  ++w.seen;
}

TEST(join_model, a_cancelled_joiner_leaves_while_the_task_ends) {
  expect_holds_everywhere("join_leave", [](execution& e) {
    auto& w = e.make<world>();
    w.s.claims = false;
    w.handle.emplace(w.s.spawn(give_later(w, 3)));
    auto& joiner = e.make<join_handle<void>>(w.s.spawn(await_detached(w)));
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.event.fire(); });
    e.thread("owner", [&joiner] { joiner.cancel(); });
    e.finally([&] {
      check(w.seen + w.s.cancelled == 1, "it got the value, or was cancelled");
      joiner.detach();
      w.handle.reset();
      check_end(w, 2);
    });
  });
}

// It runs the other one itself, and is cancelled before it has asked for that one's wake.
TEST(join_model, a_joiner_is_cancelled_while_the_task_that_it_runs_waits) {
  expect_holds_everywhere("join_leave_claimed", [](execution& e) {
    auto& w = e.make<world>();
    w.handle.emplace(w.s.spawn(give_later(w, 3)));
    auto& joiner = e.make<join_handle<void>>(w.s.spawn(await_detached(w)));
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.event.fire(); });
    e.thread("owner", [&joiner] { joiner.cancel(); });
    e.finally([&] {
      check(w.seen + w.s.cancelled == 1, "it got the value, or was cancelled");
      joiner.detach();
      w.handle.reset();
      check_end(w, 2);
    });
  });
}

TEST(join_model, a_thread_joins_a_task_whose_awaiter_was_cancelled) {
  expect_holds_everywhere("join_left_behind", [](execution& e) {
    auto& w = e.make<world>();
    w.s.claims = false;
    w.handle.emplace(w.s.spawn(give_later(w, 3)));
    auto& joiner = e.make<join_handle<void>>(w.s.spawn(await_detached(w)));
    add_workers(e, w, 1);
    e.thread("event", [&w] { w.event.fire(); });
    e.thread("owner", [&] {
      joiner.cancel();
      static_cast<void>(joiner.wait_for(std::chrono::nanoseconds::max()));
      if (w.handle->valid()) check(w.handle->join().value == 3, "the value arrives");
    });
    e.finally([&w] {
      w.handle.reset();
      check_end(w, 2);
    });
  });
}

auto cancelled_parent(int workers) {
  return [workers](execution& e) {
    auto& w = e.make<world>();
    auto& parent = e.make<join_handle<void>>(w.s.spawn(spawn_and_await(w)));
    add_workers(e, w, workers);
    e.thread("event", [&w] { w.event.fire(); });
    e.thread("owner", [&parent] { parent.cancel(); });
    e.finally([&] {
      check(parent.is_done(), "it has ended");
      parent.detach();
      check(w.seen == 1 || w.s.cancelled >= 1, "by itself or cancelled");
      check(w.s.freed == w.s.ended, "and so has its child, if it was spawned");
    });
  };
}

TEST(join_model, a_cancelled_parent_waits_for_its_child) {
  expect_holds(exhaustive("join_structured"), cancelled_parent(1));
  expect_holds(at_random("join_structured"), cancelled_parent(2));
}

// --- two that wait for each other

task<> await_other(std::optional<join_handle<void>>& other, int* guards) {
  const guard here(guards);
  co_await yield();
  co_await *other;
}

TEST(join_model, one_cancel_frees_two_tasks_that_join_each_other) {
  expect_holds_everywhere("join_circle", [](execution& e) {
    struct couple : world {
      std::optional<join_handle<void>> a;
      std::optional<join_handle<void>> b;
    };
    auto& w = e.make<couple>();
    w.s.claims = false;
    core::header& a = w.s.launch(await_other(w.b, &w.guards));
    w.a.emplace(a);
    w.b.emplace(w.s.spawn(await_other(w.a, &w.guards)));
    auto& c = e.make<canceller>(a);
    add_workers(e, w, 2);
    e.thread("canceller", [&c] { c.cancel(); });
    e.finally([&w] {
      w.a.reset();
      w.b.reset();
      check(w.s.ended == 2 && w.s.freed == 2, "both have ended");
    });
  });
}

// --- the last reference

/// The handle is dropped and the scheduler given up: the waker is the last owner of the task, the task the
/// last owner of the scheduler. Others run the task to its end while the waker is inside the scheduler.
TEST(join_model, a_consuming_wake_keeps_task_and_scheduler_alive_until_it_returns) {
  expect_holds_everywhere(
      "join_last_wake",
      [](execution& e) {
        auto& w = e.make<world>();
        w.handle.emplace(w.s.spawn(give_later(w, 1)));
        w.handle.reset();
        base::this_thread_locals().worker = &w.s;
        while (w.s.run_one()) {
        }
        base::this_thread_locals().worker = nullptr;
        e.thread("waker", [&w] { w.event.fire(); });
        e.thread("worker", [&w] {
          base::this_thread_locals().worker = &w.s;
          while (w.s.ended == 0) {
            if (!w.s.run_one()) base::cpu_relax();
          }
          w.s.close();
        });
        e.finally([&w] { check_end(w, 1); });
      },
      3);
}

}  // namespace
}  // namespace rota::model
