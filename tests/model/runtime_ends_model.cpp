// P16: how a runtime ends. With a grace, with shields that hold out, with a closure that does not return,
// with unhandled exceptions, and while tasks go on spawning.
#include "base/futex.hpp"
#include "model/whole.hpp"
#include "sched/ledger.hpp"
#include "task/header.hpp"

#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rota {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::guest;
using model::handover;
using model::one_worker;
using model::quiet;
using model::signal;
using model::two_workers;
using model::whole;
using model::whole_exhaustive;
using testing::check;
using testing::execution;

/// Ends after `span`, whatever happens, if it may take `limit`.
task<> holds_out(std::chrono::milliseconds span, std::chrono::milliseconds limit) {
  const guest here;
  const shield_guard held = shield(limit);
  co_await sleep_for(span);
}

task<> with_a_name(task<> work) {
  this_task::set_name("stubborn");
  co_await std::move(work);
}

TEST(runtime_ends_model, a_shielded_task_that_ends_within_the_grace_is_not_interrupted) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      auto one = rt.spawn(holds_out(5ms, 100ms));
      auto two = rt.spawn(holds_out(10ms, 100ms));
      const shutdown_report last = rt.shutdown(1h);
      check(last.survivors.empty(), "nobody is left");
      check(one.is_done() && two.is_done(), "both have ended");
      check(rt.stats().total_shields_overridden == 0, "nobody was disturbed");
      check(rt.shutdown(0s).drained == 0, "the second one has nothing to do");
    });
  };
  expect_holds(whole("ends_grace"), body);
}

TEST(runtime_ends_model, a_shield_ends_with_the_grace_or_with_its_limit) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      auto stubborn = rt.spawn(with_a_name(holds_out(2h, 1h)));
      auto limited = rt.spawn(with_a_name(holds_out(2h, 1ms)));
      auto nameless = rt.spawn(holds_out(2h, 1ms));
      auto never_ran = rt.spawn(holds_out(2h, 1h));
      rt.block_on([]() -> task<> { co_await yield(); });
      const shutdown_report last = rt.shutdown(20ms);
      check(last.survivors.empty(), "nobody is left");
      check(stubborn.is_done() && limited.is_done() && nameless.is_done() && never_ran.is_done(),
            "all have ended");
      check(rt.stats().alive_tasks == 0, "nobody is counted as alive");
    });
  };
  expect_holds(whole("ends_shields"), body);
}

/// The fate of a clean-up that only the shutdown begins.
struct clean_up_seen {
  bool has_begun = false;
  bool has_ended = false;
};
task<> cleans_up(task<> work, clean_up_seen& seen) {
  const auto clean_up = [&seen]() -> task<> {
    const guest here;
    seen.has_begun = true;
    co_await sleep_for(1ms);
    seen.has_ended = true;
  };
  co_await finally(std::move(work), clean_up, 1min);
}
task<> waits_after(signal& in) {
  const guest here;
  in.raise();
  co_await sleep_for(1h);
}
/// Ends by itself, but after the shutdown has begun. With one worker: no other thread runs its children.
task<> ends_when_children_are_refused(signal& in) {
  const guest here;
  co_await sleep_for(1ms);  // it is in the list of all tasks
  in.raise();
  signal never;
  const auto nothing = []() -> task<> { co_return; };
  while (!spawn(nothing()).is_done()) never.wait(testing::now() + 1ms);
  co_return;
}

/// Its helper may be refused, or cancelled as soon as a worker takes it.
task<> sends_until_the_end(bool& saw_the_end) {
  auto [to, from] = channel::unbounded<int>();
  spawn([](channel::unbounded_receiver<int> end) -> task<> {
    static_cast<void>(co_await end.recv());
  }(std::move(from)))
      .detach();
  signal never;
  while (!saw_the_end && !this_task::cancel_requested()) {
    const channel::send_status how = co_await to.send(1);
    if (how != channel::send_status::sent) saw_the_end = true;
    never.wait(testing::now() + 1ms);
  }
}
/// It is in the registry before `in` is raised.
task<> sends(signal& in, bool& saw_the_end) {
  const guest here;
  co_await sleep_for(1ms);
  in.raise();
  co_await sends_until_the_end(saw_the_end);
}
/// It comes into the registry afterwards.
task<> sends_late(signal& in, bool& saw_the_end) {
  const guest here;
  in.raise();
  co_await sleep_for(1ms);
  co_await sends_until_the_end(saw_the_end);
}
/// The same of a closure.
task<> calls_until_the_end(signal& in, bool& saw_the_end) {
  const guest here;
  co_await sleep_for(1ms);
  in.raise();
  auto work = spawn_blocking([] {});
  const outcome<void> end = co_await work.result();
  if (end.is_cancelled()) saw_the_end = true;
}

void an_end_is_unseen(const char* name, task<> (*work)(signal&, bool&), const runtime_options& options) {
  const auto body = [work, options](execution& e) {
    e.thread("root", [work, options] {
      runtime rt(options);
      signal in;
      bool saw_the_end = false;
      rt.spawn(work(in, saw_the_end)).detach();
      in.wait();
      (void)rt.shutdown(testing::choose(2) * 1h);
      check(!saw_the_end, "no task acts on an end that the shutdown has brought about");
    });
  };
  expect_holds(whole(name), body);
}

// Before any task is refused, or cancelled by a thread that read the phase, all tasks know of the shutdown.
TEST(runtime_ends_model, a_sender_does_not_see_the_end_of_its_receiver_in_a_shutdown) {
  an_end_is_unseen("ends_sender", sends, two_workers());
}
TEST(runtime_ends_model, sender_that_suspends_late_does_not_see_its_receiver_end_in_a_shutdown) {
  an_end_is_unseen("ends_late_sender", sends_late, two_workers());
}
TEST(runtime_ends_model, an_awaiter_does_not_see_the_end_of_its_closure_in_a_shutdown) {
  an_end_is_unseen("ends_awaiter", calls_until_the_end, one_worker());
}

// The root of block_on(): no worker takes it out of a queue, so it has only what was announced.
TEST(runtime_ends_model, a_root_does_not_see_the_end_of_its_task_in_a_shutdown) {
  const auto body = [](execution& e) {
    auto& in = e.make<signal>();
    auto& is_there = e.make<signal>();
    auto& is_over = e.make<signal>();
    auto& rt = e.make<std::optional<runtime>>();
    e.thread("root", [&] {
      rt.emplace(one_worker());
      is_there.raise();
      in.wait();
      (void)rt->shutdown(testing::choose(2) * 1h);
      is_over.wait();
      rt.reset();
    });
    e.thread("caller", [&] {
      is_there.wait();
      bool saw_the_end = false;
      const auto hears = [&]() -> task<> {
        auto [to, from] = channel::unbounded<int>();
        auto work = spawn([](channel::unbounded_sender<int> end) -> task<> {
          co_await sleep_for(1h);
          static_cast<void>(co_await end.send(1));
        }(std::move(to)));
        co_await yield();
        in.raise();
        static_cast<void>(co_await from.recv());
        saw_the_end = true;
      };
      try {
        rt->block_on(hears());
      } catch (const cancelled_error&) {
      }
      check(!saw_the_end, "it hears of its own end");
      is_over.raise();
    });
  };
  expect_holds(whole("ends_root_hears"), body);
}

// The shutdown reaches a task once: it does not end what it has begun.
void a_clean_up_has_its_limit(const char* name, task<> (*work)(signal&)) {
  const auto body = [work](execution& e) {
    e.thread("root", [work] {
      runtime rt(one_worker());
      signal in;
      clean_up_seen seen;
      rt.spawn(cleans_up(work(in), seen)).detach();
      in.wait();
      (void)rt.shutdown(0s);
      check(seen.has_begun && seen.has_ended, "it has had its time");
    });
  };
  expect_holds(whole(name), body);
}

TEST(runtime_ends_model, a_clean_up_begun_by_a_shutdown_without_grace_runs_to_its_end) {
  a_clean_up_has_its_limit("ends_clean_up", waits_after);
}
TEST(runtime_ends_model, a_clean_up_that_begins_during_a_shutdown_runs_to_its_end) {
  a_clean_up_has_its_limit("ends_clean_up_by_itself", ends_when_children_are_refused);
}

/// Its destructor cancels the task.
struct cancels_at_its_end {
  core::header* whom;
  ~cancels_at_its_end() { (void)core::cancel(*whom, cancel_reason::user); }
};

// The root of block_on() is in no worker's queue. A task that was cancelled because of the phase cancels it.
TEST(runtime_ends_model, a_clean_up_of_a_root_runs_to_its_end) {
  const auto body = [](execution& e) {
    auto& in = e.make<signal>();
    auto& is_there = e.make<signal>();
    auto& is_over = e.make<signal>();
    auto& rt = e.make<std::optional<runtime>>();
    auto& seen = e.make<clean_up_seen>();
    e.thread("root", [&] {
      rt.emplace(one_worker());
      is_there.raise();
      in.wait();
      (void)rt->shutdown(0s);
      is_over.wait();
      check(seen.has_begun && seen.has_ended, "it has had its time");
      rt.reset();
    });
    e.thread("caller", [&] {
      is_there.wait();
      const auto work = [&in]() -> task<> {
        auto canceller = spawn(
            [](core::header* whom) -> task<> {
              const cancels_at_its_end here{whom};
              for (int turns = 0; turns < 4; ++turns) co_await yield();
              co_await sleep_for(1h);
            },
            core::current_task());
        co_await yield();
        in.raise();
        co_await sleep_for(1h);
      };
      try {
        rt->block_on(cleans_up(work(), seen));
      } catch (const cancelled_error&) {
      }
      is_over.raise();
    });
  };
  expect_holds(whole("ends_clean_up_of_root"), body);
}

// The shutdown reaches a task under a shield, which raises another one: the task ends with that one's limit.
TEST(runtime_ends_model, a_shield_that_was_overridden_does_not_count_again) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      signal in;
      signal go;
      auto handle = rt.spawn([&]() -> task<> {
        const guest here;
        const shield_guard without_end = shield(std::chrono::hours::max());
        in.raise();
        while (!this_task::cancel_requested()) go.wait(testing::now() + 1ms);
        const shield_guard with_limit = shield(1ms);
        co_await sleep_for(1h);
      });
      in.wait();
      const auto begin = testing::now();
      (void)rt.shutdown(0s);
      check(handle.is_done() && testing::now() - begin < 1min, "nothing holds it up");
    });
  };
  expect_holds(whole("ends_older_shield"), body);
}

// A task that awaits such a closure survives, too, and stays in memory: no thread may run it any more.
TEST(runtime_ends_model, a_closure_that_does_not_return_is_left_to_itself) {
  const auto body = [](execution& e) {
    auto& go = e.make<signal>();
    auto& in = e.make<signal>();
    e.thread("root", [&] {
      {
        runtime rt(two_workers());
        rt.spawn_blocking([&] {
            in.raise();
            go.wait();
          }).detach();
        rt.spawn_blocking([] {}).detach();
        rt.spawn(holds_out(1ms, 20ms)).detach();
        in.wait();
        const shutdown_report last = rt.shutdown(testing::choose(2) * 5ms);
        check(!last.survivors.empty() && last.survivors.size() <= 2,
              "the closure, and one that is on its way out");
      }
      go.raise();
    });
  };
  expect_holds(whole("ends_closure"), body);
}

TEST(runtime_ends_model, a_closure_that_returns_within_the_grace_is_waited_for) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      signal in;
      bool done = false;
      rt.spawn_blocking([&] {
          in.raise();
          signal never;
          never.wait(testing::now() + 5ms);
          done = true;
        }).detach();
      rt.spawn(holds_out(testing::choose(2) * 10ms, 20ms)).detach();
      in.wait();
      const auto begin = testing::now();
      const shutdown_report last = rt.shutdown(1h);
      check(last.survivors.empty() && done, "there was time enough");
      check(testing::now() - begin < 1min, "nobody waits for longer than it takes");
    });
  };
  expect_holds(whole("ends_closure_in_time"), body);
}

// A closure runs until it is cancelled. The sweep finds it, or it reads the phase: no whole grace.
TEST(runtime_ends_model, a_closure_that_begins_during_a_shutdown_is_cancelled) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      rt.spawn_blocking([] {
          signal never;
          while (!this_task::cancel_requested()) never.wait(testing::now() + 1min);
        }).detach();
      const auto begin = testing::now();
      check(rt.shutdown(1h).survivors.empty(), "there was time enough");
      check(testing::now() - begin < 3min, "it is cancelled when the shutdown begins, not with the grace");
    });
  };
  expect_holds(whole("ends_closure_beside"), body);
}

// The runtime joins the thread of an awaited closure before it is destroyed.
TEST(runtime_ends_model, the_thread_of_a_closure_that_was_awaited_is_joined) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      unsigned begun = 0;
      unsigned ended = 0;
      {
        runtime_options o = one_worker();
        o.blocking.on_thread_start = [&begun](unsigned /*index*/) { ++begun; };
        o.blocking.on_thread_end = [&ended](unsigned /*index*/) { ++ended; };
        runtime rt(o);
        check(rt.spawn_blocking([] { return 1; }).join() == 1, "it ran");
      }
      check(begun == ended, "every thread has ended before the runtime has");
    });
  };
  expect_holds(whole("ends_awaited_closure"), body);
}

// The last reference to the runtime ends it: on the thread that drops the handle, or on the thread of the
// closure. The latter cannot wait for its own end.
TEST(runtime_ends_model, the_result_of_a_closure_ends_the_runtime) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      auto rt = std::make_shared<runtime>(one_worker());
      const auto handle = rt->spawn_blocking([rt] { return rt; });
      rt.reset();
    });
  };
  expect_holds(whole("ends_by_result"), body);
}

// A closure is admitted, and its thread starts only after the end: the closure ends all the same.
TEST(runtime_ends_model, a_closure_that_comes_too_late_ends_at_once) {
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    e.thread("root", [&between] {
      runtime_options o = one_worker();
      o.seed = 1;
      runtime rt(o);
      between.leave(rt.handle());
      signal never;
      never.wait(testing::now() + 1ms);
    });
    e.thread("foreign", [&between] {
      const runtime_handle from = between.take();
      try {
        check(from.spawn_blocking([] { return 1; }).join() == 1, "it ran");
      } catch (const cancelled_error& refused) {
        check(refused.reason() == cancel_reason::shutdown, "or it was too late");
      }
    });
  };
  testing::options o = whole("ends_late");
  o.max_runs = 4'000;
  o.early_timeouts = 1;
  expect_holds(o, body);
}

// A plain thread waits for a place in the pool. The closure in that place waits for the thread. The thread is
// woken when the end begins, so the closure returns within the grace.
TEST(runtime_ends_model, a_thread_that_waits_for_queue_space_is_woken_by_the_shutdown) {
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    auto& through = e.make<signal>();
    auto& in = e.make<signal>();
    e.thread("root", [&] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .queue_limit = 1, .on_full = pool::rejection::block};
      runtime rt(o);
      between.leave(rt.handle());
      rt.spawn_blocking([&] {
          in.raise();
          through.wait();
        }).detach();
      in.wait();
      const auto begin = testing::now();
      check(rt.shutdown(1h).survivors.empty(), "there was time enough");
      check(testing::now() - begin < 1min, "nobody waits for longer than it takes");
    });
    e.thread("foreign", [&] {
      const runtime_handle from = between.take();
      for (int i = 0; i < 3; ++i) from.spawn_blocking([] {}).detach();
      through.raise();
    });
  };
  expect_holds(whole("ends_place"), body);
}

task<> throws_a_number() {
  throw 7;
  co_return;
}
task<> throws_a_sentence() {
  co_await yield();
  throw std::runtime_error("nobody hears it");
}
task<> waits() {
  const guest here;
  co_await sleep_for(1h);
}
task<> awaits_whom_it_cancels() {
  auto child = spawn(waits());
  child.cancel();
  co_await child;
}

void throw_at_nobody(runtime& rt) {
  rt.spawn(throws_a_number()).detach();
  rt.spawn(with_a_name(throws_a_sentence())).detach();
  rt.spawn(awaits_whom_it_cancels()).detach();
  rt.block_on([]() -> task<> { co_await sleep_for(1ms); });
}

TEST(runtime_ends_model, unhandled_exceptions_are_reported_once) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = two_workers();
      o.on_unhandled = unhandled_policy::report;
      runtime rt(o);
      throw_at_nobody(rt);
      (void)rt.shutdown(0s);
      check(rt.stats().total_unhandled == 3, "each once");
    });
  };
  expect_holds(whole("ends_unhandled"), body);
}

TEST(runtime_ends_model, unhandled_exceptions_are_passed_to_the_callback) {
  static base::atomic<unsigned> heard;
  const auto body = [](execution& e) {
    // relaxed, all. A sum of threads that have ended.
    heard.store(0, base::order::relaxed);
    e.thread("root", [] {
      runtime_options o = two_workers();
      o.on_unhandled = unhandled_policy::callback([](const unhandled_exception& u) noexcept {
        check(u.id.value != 0 && u.what != nullptr, "whose, and what");
        heard.fetch_add(1, base::order::relaxed);
      });
      runtime rt(o);
      throw_at_nobody(rt);
    });
    e.finally([] { check(heard.load(base::order::relaxed) == 3, "each once"); });
  };
  expect_holds(whole("ends_callback"), body);
}

/// Spawns in all the ways there are, and suspends in between now and then.
task<> spawns_in_all_ways(async_scope& shared) {
  const guest here;
  join_set<void> set;
  set.spawn(waits());
  shared.fork(waits);
  co_await with_scope([](scope& s) -> task<> {
    s.fork(waits);
    s.fork(waits);
    co_return;
  });
}

task<> goes_on_spawning() {
  async_scope shared;
  const auto body = [&shared] { return spawns_in_all_ways(shared); };
  const auto close = [&shared]() -> task<> {
    shared.cancel();
    shared.fork(waits);
    co_await shared.close();
  };
  co_await finally(body, close, 1s);
}

TEST(runtime_ends_model, tasks_that_go_on_spawning_are_refused) {
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    auto& ended = e.make<signal>();
    e.thread("root", [&] {
      runtime rt(two_workers());
      between.leave(rt.handle());
      rt.spawn(goes_on_spawning()).detach();
      (void)rt.shutdown(0s);
      check(rt.stats().alive_tasks == 0, "nobody is left");
      ended.raise();
      try {
        rt.block_on(waits());
        check(false, "it is cancelled at once");
      } catch (const cancelled_error&) {
      }
    });
    e.thread("foreign", [&] {
      const runtime_handle from = between.take();
      auto maybe = from.spawn_blocking([] { return 1; });
      const auto end = maybe.wait_for(1h);
      check(end.has_value() && (end->is_cancelled() || end->value() == 1),
            "it comes to an end, begun or not");
      ended.wait();
      auto refused = from.spawn(waits());
      check(refused.is_done(), "after the end it is cancelled at once");
      auto closure = from.spawn_blocking([] { check(false, "nobody calls it"); });
      check(closure.is_done(), "and a closure, too");
    });
  };
  expect_holds(whole("ends_spawning"), body);
}

// A thread that joins a queued task runs it; its entry stays in the queue until a worker removes it.
TEST(runtime_ends_model, a_shutdown_tolerates_a_queue_entry_of_an_ended_task) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      signal go;
      std::optional<join_handle<int>> other;
      runtime rt(o);
      auto joins = rt.spawn([&]() -> task<int> {
        go.wait();
        join_handle<int> mine = std::move(*other);
        co_return co_await mine;
      });
      other.emplace(rt.spawn([]() -> task<int> {
        const guest here;
        co_return 1;
      }));
      go.raise();
      const auto end = joins.wait_for(1h);
      check(end.has_value() && end->has_value(), "it ends before the shutdown");
      (void)rt.shutdown(0s);
    });
  };
  testing::options o = whole_exhaustive("ends_entry");
  expect_holds(o, body);
}

TEST(runtime_ends_model, a_task_of_one_runtime_spawns_on_another_that_ends) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      runtime first(o);
      runtime second(o);
      auto over_there = first.spawn(
          [](runtime_handle there) -> task<int> {
            auto one = there.spawn([]() -> task<int> {
              co_await yield();
              co_return 1;
            });
            try {
              co_return co_await one;
            } catch (const cancelled_error&) {
              co_return 2;
            }
          },
          second.handle());
      (void)second.shutdown(0s);
      const int end = first.block_on([](join_handle<int> j) -> task<int> { co_return co_await j; },
                                     std::move(over_there));
      check(end == 1 || end == 2, "its value, or cancelled with its runtime");
    });
  };
  expect_holds(whole("ends_two"), body);
}

TEST(runtime_ends_model, a_clock_that_jumps_ends_with_its_runtime) {
  const auto body = [](execution& e) {
    auto& clock = e.make<testing::virtual_clock>();
    e.thread("root", [&clock] {
      runtime_options o = two_workers();
      runtime rt(o, clock);
      const auto slept = rt.block_on([]() -> task<int> {
        auto closure = spawn_blocking([] { return 1; });
        co_await sleep_for(48h);
        co_return co_await closure;
      });
      check(slept == 1, "two days have passed");
      rt.spawn(waits()).detach();
    });
    e.finally([&clock] { check(clock.now() >= testing::virtual_clock::beginning + 48h, "not less"); });
  };
  expect_holds(whole("ends_clock"), body);
}

/// Two tasks that are counted, and a thread that waits until both have ended.
struct two_counted {
  sched::ledger books{0};
  std::array<base::cell<int>, 2> done;
  two_counted() {
    books.spawned();
    books.spawned();
  }
  void check_done() { check(done[0].get() + done[1].get() == 2, "what both did is seen"); }
};

void expect_ends_are_seen(testing::options o, base::nanoseconds span) {
  expect_holds(o, [span](execution& e) {
    auto& x = e.make<two_counted>();
    for (auto& mine : x.done) {
      e.thread("task", [&x, &mine] {
        mine.set(1);
        x.books.ended();
      });
    }
    e.thread("waits", [&x, span] {
      if (x.books.wait_until_none(detail::saturating_deadline(base::now(), span))) x.check_done();
    });
  });
}

TEST(runtime_ends_model, a_thread_that_sees_no_task_alive_sees_what_all_tasks_did) {
  expect_ends_are_seen(model::exhaustive("ends_none_alive"), 24h);
  testing::options late = model::exhaustive("ends_none_alive_late");
  late.early_timeouts = 1;
  expect_ends_are_seen(late, 1ms);
}

TEST(runtime_ends_model, a_time_of_a_virtual_clock_shows_what_was_done_before_it) {
  struct scene {
    testing::virtual_clock clock;
    base::cell<int> before;
  };
  expect_holds(model::exhaustive("ends_clock_time"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("mover", [&x] {
      x.before.set(1);
      x.clock.advance(1h);
    });
    e.thread("looks", [&x] {
      if (x.clock.now() > testing::virtual_clock::beginning) check(x.before.get() == 1, "it was before");
    });
  });
}

TEST(runtime_ends_model, a_virtual_clock_tells_no_listener_that_has_ceased_to_listen) {
  struct scene {
    testing::virtual_clock clock;
    base::cell<int> told;
    void listens() {
      clock.listen({[](void* self) noexcept { static_cast<scene*>(self)->told.set(1); }, this});
    }
  };
  expect_holds(model::exhaustive("ends_clock_listener"), [](execution& e) {
    auto& x = e.make<scene>();
    x.listens();
    e.thread("mover", [&x] { x.clock.advance(1h); });
    e.thread("listener", [&x] {
      x.clock.listen({});
      x.told.set(2);
    });
  });
}

}  // namespace
}  // namespace rota
