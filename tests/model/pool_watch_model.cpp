// A watched source: pushes, ends of jobs, stops and the pool's end at once, on the real pool. Each item runs
// once, unless its job fails; none is lost or stuck; waiters go on; the counters add up.
#include "model/pool_world.hpp"

#include <rota/pool/watch.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <utility>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::few_threads;
using model::guest;
using model::pool_at_random;
using model::pool_exhaustive;
using model::signal;
using testing::check;
using testing::execution;

/// With memory that the checker watches: a lost item is a leak, and a use after free is found.
struct parcel {
  explicit parcel(unsigned n) : number(n) {}
  parcel(parcel&&) noexcept = default;
  parcel(const parcel&) = delete;
  parcel& operator=(parcel&&) = delete;
  parcel& operator=(const parcel&) = delete;
  ~parcel() {
    if (seal != nullptr) seal->set(2);
  }
  void use() { seal->set(1); }

  unsigned number;
  std::unique_ptr<guest> mine = std::make_unique<guest>();
  std::unique_ptr<base::cell<int>> seal = std::make_unique<base::cell<int>>();
};

struct world {
  explicit world(pool_options how, std::size_t room = 4) : pool(std::move(how)), items(room) {}

  std::array<int, 4> runs{};
  std::array<base::cell<int>, 4> written;
  base::cell<int> turn;
  signal go;
  thread_pool pool;
  source<parcel> items;
  std::optional<watch> one;

  void begin(watch_options how = {}, bool fails_once = false) {
    const bool takes_turns = how.most == 1;
    one.emplace(watch_source(
        pool,
        items,
        [this, fails_once, takes_turns](parcel& each, unsigned returned) {
          if (takes_turns) turn.set(7);
          ++runs[each.number];
          written[each.number].set(7);
          each.use();
          if (fails_once && returned == 0) throw std::runtime_error("once");
        },
        how));
  }
  void push(unsigned number) {
    check(items.try_push(parcel(number)) == push_status::pushed, "there is room");
  }
  /// Nothing is in a work any more.
  void check_accounts() const {
    const watch_stats s = one->stats();
    check(s.in_works == 0, "nothing is in a work");
    check(s.taken == s.succeeded + s.put_back + s.given_up + s.dropped + s.abandoned, "the accounts add up");
  }
  /// Each item has run that often, or is in the source.
  void check_all(unsigned count, int times) {
    check_accounts();
    std::array<int, 4> found = runs;
    while (const std::optional<parcel> left = items.try_take()) found[left->number] += times;
    for (unsigned i = 0; i < count; ++i) check(found[i] == times, "each ran, or is there");
  }
};

watch_options at_most(unsigned most) {
  watch_options how;
  how.most = most;
  return how;
}

// A job waits for a watch with an item that goes on. Its grace is longer than anything here.
TEST(pool_watch_model, a_force_stop_ends_a_job_that_waits_for_a_watch) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(2);
    how.force_grace = 1h;
    auto& w = e.make<world>(how);
    w.one.emplace(watch_source(w.pool, w.items, [&w](parcel& /*each*/) { w.go.wait(); }, at_most(1)));
    w.push(0);
    auto& waits = e.make<work<void>>(w.pool.submit([&w] { w.one->wait(); }));
    e.thread("stopper", [&w, &waits] {
      static_cast<void>(waits.force_stop());
      waits.wait();
      check(waits.status() != work_status::abandoned, "it was got out");
      w.go.raise();
      w.one->wait();
    });
  };
  expect_holds(pool_at_random("watch_force_wait pct", 6'000), body);
}

// The pool starts without a thread for the item or for the clock: the waiter learns of it, and tries.
TEST(pool_watch_model, a_waiter_for_a_watch_is_woken_when_a_thread_start_fails) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.start = start_mode::suspended;
    auto& w = e.make<world>(how);
    w.begin();
    w.push(0);
    e.thread("waiter", [&w] {
      w.one->wait();
      w.check_all(1, 1);
    });
    e.thread("starter", [&w] { w.pool.start(); });
  };
  testing::options o = pool_at_random("watch_refused pct", 4'000);
  o.thread_failures = 2;
  expect_holds(o, body);
}

// A push beside an end: a thread takes the waiting item, and waits for the group, or for the pool, cover it.
TEST(pool_watch_model, a_wait_for_group_or_pool_returns_after_pushed_items_have_run) {
  for (const bool idle : {false, true}) {
    const auto body = [idle](execution& e) {
      auto& w = e.make<world>(few_threads(1));
      watch_options how = at_most(1);
      if (!idle) how.works.group = "g";
      w.begin(how);
      w.push(0);
      w.push(1);
      e.thread("pusher", [&w] { w.push(2); });
      e.thread("waiter", [&w, idle] {
        if (idle) {
          w.pool.wait_idle();
        } else {
          w.pool.wait("g");
        }
        check(w.runs[0] == 1 && w.runs[1] == 1, "what was pushed before has run");
      });
      e.finally([&w] {
        w.one->wait();
        w.check_all(3, 1);
        w.pool.wait_idle();
        check(w.pool.stats().outstanding == 0, "and nothing is left");
      });
    };
    expect_holds(pool_exhaustive(idle ? "watch_covers_idle" : "watch_covers"), body);
    expect_holds(pool_at_random(idle ? "watch_covers_idle pct" : "watch_covers pct", 30'000), body);
  }
}

// One at a time: either a push or the end of a job starts the next.
TEST(pool_watch_model, a_push_or_the_end_of_a_job_starts_the_next_item) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    w.begin(at_most(1));
    w.push(0);
    e.thread("pusher", [&w] { w.push(1); });
    e.thread("waiter", [&w] {
      w.one->wait();
      check(w.runs[0] == 1 && w.written[0].get() == 7, "what was pushed before has run, and is seen");
    });
    e.finally([&w] {
      w.one->wait();
      check(w.items.size() == 0, "nothing is left");
      w.check_all(2, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_push"), body);
  expect_holds(pool_at_random("watch_push pct"), body);
}

// More than one wait when a work ends, and there are threads for them.
TEST(pool_watch_model, no_more_than_the_allowed_number_of_jobs_run_at_once) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    w.begin(at_most(1));
    for (unsigned i = 0; i < 3; ++i) w.push(i);
    e.thread("waiter", [&w] {
      w.one->wait();
      w.check_all(3, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_most"), body);
  expect_holds(pool_at_random("watch_most pct"), body);
}

// Two threads, two at a time; a third takes items out of the source beside the watch.
TEST(pool_watch_model, each_item_runs_once_although_a_thread_takes_one_from_the_source) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    w.push(0);
    w.begin(at_most(2));
    e.thread("pusher", [&w] {
      w.push(1);
      w.push(2);
    });
    e.thread("taker", [&w] {
      if (const std::optional<parcel> mine = w.items.try_take()) ++w.runs[mine->number];
    });
    e.thread("waiter", [&w] { w.one->wait(); });
    e.finally([&w] {
      w.one->wait();
      w.check_all(3, 1);
      for (unsigned i = 0; i < 3; ++i) check(w.runs[i] == 1, "each once");
    });
  };
  expect_holds(pool_exhaustive("watch_take", 0), body);
  expect_holds(pool_at_random("watch_take pct"), body);
}

// It fails, comes back behind the other, and runs again; then no wait is left.
TEST(pool_watch_model, a_failed_item_returns_to_the_source_and_runs_again) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.begin(at_most(1), true);
    w.push(0);
    e.thread("pusher", [&w] { w.push(1); });
    e.thread("waiter", [&w] { w.one->wait(); });
    e.finally([&w] {
      w.one->wait();
      w.check_all(2, 2);
      check(w.runs[0] == 2 && w.runs[1] == 2, "both ran twice");
    });
  };
  expect_holds(pool_exhaustive("watch_back"), body);
  expect_holds(pool_at_random("watch_back pct"), body);
}

// A stop while an item comes in and another one ends: then nothing begins, and what has not run is there.
TEST(pool_watch_model, no_item_is_run_after_a_stop_that_races_with_pushes) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.begin(at_most(2));
    w.push(0);
    e.thread("pusher", [&w] { w.push(1); });
    e.thread("stopper", [&w] {
      w.one->stop();
      w.one->wait();
      w.check_accounts();
      const int before = w.runs[0] + w.runs[1];
      w.push(2);
      check(w.runs[2] == 0 && w.runs[0] + w.runs[1] == before, "nothing runs any more");
    });
    e.finally([&w] {
      check(w.runs[2] == 0, "it was too late");
      w.check_all(3, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_stop"), body);
  expect_holds(pool_at_random("watch_stop pct"), body);
}

// No thread would run it: so a stop of the watch also cancels a job that is being made.
TEST(pool_watch_model, a_stop_before_the_pool_starts_returns_items_to_the_source) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.start = start_mode::suspended;
    auto& w = e.make<world>(how);
    w.begin(at_most(2));
    w.push(0);
    e.thread("pusher", [&w] { w.push(1); });
    e.thread("stopper", [&w] {
      w.one->stop();
      w.one->wait();
    });
    e.finally([&w] {
      check(w.items.size() == 2, "both are there");
      w.check_all(2, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_stop_held"), body);
  expect_holds(pool_at_random("watch_stop_held pct"), body);
}

// Two threads stop the watch at once, one of them also the running jobs: both go through one list.
TEST(pool_watch_model, two_concurrent_stops_lose_no_item) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.begin(at_most(3));
    for (unsigned i = 0; i < 3; ++i) w.push(i);
    e.thread("stopper", [&w] {
      w.one->stop();
      w.one->wait();
      w.check_accounts();
    });
    e.thread("other", [&w] { w.one->stop_running(); });
    e.finally([&w] {
      w.one->wait();
      w.check_all(3, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_two_stops"), body);
  expect_holds(pool_at_random("watch_two_stops pct"), body);
}

// One watch ends, and another one begins, while items are on their way back and in.
TEST(pool_watch_model, a_second_watch_runs_what_the_first_has_left) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.begin(at_most(2));
    w.push(0);
    w.push(1);
    e.thread("stopper", [&w] { w.one->stop(); });
    e.thread("next", [&w] {
      std::optional<watch> next;
      while (!next.has_value()) {
        try {
          next.emplace(
              watch_source(w.pool, w.items, [&w](parcel& each) { ++w.runs[each.number]; }, at_most(1)));
        } catch (const std::invalid_argument&) {
          base::cpu_relax();
        }
      }
      w.one->wait();
      next->wait();
      check(w.runs[0] == 1 && w.runs[1] == 1, "one of them has run it");
    });
    e.finally([&w] { w.check_all(2, 1); });
  };
  expect_holds(pool_exhaustive("watch_next", 0), body);
  expect_holds(pool_at_random("watch_next pct"), body);
}

// A job is cancelled from outside, by its group, while it begins: its item is run in the end.
TEST(pool_watch_model, an_item_whose_job_is_cancelled_is_run_in_the_end) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    watch_options how = at_most(1);
    how.works.group = "g";
    w.begin(how);
    w.push(0);
    w.push(1);
    e.thread("canceller", [&w] { static_cast<void>(w.pool.cancel("g")); });
    e.thread("waiter", [&w] {
      w.pool.wait("g");
      check(w.runs[0] == 1 && w.runs[1] == 1, "a group is left when the next has joined");
    });
    e.finally([&w] {
      w.one->wait();
      w.check_all(2, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_cancel"), body);
  expect_holds(pool_at_random("watch_cancel pct"), body);
}

// After the end of the watch, objects that its body refers to may be destroyed.
TEST(pool_watch_model, the_body_is_destroyed_with_the_watch) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    auto& gone = e.make<base::cell<int>>();
    struct tells {
      explicit tells(base::cell<int>& to) : gone(&to) {}
      tells(tells&& other) noexcept : gone(std::exchange(other.gone, nullptr)) {}
      tells(const tells&) = delete;
      tells& operator=(const tells&) = delete;
      tells& operator=(tells&&) = delete;
      ~tells() {
        if (gone != nullptr) gone->set(1);
      }
      base::cell<int>* gone;
    };
    w.one.emplace(watch_source(
        w.pool, w.items, [&w, last = tells(gone)](parcel& each) { ++w.runs[each.number]; }, at_most(1)));
    w.push(0);
    e.thread("owner", [&w, &gone] {
      w.one.reset();
      check(gone.get() == 1, "its body has gone");
    });
  };
  expect_holds(pool_exhaustive("watch_body"), body);
  expect_holds(pool_at_random("watch_body pct"), body);
}

// The pool ends while items come in: items that have not run stay there.
TEST(pool_watch_model, the_pool_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.begin(at_most(2));
    w.push(0);
    e.thread("ender", [&w] { static_cast<void>(w.pool.shutdown(1h)); });
    e.thread("pusher", [&w] {
      w.push(1);
      w.one->wait();
    });
    e.finally([&w] {
      check(!w.one->is_watching() && !w.items.is_watched(), "it has ended");
      w.check_all(2, 1);
    });
  };
  expect_holds(pool_exhaustive("watch_pool_end"), body);
  expect_holds(pool_at_random("watch_pool_end pct"), body);
}

// The source goes first, and with the watch the items that have not run.
TEST(pool_watch_model, the_source_ends) {
  const auto body = [](execution& e) {
    auto& runs = e.make<std::array<int, 4>>();
    auto& pool = e.make<thread_pool>(few_threads(1));
    auto& items = e.make<std::optional<source<parcel>>>(std::in_place, 4U);
    auto& one = e.make<std::optional<watch>>(
        watch_source(pool, *items, [&runs](parcel& each) { ++runs[each.number]; }, at_most(1)));
    check(items->try_push(parcel(0)) == push_status::pushed, "there is room");
    check(items->try_push(parcel(1)) == push_status::pushed, "there is room");
    e.thread("owner", [&items] { items.reset(); });
    e.thread("watcher", [&one] { one.reset(); });
    e.finally([&runs] { check(runs[0] <= 1 && runs[1] <= 1, "at most once"); });
  };
  expect_holds(pool_exhaustive("watch_source_end"), body);
  expect_holds(pool_at_random("watch_source_end pct"), body);
}

// The job is abandoned while its function returns: the later of the two takes the item.
TEST(pool_watch_model, a_job_is_abandoned_while_its_function_returns) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.one.emplace(watch_source(
        w.pool,
        w.items,
        [&w](parcel& each) {
          ++w.runs[each.number];
          w.go.wait();
          each.use();
        },
        at_most(1)));
    w.push(0);
    e.thread("forcer", [&w] {
      w.one->force_stop();
      w.go.raise();
    });
    e.thread("pusher", [&w] {
      w.push(1);
      w.one->wait();
      w.check_accounts();
    });
    e.finally([&w] {
      check(w.runs[0] <= 1 && w.runs[1] == 0, "at most once");
      const watch_stats s = w.one->stats();
      check(w.items.size() + s.succeeded + s.abandoned == 2, "each ran, or is there");
    });
  };
  testing::options o = pool_exhaustive("watch_force", 0);
  o.early_timeouts = 1;
  expect_holds(o, body);
  testing::options random = pool_at_random("watch_force pct");
  random.early_timeouts = 2;
  expect_holds(random, body);
}

// Allocating a job fails once or twice: it is retried without a push or an end.
TEST(pool_watch_model, a_failed_allocation_of_a_job_is_retried) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("pusher", [&w] {
      try {
        w.begin(at_most(1));
        w.push(0);
        w.push(1);
      } catch (const std::bad_alloc&) {  // of the watch itself, or of a push
        return;
      }
      w.one->wait();
      check(w.runs[0] == 1 && w.runs[1] == 1, "both have run");
    });
    e.finally([&w] {
      if (!w.one.has_value()) return;
      w.one->stop();
      w.one->wait();
      w.check_accounts();
    });
  };
  testing::options o = pool_exhaustive("watch_no_memory", 0);
  o.allocation_failures = 2;
  expect_holds(o, body);
  o = pool_at_random("watch_no_memory pct");
  o.allocation_failures = 2;
  expect_holds(o, body);
}

// The same while the watch goes, and the pool ends: nothing is left that would be retried.
TEST(pool_watch_model, a_failed_allocation_is_not_retried_after_the_watch_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    try {
      w.begin(at_most(1));
    } catch (const std::bad_alloc&) {
      return;
    }
    e.thread("pusher", [&w] {
      try {
        w.push(0);
      } catch (const std::bad_alloc&) {
        return;
      }
    });
    e.thread("ender", [&w] {
      w.one.reset();
      static_cast<void>(w.pool.shutdown(1h));
    });
    e.finally([&w] { check(w.items.size() + static_cast<std::size_t>(w.runs[0]) <= 1, "not twice"); });
  };
  testing::options o = pool_exhaustive("watch_no_memory_end", 1);
  o.allocation_failures = 1;
  expect_holds(o, body);
  o = pool_at_random("watch_no_memory_end pct");
  o.allocation_failures = 1;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota::pool
