// Plain jobs take the short way: they can be found once they are in a queue, end in one step without a
// waiter, and the thread that ran them keeps their slots. Each is run or cancelled once; no lost wakeup. Only
// the thread that runs a job is given up for it. The pool's memory is freed.
#include "model/pool_world.hpp"

#include <rota/error.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace rota::pool {
namespace {

using model::expect_holds;
using model::few_threads;
using model::guest;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::signal;
using testing::check;
using testing::execution;

/// With an object that is destroyed with the pool's memory.
pool_options watched_threads(unsigned most) {
  pool_options o = few_threads(most);
  o.on_thread_start = [kept = std::make_shared<guest>()](unsigned /*index*/) {};
  return o;
}

struct plain {
  int runs = 0;
  base::cell<int> done;

  [[nodiscard]] auto function() {
    return [this, with = luggage{}] {
      check(++runs == 1, "it runs once");
      done.set(7);
    };
  }
  void check_end(work_status how) {
    if (how == work_status::succeeded) {
      check(runs == 1 && done.get() == 7, "it has run");
    } else {
      check(how == work_status::cancelled && runs == 0, "or it was taken back, and has not");
    }
  }
};

struct world {
  explicit world(pool_options how) : pool(std::move(how)) {}
  std::array<plain, 4> of;
  signal go;
  signal lost;
  thread_pool pool;
};

TEST(plain_work_model, ends_once_when_a_cancel_races_with_its_run) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    auto& handle = e.make<work<void>>(w.pool.submit(w.of[0].function()));
    e.thread("canceller", [&handle] { static_cast<void>(handle.cancel()); });
    e.thread("waiter", [&w, &handle] {
      handle.wait();
      w.of[0].check_end(handle.status());
    });
    e.finally([&w, &handle] { w.of[0].check_end(handle.status()); });
  };
  expect_holds(pool_exhaustive("plain_cancel"), body);
  expect_holds(pool_at_random("plain_cancel pct"), body);
}

TEST(plain_work_model, wakes_threads_that_wait_for_it_alone_or_in_a_list) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    auto& handle = e.make<work<void>>(w.pool.submit(w.of[0].function()));
    e.thread("waiter", [&handle] { handle.wait(); });
    e.thread("of any", [&w, &handle] {
      const work_id all[]{handle.id()};
      check(w.pool.wait_any(all) == handle.id(), "the one");
    });
    e.thread("of all", [&w] {
      w.pool.wait_idle();
      check(w.of[0].runs == 1, "nothing is outstanding");
      const pool_stats s = w.pool.stats();
      check(s.succeeded == 1 && s.submitted == 1 && s.attempts == 1, "and it is counted");
    });
  };
  expect_holds(pool_exhaustive("plain_wait", 0), body);
  expect_holds(pool_at_random("plain_wait pct"), body);
}

// It searches for every job that can be found, while some are submitted.
TEST(plain_work_model, can_be_cancelled_as_soon_as_it_is_queued) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    e.thread("submitter", [&w] {
      for (unsigned i = 0; i < 2; ++i) w.pool | w.of[i].function();
    });
    e.thread("canceller", [&w] { static_cast<void>(w.pool.cancel_all()); });
    e.finally([&w] {
      w.pool.wait_idle();
      const pool_stats s = w.pool.stats();
      check(s.succeeded + s.cancelled == 2, "each ends once");
      check(s.succeeded == static_cast<unsigned>(w.of[0].runs + w.of[1].runs), "by running, or not");
    });
  };
  expect_holds(pool_exhaustive("plain_found"), body);
  expect_holds(pool_at_random("plain_found pct"), body);
}

TEST(plain_work_model, ends_once_when_a_stop_races_with_its_end) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    auto& handle = e.make<work<void>>(w.pool.submit(w.of[0].function()));
    e.thread("stopper", [&handle] { static_cast<void>(handle.force_stop()); });
    e.thread("pauser", [&handle] {
      static_cast<void>(handle.pause());
      static_cast<void>(handle.resume());
    });
    e.finally([&w, &handle] {
      handle.wait();
      w.of[0].check_end(handle.status());
    });
  };
  expect_holds(pool_exhaustive("plain_asked", 0), body);
  expect_holds(pool_at_random("plain_asked pct"), body);
}

// The second job reuses the first one's slot, and is given up. The thread of the first must not go for it.
TEST(plain_work_model, a_force_stop_gives_up_only_the_thread_that_runs_the_job) {
  const auto body = [](execution& e) {
    pool_options two = watched_threads(2);
    two.min_threads = 2;
    auto& w = e.make<world>(std::move(two));
    e.thread("stopper", [&w] {
      {
        auto first = w.pool.submit(w.of[0].function());
        w.pool.wait_idle();
      }
      auto handle = w.pool.submit([&w, with = luggage{}] {
        ++w.of[1].runs;
        w.go.wait();
      });
      static_cast<void>(handle.force_stop());
      handle.wait();
      check(handle.status() == (w.of[1].runs == 0 ? work_status::cancelled : work_status::abandoned),
            "it was given up");
      // The threads that are not lost serve these.
      for (unsigned i = 2; i < 4; ++i) w.pool | w.of[i].function();
      w.pool.wait_idle();
      check(w.of[2].runs == 1 && w.of[3].runs == 1, "the others go on");
      w.go.raise();
    });
  };
  expect_holds(pool_exhaustive("plain_lost", 0), body);
  expect_holds(pool_at_random("plain_lost pct"), body);
}

// Other threads count out the jobs that ended on a lost thread.
TEST(plain_work_model, a_thread_that_is_given_up_leaves_nothing_outstanding) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    w.pool | w.of[0].function();
    auto& handle = e.make<work<void>>(w.pool.submit([&w, with = luggage{}] {
      ++w.of[1].runs;
      w.go.wait();
    }));
    e.thread("stopper", [&w, &handle] {
      static_cast<void>(handle.force_stop());
      w.pool.wait_idle();
      check(w.pool.stats().outstanding == 0, "nothing");
      w.of[0].check_end(work_status::succeeded);
      w.go.raise();
    });
  };
  expect_holds(pool_exhaustive("plain_late", 0), body);
  expect_holds(pool_at_random("plain_late pct"), body);
}

// The same for a resumed coroutine: it runs already, and may be given up once its seat names it.
TEST(plain_work_model, a_resumed_coroutine_that_is_given_up_leaves_nothing_outstanding) {
  const auto body = [](execution& e) {
    pool_options at_once = watched_threads(1);
    at_once.force_grace = std::chrono::nanoseconds(0);
    auto& w = e.make<world>(std::move(at_once));
    auto& begun = e.make<signal>();
    auto& on = e.make<sync::event>();
    auto& handle = e.make<work<void>>(w.pool.submit([&w, &begun, &on, with = luggage{}]() -> task<void> {
      w.pool | [&on, runs = w.of[0].function()] {
        runs();
        on.set();
      };
      begun.raise();
      co_await on.wait();
      w.go.wait();
    }));
    e.thread("stopper", [&w, &begun, &handle] {
      begun.wait();
      static_cast<void>(handle.force_stop());
      w.pool.wait_idle();
      check(w.pool.stats().outstanding == 0, "nothing");
      w.of[0].check_end(work_status::succeeded);
      w.go.raise();
    });
    e.finally([&w] { check(w.pool.stats().outstanding == 0, "nor less"); });
  };
  expect_holds(pool_exhaustive("plain_segment"), body);
  testing::options late = pool_exhaustive("plain_segment late");
  late.stale_reads = 1;
  expect_holds(late, body);
  expect_holds(pool_at_random("plain_segment pct"), body);
}

// An abandoned thread has slots of its own, and comes back long after the end of the pool.
TEST(plain_work_model, the_slots_kept_by_a_lost_thread_are_returned) {
  const auto body = [](execution& e) {
    auto& go = e.make<signal>();
    e.thread("owner", [&go] {
      {
        thread_pool p(watched_threads(1));
        auto handle = p.submit([&p, &go, with = luggage{}] {
          p | [other = luggage{}] {};
          go.wait();
        });
        static_cast<void>(handle.force_stop());
        handle.wait();
      }
      go.raise();
    });
  };
  expect_holds(pool_exhaustive("plain_stock", 0), body);
  expect_holds(pool_at_random("plain_stock pct"), body);
}

// Each is refused, or comes to an end.
TEST(plain_work_model, is_refused_or_ends_when_submitted_during_shutdown) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    auto& accepted = e.make<int>(0);
    e.thread("submitter", [&w, &accepted] {
      try {
        w.pool | w.of[0].function();
        ++accepted;
        w.pool | w.of[1].function();
        ++accepted;
      } catch (const error& why) {
        check(why.code() == errc::shut_down, "it says why");
      }
    });
    e.thread("ender", [&w] { static_cast<void>(w.pool.shutdown(std::chrono::nanoseconds(0))); });
    e.finally([&w, &accepted] {
      const pool_stats s = w.pool.stats();
      check(s.outstanding == 0 && s.succeeded + s.cancelled == static_cast<unsigned>(accepted), "each ends");
    });
  };
  expect_holds(pool_exhaustive("plain_end"), body);
  expect_holds(pool_at_random("plain_end pct"), body);
}

TEST(plain_work_model, can_be_submitted_by_another_job) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(2));
    w.pool | [&w, with = luggage{}] {
      for (unsigned i = 0; i < 3; ++i) w.pool | w.of[i].function();
    };
    e.finally([&w] {
      w.pool.wait_idle();
      for (unsigned i = 0; i < 3; ++i) w.of[i].check_end(work_status::succeeded);
      check(w.pool.stats().succeeded == 4, "each is counted");
    });
  };
  expect_holds(pool_exhaustive("plain_inside", 0), body);
  expect_holds(pool_at_random("plain_inside pct"), body);
}

TEST(plain_work_model, the_last_waker_destroys_the_callback_that_the_other_one_has_called) {
  expect_holds(model::exhaustive("plain_callback"), [](execution& e) {
    auto& calls = e.make<base::atomic<int>>(0);
    // relaxed. A count of the model's.
    waker first = callback_waker([&calls]() noexcept { calls.fetch_add(1, base::order::relaxed); });
    for (waker* each : {&e.make<waker>(first.clone()), &e.make<waker>(std::move(first))})
      e.thread("owner", [each] { each->wake(); });
    // relaxed. All have ended.
    e.finally([&calls] { check(calls.load(base::order::relaxed) == 2, "both have called"); });
  });
}

// Two jobs come as the pool starts, one of them in the long way: neither begins before the start.
TEST(plain_work_model, a_job_submitted_during_the_start_sees_what_happened_before_it) {
  const auto body = [](execution& e) {
    pool_options held = watched_threads(1);
    held.start = start_mode::suspended;
    held.min_threads = 1;  // it is there before the start, and need not take the pool's lock after it
    auto& w = e.make<world>(std::move(held));
    auto& before = e.make<base::cell<int>>();
    e.thread("starter", [&w, &before] {
      before.set(1);
      w.pool.start();
    });
    e.thread("submitter", [&w, &before] {
      work_options named;
      named.name = "long way";
      w.pool.submit([&before] { check(before.get() == 1, "it was done before the start"); }, named).wait();
    });
    e.thread("submitter", [&w, &before] {
      w.pool.submit([&before] { check(before.get() == 1, "it was done before the start"); }).wait();
    });
  };
  expect_holds(pool_exhaustive("plain_start", 0), body);
  expect_holds(pool_at_random("plain_start pct"), body);
}

// The deadline passes as the last work ends.
TEST(plain_work_model, a_late_wait_idle_that_succeeds_sees_what_the_jobs_did) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(watched_threads(1));
    w.pool | w.of[0].function();
    e.thread("waiter", [&w] {
      if (w.pool.wait_idle(std::chrono::milliseconds(1))) check(w.of[0].done.get() == 7, "it has run");
    });
  };
  testing::options o = pool_exhaustive("plain_idle_late");
  o.early_timeouts = 1;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota::pool
