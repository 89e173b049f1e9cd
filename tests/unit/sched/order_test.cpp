// In which order a worker finds its tasks, and what it counts. Tasks block their workers at set points.
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace rota::order_test {
namespace {

runtime_options with_workers(unsigned n) {
  runtime_options o;
  o.workers = n;
  o.seed = 1;
  o.watchdog = std::chrono::nanoseconds(0);
  return o;
}

struct logbook {
  void note(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex);
    entries.push_back(what);
  }
  std::mutex mutex;
  std::vector<std::string> entries;
};

task<> write(logbook& book, std::string what) {
  book.note(what);
  co_return;
}

TEST(order, fourth_task_in_a_row_of_the_lifo_slot_runs_after_the_ring) {
  logbook book;
  std::latch over(7);
  runtime rt(with_workers(1));
  struct body {
    static task<> link(logbook& b, std::latch& l, int left) {
      b.note("link");
      if (left > 0) spawn(link(b, l, left - 1)).detach();
      l.count_down();
      co_return;
    }
    static task<> other(logbook& b, std::latch& l) {
      b.note("other");
      l.count_down();
      co_return;
    }
    static task<> root(logbook& b, std::latch& l) {
      spawn(other(b, l)).detach();
      spawn(link(b, l, 5)).detach();
      co_return;
    }
  };
  rt.spawn(body::root(book, over)).join();
  over.wait();
  ASSERT_EQ(book.entries.size(), 7U);
  const std::vector<std::string> expected{"link", "link", "link", "other", "link", "link", "link"};
  EXPECT_EQ(book.entries, expected);
  EXPECT_GE(rt.stats().workers[0].lifo_hits, 3U);
}

TEST(order, full_ring_moves_half_and_the_new_task_to_the_injector) {
  runtime rt(with_workers(1));
  std::atomic<int> ran = 0;
  runtime_stats before;
  runtime_stats after;
  struct body {
    static task<> count(std::atomic<int>& n) {
      ++n;
      co_return;
    }
    static task<> root(runtime& r, std::atomic<int>& n, runtime_stats& full, runtime_stats& over) {
      std::vector<join_handle<void>> all;
      // The newest task is in the slot; the 256 before it fill the ring.
      for (int i = 0; i < 257; ++i) all.push_back(spawn(count(n)));
      full = r.stats();
      all.push_back(spawn(count(n)));
      over = r.stats();
      for (auto& h : all) co_await h;
    }
  };
  rt.spawn(body::root(rt, ran, before, after)).join();
  EXPECT_EQ(before.workers[0].overflows, 0U);
  EXPECT_EQ(before.injector_depth, 0U);
  EXPECT_EQ(after.workers[0].overflows, 1U);
  EXPECT_EQ(after.injector_depth, 129U);
  EXPECT_EQ(ran.load(), 258);
}

TEST(order, help_runs_the_slot_then_the_ring_then_the_injector) {
  logbook book;
  std::binary_semaphore spawned(0);
  std::binary_semaphore injected(0);
  runtime rt(with_workers(1));
  join_handle<void> target;
  struct body {
    static task<> root(logbook& b,
                       std::binary_semaphore& s,
                       std::binary_semaphore& i,
                       join_handle<void>& last) {
      const task_id me = this_task::id();
      spawn(write(b, "ring 1")).detach();
      spawn(write(b, "ring 2")).detach();
      spawn(write(b, "slot")).detach();
      s.release();
      i.acquire();
      last.join(help);
      b.note(this_task::id() == me ? "back" : "somebody else");
      co_return;
    }
  };
  auto root = rt.spawn(body::root(book, spawned, injected, target));
  spawned.acquire();
  auto first = rt.spawn(write(book, "injector 1"));
  target = rt.spawn(write(book, "injector 2"));
  injected.release();
  root.join();
  first.join();
  // The end of a time slice makes the injector due, so its tasks may run between those of the ring.
  std::vector<std::string> own;
  std::vector<std::string> injected_ones;
  for (const std::string& each : book.entries)
    (each.starts_with("injector") ? injected_ones : own).push_back(each);
  EXPECT_EQ(own, (std::vector<std::string>{"slot", "ring 1", "ring 2", "back"}));
  EXPECT_EQ(injected_ones, (std::vector<std::string>{"injector 1", "injector 2"}));
  EXPECT_EQ(book.entries.back(), "back");
}

// Four children: one in the slot, three in the ring. The other worker is held until they are there.
TEST(order, help_steals_half) {
  logbook book;
  std::binary_semaphore spawned(0);
  std::binary_semaphore over(0);
  std::latch both(2);
  runtime rt(with_workers(2));
  join_handle<void> target;
  struct body {
    static task<> victim(logbook& b,
                         std::latch& l,
                         std::binary_semaphore& s,
                         std::binary_semaphore& o,
                         join_handle<void>& oldest) {
      l.arrive_and_wait();
      oldest = spawn(write(b, "1"));
      spawn(write(b, "2")).detach();
      spawn(write(b, "3")).detach();
      spawn(write(b, "slot")).detach();
      s.release();
      o.acquire();
      co_return;
    }
    static task<> thief(runtime& r,
                        std::latch& l,
                        std::binary_semaphore& s,
                        join_handle<void>& oldest,
                        runtime_stats& before,
                        runtime_stats& after) {
      l.arrive_and_wait();
      s.acquire();
      before = r.stats();
      oldest.join(help);
      after = r.stats();
      co_return;
    }
  };
  auto blocked = rt.spawn(body::victim(book, both, spawned, over, target));
  runtime_stats before;
  runtime_stats after;
  rt.spawn(body::thief(rt, both, spawned, target, before, after)).join();
  const auto steals = [](const runtime_stats& s) { return s.workers[0].steals + s.workers[1].steals; };
  const auto tasks = [](const runtime_stats& s) {
    return s.workers[0].tasks_stolen + s.workers[1].tasks_stolen;
  };
  EXPECT_EQ(tasks(after) - tasks(before), 2U) << "half of three, rounded up";
  EXPECT_EQ(steals(after) - steals(before), 1U);
  EXPECT_EQ(after.total_stolen - before.total_stolen, 1U) << "operations";
  {
    const std::lock_guard<std::mutex> lock(book.mutex);
    ASSERT_GE(book.entries.size(), 1U);
    EXPECT_EQ(book.entries[0], "1") << "the oldest";
  }
  over.release();
  blocked.join();
}

// Each level has an unrelated task (`stranger`) in the slot and its join target in the ring. Helping runs the
// unrelated task first. Past the sixteenth level a join runs only its own target.
TEST(order, help_stops_at_depth_16) {
  runtime rt(with_workers(1));
  int strangers = 0;
  int at_the_bottom = -1;
  struct body {
    static task<> stranger(int& n) {
      ++n;
      co_return;
    }
    static task<> nest(int& n, int& seen, int left) {
      if (left == 0) {
        seen = n;
      } else {
        auto inner = spawn(nest(n, seen, left - 1));
        spawn(stranger(n)).detach();
        inner.join(help);
      }
      co_return;
    }
  };
  rt.spawn(body::nest(strangers, at_the_bottom, 20)).join();
  rt.shutdown(std::chrono::hours(1));
  EXPECT_EQ(at_the_bottom, 16);
}

// scripted_run_test.cpp checks the exact figures that depend on which worker is awake.
TEST(order, workers_count_spawns_steals_parks_and_fetches) {
  runtime rt(with_workers(2));
  struct body {
    static task<> nothing() { co_return; }
    static task<> wakes_another(runtime& r) {
      // Waits until the other worker finds nothing and parks.
      bool parked = false;
      while (!parked) {
        const runtime_stats s = r.stats();
        parked = s.total_parked >= 1;
        std::this_thread::yield();
      }
      std::latch here(2);
      struct meet {
        static task<> there(std::latch& l) {
          l.arrive_and_wait();
          co_return;
        }
      };
      auto elsewhere = spawn(meet::there(here));
      auto newest = spawn(nothing());  // displaces it into the ring, and notifies
      here.arrive_and_wait();
      co_await elsewhere;
      co_await newest;
    }
  };
  rt.spawn(body::wakes_another(rt)).join();
  rt.shutdown(std::chrono::hours(1));  // a worker counts a poll after its end
  const runtime_stats s = rt.stats();
  EXPECT_EQ(s.num_workers, 2U);
  ASSERT_EQ(s.workers.size(), 2U);
  EXPECT_EQ(s.total_spawned, 3U);
  EXPECT_EQ(s.total_completed, 3U);
  EXPECT_EQ(s.total_cancelled, 0U);
  EXPECT_EQ(s.alive_tasks, 0U);
  EXPECT_GE(s.total_polled, 3U);
  EXPECT_GE(s.total_stolen, 1U);
  EXPECT_GE(s.total_parked, 1U);
  EXPECT_EQ(s.workers[0].injector_fetches + s.workers[1].injector_fetches, 1U);
  EXPECT_EQ(s.injector_depth, 0U);
}

}  // namespace
}  // namespace rota::order_test
