// What threads without a role report to a watchdog about their tasks: R1 to R5 of src/task/outside_polls.hpp.
// A lost wakeup is a deadlock, since no sleep has a deadline.
#include "model/exploring.hpp"

#include "base/futex.hpp"
#include "task/outside_polls.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rota::core {
namespace {

using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// Blocks threads until it has been raised to `whole`. Orders nothing.
class level {
 public:
  void raise() {
    // relaxed. It says when, and publishes nothing.
    word_.fetch_add(1, base::order::relaxed);
    base::futex_wake(&word_, 100);
  }
  void wait(std::uint32_t whole) {
    for (;;) {
      // relaxed. It says when, and publishes nothing.
      const std::uint32_t seen = word_.load(base::order::relaxed);
      if (seen >= whole) return;
      static_cast<void>(base::futex_wait(word_, seen, base::never));
    }
  }

 private:
  base::atomic<std::uint32_t> word_{0};
};

/// A poll: the slot, its stamp, and the task.
struct poll {
  const outside_poll* slot;
  std::uint64_t stamp;
  std::uint64_t task;
  bool operator==(const poll&) const = default;
};

/// A thread that runs tasks, and notes each of its polls.
class runner {
 public:
  explicit runner(outside_polls& of) : polls_(of) {}

  /// `run` is called with the slot.
  template <class Run>
  void claim(std::uint64_t task, Run run) {
    outside_poll* const slot = polls_.claim(task, "a test");
    check(slot != nullptr, "there is memory");
    note(*slot, task);
    run(*slot);
    slot->leave();
  }
  void note(const outside_poll& slot, std::uint64_t task) {
    const std::uint64_t stamp = slot.stamp();
    check(slot.task_of_poll(stamp) == task, "the slot is this thread's");
    polls.push_back({&slot, stamp, task});
  }

  std::vector<poll> polls;

 private:
  outside_polls& polls_;
};

/// The slots as a watcher has read them.
std::vector<poll> look(outside_polls& at) {
  std::vector<poll> seen;
  at.for_each([&seen](const outside_poll& each) {
    const std::uint64_t stamp = each.stamp();
    const std::uint64_t task = each.task_of_poll(stamp);
    if (task != 0) seen.push_back({&each, stamp, task});
  });
  return seen;
}

void check_each(const std::vector<poll>& seen, const std::vector<const runner*>& runners) {
  for (const poll& each : seen) {
    bool is_one = false;
    for (const runner* of : runners)
      for (const poll& one : of->polls) is_one |= one == each;
    check(is_one, "the watcher takes no task for that of another poll");
  }
}

struct watched {
  outside_polls polls;
  runner first{polls};
  runner second{polls};
  std::vector<poll> seen;
};

void add_watcher(execution& e, watched& w) {
  e.thread("watcher", [&w] {
    for (int i = 0; i < 2; ++i) {
      const std::vector<poll> now = look(w.polls);
      w.seen.insert(w.seen.end(), now.begin(), now.end());
    }
  });
  e.finally([&w] {
    check_each(w.seen, {&w.first, &w.second});
    check(!w.polls.any_runs(), "no thread runs a task");
  });
}

TEST(outside_polls_model, a_watcher_never_attributes_a_task_to_another_poll) {
  const auto body = [](execution& e) {
    watched& w = e.make<watched>();
    e.thread("runner", [&w] {
      w.first.claim(7, [&w](outside_poll& slot) {
        slot.rest();
        slot.rest();
        slot.resume();
        check(!outside_poll::is_running(slot.stamp()), "the section around still rests");
        slot.resume();
        w.first.note(slot, 7);
      });
      w.first.claim(9, [&w](outside_poll& slot) {
        slot.begin_next();
        w.first.note(slot, 9);
      });
    });
    add_watcher(e, w);
  };
  testing::options stale = exhaustive("polls_one_runner", 2);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  expect_holds(by_priority("polls_one_runner_pct", 3'000), body);
}

// They may have the same slot one after the other, or each one of its own.
TEST(outside_polls_model, a_slot_has_one_thread_at_a_time) {
  const auto body = [](execution& e) {
    watched& w = e.make<watched>();
    e.thread("first", [&w] { w.first.claim(7, [](outside_poll&) {}); });
    e.thread("second", [&w] { w.second.claim(9, [&w](outside_poll& slot) { w.second.note(slot, 9); }); });
    add_watcher(e, w);
  };
  testing::options stale = exhaustive("polls_two_runners", 2);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  expect_holds(by_priority("polls_two_runners_pct", 3'000), body);
}

TEST(outside_polls_model, slots_are_added_at_the_same_time) {
  const auto body = [](execution& e) {
    watched& w = e.make<watched>();
    const auto run = [](runner& mine, std::uint64_t task) {
      mine.claim(task, [&](outside_poll&) {
        mine.claim(task + 1, [&](outside_poll& inner) { mine.note(inner, task + 1); });
      });
    };
    e.thread("first", [&w, run] { run(w.first, 7); });
    e.thread("second", [&w, run] { run(w.second, 17); });
    e.finally([&w] {
      std::vector<bool> numbers(10);
      w.polls.for_each([&numbers](const outside_poll& each) {
        check(!numbers.at(each.number()), "each slot has a number of its own");
        numbers.at(each.number()) = true;
      });
      check(!w.polls.any_runs(), "no thread runs a task");
    });
  };
  testing::options stale = exhaustive("polls_added", 1);
  stale.stale_reads = 1;
  expect_holds(stale, body);
  expect_holds(by_priority("polls_added_pct", 3'000), body);
}

/// The watchdog's word, with the steps of `watchdog`, and threads that run tasks.
struct sleeper {
  sleeper() {
    polls.set_watcher([](void* self) noexcept { static_cast<sleeper*>(self)->note_run(); }, this);
  }
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;
  ~sleeper() = default;

  void note_run() noexcept {
    // seq_cst. As watchdog::note_outside_run().
    if (word.load(base::order::seq_cst) == asleep) wake();
  }
  void wake() noexcept {
    std::uint32_t seen = asleep;
    // seq_cst, both. As watchdog::first_awake().
    if (word.compare_exchange_strong(seen, awake, base::order::seq_cst, base::order::seq_cst))
      base::futex_wake(&word, 1);
  }
  /// Returns when a thread runs a task in a poll that was not reported, or when the reported one has ended.
  void sleep() {
    std::uint32_t seen = awake;
    // seq_cst, both. As watchdog::sleep().
    check(word.compare_exchange_strong(seen, asleep, base::order::seq_cst, base::order::seq_cst),
          "it is awake");
    if (polls.any_runs() || has_ended()) wake();
    // acquire. As watchdog::sleep_while_asleep().
    while (word.load(base::order::acquire) == asleep)
      static_cast<void>(base::futex_wait(word, asleep, base::never));
  }

  /// As in watchdog::sleep_between_lines().
  [[nodiscard]] bool has_ended() {
    bool runs = false;
    polls.for_each([&](const outside_poll& each) { runs |= each.stamp() == reported; });
    return reported != 0 && !runs;
  }
  void report(outside_poll& slot) {
    reported = slot.stamp();
    slot.mark_reported(reported);
  }

  enum value : std::uint32_t { awake, asleep };
  std::uint64_t reported = 0;  // the stamp of a poll, before `has_rested`
  outside_polls polls;
  base::atomic<std::uint32_t> word{awake};
  level has_seen;
  level has_rested;
};

/// `run(sleeper)` raises `has_rested`, begins a poll, and waits until the watcher has seen one.
template <class Run>
void expect_that_the_watcher_sees(const std::string& name, Run run) {
  const auto body = [run](execution& e) {
    sleeper& s = e.make<sleeper>();
    const unsigned way = testing::choose(2);
    e.thread("runner", [&s, run, way] { run(s, way != 0); });
    e.thread("watcher", [&s] {
      s.has_rested.wait(1);
      s.sleep();
      s.has_seen.raise();
    });
  };
  testing::options stale = exhaustive(name, 2);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  const std::string random = name + "_pct";
  expect_holds(by_priority(random, 3'000), body);
}

TEST(outside_polls_model, a_watcher_that_falls_asleep_sees_a_task_that_begins) {
  expect_that_the_watcher_sees("polls_begin", [](sleeper& s, bool adds) {
    outside_poll* const other = adds ? s.polls.claim(3, "a test") : nullptr;
    if (other != nullptr) other->rest();
    s.has_rested.raise();
    outside_poll* const mine = s.polls.claim(7, "a test");
    s.has_seen.wait(1);
    mine->leave();
    if (other == nullptr) return;
    other->resume();
    other->leave();
  });
}

TEST(outside_polls_model, a_watcher_that_falls_asleep_sees_a_task_that_goes_on) {
  expect_that_the_watcher_sees("polls_go_on", [](sleeper& s, bool goes_on_before) {
    outside_poll* const mine = s.polls.claim(7, "a test");
    if (goes_on_before) mine->begin_next();
    mine->rest();
    s.has_rested.raise();
    mine->resume();
    s.has_seen.wait(1);
    mine->leave();
  });
}

// R5: the thread that ends a reported poll has read the bit. The watcher sleeps without a deadline.
TEST(outside_polls_model, a_watcher_that_sleeps_while_a_reported_poll_runs_sees_its_end) {
  const auto body = [](execution& e) {
    sleeper& s = e.make<sleeper>();
    enum end : int { by_leaving, by_another_poll, by_a_rest };
    const auto how = static_cast<end>(testing::choose(3));
    e.thread("runner", [&s, how] {
      outside_poll* const mine = s.polls.claim(7, "a test");
      s.report(*mine);
      check(!s.polls.any_runs(), "a poll that was reported keeps no watcher awake");
      s.has_rested.raise();
      switch (how) {
        case by_leaving: mine->leave(); break;
        case by_another_poll: mine->begin_next(); break;
        case by_a_rest: mine->rest(); break;
      }
      s.has_seen.wait(1);
      if (how == by_a_rest) mine->resume();
      if (how != by_leaving) mine->leave();
    });
    e.thread("watcher", [&s] {
      s.has_rested.wait(1);
      s.sleep();
      s.has_seen.raise();
    });
  };
  testing::options stale = exhaustive("polls_reported", 2);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  expect_holds(by_priority("polls_reported_pct", 3'000), body);
}

// The poll that the watcher reports may end meanwhile: the next one is not reported.
TEST(outside_polls_model, a_report_concerns_one_poll) {
  const auto body = [](execution& e) {
    watched& w = e.make<watched>();
    level& has_begun = e.make<level>();
    std::vector<std::uint64_t>& first = e.make<std::vector<std::uint64_t>>();
    e.thread("runner", [&] {
      w.first.claim(7, [&](outside_poll& slot) {
        first.push_back(slot.stamp());
        has_begun.raise();
        slot.begin_next();
        check(w.polls.any_runs(), "another poll runs");
        w.first.note(slot, 7);
        slot.rest();
        slot.resume();
        check(w.polls.any_runs(), "another poll runs");
        w.first.note(slot, 7);
      });
    });
    e.thread("reporter", [&] {
      has_begun.wait(1);
      w.polls.for_each([&first](outside_poll& each) { each.mark_reported(first.front()); });
    });
    e.finally([&w] { check(!w.polls.any_runs(), "no thread runs a task"); });
  };
  testing::options stale = exhaustive("polls_report", 2);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  expect_holds(by_priority("polls_report_pct", 3'000), body);
}

}  // namespace
}  // namespace rota::core
