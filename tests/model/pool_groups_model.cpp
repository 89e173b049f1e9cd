// Jobs that join a group after their submit(), and leave it before their end, beside that end, a cancel, a
// pause and waits. A wait for the group ends when it is empty; every reference is dropped once.
#include "model/pool_world.hpp"

#include <rota/error.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rota::pool {
namespace {

using model::expect_holds;
using model::few_threads;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::record;
using testing::check;
using testing::execution;

struct group_world {
  explicit group_world(pool_options how) : pool(std::move(how)) {}
  std::array<record, 2> of;
  thread_pool pool;

  void submit(unsigned which, const char* group) {
    work_options how = of[which].options();
    how.group = group;
    of[which].handle = pool.submit(of[which].function(), how);
  }
  /// Nothing is left in the group, and the jobs have ended as their status says.
  void check_end(unsigned jobs) {
    pool.wait("g");
    for (unsigned i = 0; i < jobs; ++i) {
      of[i].handle.wait();
      of[i].check_end();
    }
    check(pool.members("g").empty(), "the group is empty");
  }
};

TEST(pool_groups_model, a_job_joins_a_group_while_it_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<group_world>(few_threads(1));
    w.submit(0, "");
    e.thread("joiner", [&w] {
      if (!w.of[0].handle.join_group("g")) return;
      w.pool.wait("g");
      check(w.of[0].handle.is_done(), "what joined is over");
    });
    e.finally([&w] { w.check_end(1); });
  };
  expect_holds(pool_exhaustive("join_end"), body);
  expect_holds(pool_at_random("join_end pct"), body);
}

TEST(pool_groups_model, a_plain_job_joins_while_it_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<group_world>(few_threads(1));
    record& r = w.of[0];
    r.handle = w.pool.submit(r.function());
    e.thread("joiner", [&w, &r] {
      if (!r.handle.join_group("g")) return;
      w.pool.wait("g");
      check(r.handle.is_done() && r.done.get() == 7, "what joined is over");
    });
    e.finally([&w, &r] {
      r.handle.wait();
      check(w.pool.members("g").empty(), "the group is empty");
    });
  };
  expect_holds(pool_exhaustive("join_plain"), body);
  expect_holds(pool_at_random("join_plain pct"), body);
}

// Two threads change their minds about the same job, while it ends.
TEST(pool_groups_model, group_is_empty_after_two_threads_add_and_remove_an_ending_job) {
  const auto body = [](execution& e) {
    auto& w = e.make<group_world>(few_threads(1));
    w.submit(0, "");
    for (int i = 0; i < 2; ++i) {
      e.thread("member", [&w] {
        static_cast<void>(w.of[0].handle.join_group("g"));
        static_cast<void>(w.of[0].handle.leave_group("g"));
      });
    }
    e.thread("waiter", [&w] { w.pool.wait("g"); });
    e.finally([&w] { w.check_end(1); });
  };
  expect_holds(pool_exhaustive("join_leave", 0), body);
  expect_holds(pool_at_random("join_leave pct"), body);
}

// A job that waits for a place is taken out of its group, and cancelled, at once.
TEST(pool_groups_model, a_job_leaves_its_group_while_it_is_parked) {
  const auto body = [](execution& e) {
    auto& w = e.make<group_world>(few_threads(1));
    w.pool.limit_group("g", 1);
    w.submit(0, "g");
    w.submit(1, "g");
    e.thread("leaver", [&w] { static_cast<void>(w.of[1].handle.leave_group("g")); });
    e.thread("canceller", [&w] { static_cast<void>(w.of[1].handle.cancel()); });
    e.finally([&w] { w.check_end(2); });
  };
  expect_holds(pool_exhaustive("leave_parked"), body);
  expect_holds(pool_at_random("leave_parked pct"), body);
}

// A job that the group's pause holds goes on after it has left the group.
TEST(pool_groups_model, a_job_that_leaves_a_paused_group_continues) {
  for (const pause_mode mode : {pause_mode::running_only, pause_mode::queued_too}) {
    const auto body = [mode](execution& e) {
      pool_options how = few_threads(1);
      how.pause = mode;
      auto& w = e.make<group_world>(how);
      w.pool.pause("g");
      record& r = w.of[0];
      work_options in_group = r.options();
      in_group.group = "g";
      r.handle = w.pool.submit(
          [&r, with = luggage{}] {
            this_work::checkpoint();
            ++r.runs;
            r.done.set(7);
            return 7;
          },
          in_group);
      e.thread("leaver", [&w] { check(w.of[0].handle.leave_group("g"), "it cannot have ended"); });
      e.finally([&w] { w.check_end(1); });
    };
    const bool holds_queued = mode == pause_mode::queued_too;
    expect_holds(pool_exhaustive(holds_queued ? "leave_held" : "leave_paused"), body);
    expect_holds(pool_at_random(holds_queued ? "leave_held pct" : "leave_paused pct"), body);
  }
}

// Job A awaits a group with one member, which awaits A. `enter` puts A into it: its wait would deadlock.
template <class F>
void comes_into_the_group_that_it_waits_for(const std::string& name, F enter) {
  const auto body = [enter](execution& e) {
    auto& w = e.make<group_world>(few_threads(2));
    record& r = w.of[0];
    work_options own = r.options();
    own.group = "own";
    r.handle = w.pool.submit(
        [&w, &r, with = luggage{}] {
          try {
            w.pool.wait("g");
          } catch (const error& why) {
            check(why.code() == errc::would_deadlock, "it would wait for itself");
          }
          ++r.runs;
          r.done.set(7);
          return 7;
        },
        own);
    e.thread("joiner", [&w, enter] {
      record& waits = w.of[1];
      work_options in_group = waits.options();
      in_group.group = "g";
      waits.handle = w.pool.submit(
          [&w, &waits, with = luggage{}] {
            w.of[0].handle.wait();
            ++waits.runs;
            waits.done.set(7);
            return 7;
          },
          in_group);
      enter(w);
    });
    e.finally([&w] { w.check_end(2); });
  };
  expect_holds(pool_exhaustive(name), body);
  expect_holds(pool_at_random(name + " pct"), body);
}

TEST(pool_groups_model, wait_fails_when_its_job_joins_the_group_that_it_waits_for) {
  comes_into_the_group_that_it_waits_for(
      "join_waiter", [](group_world& w) { static_cast<void>(w.of[0].handle.join_group("g")); });
}

TEST(pool_groups_model, wait_fails_when_its_group_becomes_part_of_the_awaited_group) {
  comes_into_the_group_that_it_waits_for("relate_waiter", [](group_world& w) { w.pool.relate("g", "own"); });
}

}  // namespace
}  // namespace rota::pool
