// Jobs that wait for others, and an idle pool: registration against the end of the predecessor. A waiting job
// runs once or fails once; the pool is never idle with an outstanding job; started and idle events alternate.
#include "base/futex.hpp"
#include "model/pool_world.hpp"
#include "pool/pool_core.hpp"

#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::few_threads;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::record;
using testing::check;
using testing::execution;

struct world {
  explicit world(pool_options how) : pool(std::move(how)) {}
  std::array<record, 4> of;
  thread_pool pool;

  /// Its predecessors have ended well before it begins.
  void submit_after(unsigned which, std::initializer_list<unsigned> others) {
    record& r = of[which];
    work_options how = r.options();
    for (const unsigned each : others) how.after.push_back(of[each].handle.id());
    r.handle = pool.submit(
        [this, &r, before = std::vector<unsigned>(others), with = luggage{}] {
          check(++r.runs == 1, "it runs once");
          for (const unsigned each : before) check(of[each].done.get() == 7, "after the others");
          r.done.set(7);
          return 7;
        },
        how);
  }
  void submit_one(unsigned which, bool fails = false) {
    record& r = of[which];
    r.handle = pool.submit(
        [&r, fails, with = luggage{}] {
          check(++r.runs == 1, "it runs once");
          if (fails) throw std::runtime_error("no");
          r.done.set(7);
          return 7;
        },
        r.options());
  }
  /// It failed without having run, because of that one.
  void check_failed_after(unsigned which, unsigned root) {
    record& r = of[which];
    r.check_end();
    check(r.told == work_status::failed && r.runs == 0, "it has failed, and has not run");
    try {
      static_cast<void>(r.handle.fetch().value());
      check(false, "it has an exception");
    } catch (const dependency_failed& why) {
      check(why.root() == of[root].handle.id(), "which says because of whom");
    }
  }
};

TEST(pool_dependency_model, a_job_is_registered_while_its_predecessor_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.submit_one(0);
    e.thread("submitter", [&w] {
      w.submit_after(1, {0});
      w.of[1].handle.wait();
      check(w.of[1].told == work_status::succeeded, "it ran");
    });
    e.finally([&w] {
      for (unsigned i = 0; i < 2; ++i) w.of[i].check_end();
    });
  };
  expect_holds(pool_exhaustive("after_end"), body);
  expect_holds(pool_at_random("after_end pct"), body);
}

TEST(pool_dependency_model, a_job_fails_if_its_predecessor_fails_during_the_registration) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.submit_one(0, true);
    e.thread("submitter", [&w] {
      w.submit_after(1, {0});
      w.of[1].handle.wait();
    });
    e.thread("canceller", [&w] { static_cast<void>(w.of[0].handle.cancel()); });
    e.finally([&w] {
      w.of[0].check_end();
      w.check_failed_after(1, 0);
    });
  };
  expect_holds(pool_exhaustive("after_failure"), body);
  expect_holds(pool_at_random("after_failure pct"), body);
}

// Two predecessors, one of which fails: the last one to end finds that, and the job fails once.
TEST(pool_dependency_model, a_job_fails_once_if_one_of_two_predecessors_fails) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    w.submit_one(0);
    w.submit_one(1, true);
    e.thread("submitter", [&w] {
      w.submit_after(2, {0, 1});
      w.of[2].handle.wait();
    });
    e.finally([&w] { w.check_failed_after(2, 1); });
  };
  expect_holds(pool_exhaustive("after_two"), body);
  expect_holds(pool_at_random("after_two pct"), body);
}

// Nothing but the count of ends orders the first predecessor before the job: the flags publish nothing.
TEST(pool_dependency_model, a_job_sees_what_the_first_of_two_predecessors_did) {
  struct flags {
    base::atomic<bool> all_are_there{false};
    base::atomic<bool> first_is_done{false};
  };
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(2));
    auto& of = e.make<flags>();
    // relaxed, all. See above.
    const auto wait = [](const base::atomic<bool>& flag) {
      while (!flag.load(base::order::relaxed)) base::yield_thread();
    };
    e.thread("submitter", [&w, &of, wait] {
      record& first = w.of[0];
      first.handle = w.pool.submit(
          [&first, &of, wait] {
            wait(of.all_are_there);
            first.done.set(7);
            of.first_is_done.store(true, base::order::relaxed);
            return 7;
          },
          {});
      w.of[1].done.set(7);
      w.of[1].handle = w.pool.submit(
          [&of, wait] {
            wait(of.first_is_done);
            return 7;
          },
          {});
      w.submit_after(2, {0, 1});
      of.all_are_there.store(true, base::order::relaxed);
      w.of[2].handle.wait();
    });
  };
  expect_holds(pool_at_random("after_two_relaxed pct", 4'000), body);
}

/// 0 before 1 and 2, both before 3.
void diamond(execution& e, bool fails, bool cancels) {
  auto& w = e.make<world>(few_threads(2));
  w.submit_one(0, fails);
  e.thread("submitter", [&w] {
    w.submit_after(1, {0});
    w.submit_after(2, {0});
    w.submit_after(3, {1, 2});
    w.pool.wait_idle();
    for (record& r : w.of) r.check_end();
  });
  if (cancels) e.thread("canceller", [&w] { static_cast<void>(w.pool.cancel_all()); });
  e.finally([&w, fails, cancels] {
    for (record& r : w.of) r.check_end();
    if (cancels) return;
    if (!fails) return check(w.of[3].told == work_status::succeeded, "all ran");
    for (unsigned i = 1; i < 4; ++i) w.check_failed_after(i, 0);
  });
}

TEST(pool_dependency_model, a_diamond) {
  const auto body = [](execution& e) { diamond(e, false, false); };
  expect_holds(pool_exhaustive("diamond"), body);
  expect_holds(pool_at_random("diamond pct"), body);
}

TEST(pool_dependency_model, a_diamond_that_fails) {
  const auto body = [](execution& e) { diamond(e, true, false); };
  expect_holds(pool_exhaustive("diamond_fails"), body);
  expect_holds(pool_at_random("diamond_fails pct"), body);
}

TEST(pool_dependency_model, a_diamond_that_is_cancelled) {
  const auto body = [](execution& e) { diamond(e, false, true); };
  expect_holds(pool_exhaustive("diamond_cancel", 0), body);
  expect_holds(pool_at_random("diamond_cancel pct"), body);
}

// The waiting job is cancelled while its predecessor ends.
TEST(pool_dependency_model, a_blocked_job_is_cancelled_while_its_predecessor_ends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.submit_one(0);
    w.submit_after(1, {0});
    e.thread("canceller", [&w] { static_cast<void>(w.of[1].handle.cancel()); });
    e.thread("waiter", [&w] {
      for (unsigned i = 0; i < 2; ++i) {
        w.of[i].handle.wait();
        w.of[i].check_end();
      }
    });
    e.finally([&w] {
      check(w.of[1].told == work_status::succeeded || w.of[1].told == work_status::cancelled,
            "one or the other");
    });
  };
  expect_holds(pool_exhaustive("after_cancelled"), body);
  expect_holds(pool_at_random("after_cancelled pct"), body);
}

// A failure claims it beside a cancel: one of them gets it.
TEST(pool_dependency_model, blocked_job_ends_once_when_a_stop_races_with_a_failed_predecessor) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    w.submit_one(0, true);
    w.submit_after(1, {0});
    e.thread("stopper", [&w] { static_cast<void>(w.of[1].handle.stop()); });
    e.thread("waiter", [&w] { w.of[1].handle.wait(); });
    e.finally([&w] {
      w.of[1].check_end();
      check(w.of[1].runs == 0, "it has not run");
    });
  };
  expect_holds(pool_exhaustive("after_stopped"), body);
  expect_holds(pool_at_random("after_stopped pct"), body);
}

// The predecessor's handle is dropped at once. The job that names its id may then get its slot.
TEST(pool_dependency_model, a_predecessor_id_stays_valid_when_its_slot_is_reused) {
  for (const bool fails : {false, true}) {
    const auto body = [fails](execution& e) {
      auto& w = e.make<world>(few_threads(1));
      w.submit_one(0, fails);
      const work_id id = w.of[0].handle.id();
      w.of[0].handle = {};
      e.thread("submitter", [&w, id, fails] {
        work_options how = w.of[1].options();
        how.after = {id};
        w.of[1].handle = w.pool.submit(w.of[1].function(), how);
        w.of[1].handle.wait();
        w.of[1].check_end();
        check(w.of[1].told == (fails ? work_status::failed : work_status::succeeded), "as that one ended");
      });
    };
    expect_holds(pool_exhaustive(fails ? "after_gone_failed" : "after_gone"), body);
  }
}

// Two reserved ids, each submitted after the other: one of the two is refused, and changes nothing.
TEST(pool_dependency_model, one_of_two_submits_that_close_a_cycle_is_refused) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    const std::array ids{w.pool.reserve(), w.pool.reserve()};
    auto& refused = e.make<std::array<bool, 2>>();
    for (unsigned i = 0; i < 2; ++i) {
      e.thread("submitter", [&w, &refused, ids, i] {
        record& r = w.of[i];
        work_options how = r.options();
        how.id = ids[i];
        how.after = {ids[1 - i]};
        try {
          r.handle = w.pool.submit(r.function(), how);
        } catch (const error& why) {
          check(why.code() == errc::cycle && r.runs == 0 && r.ends == 0, "a cycle");
          refused[i] = true;
          how.after.clear();
          r.handle = w.pool.submit(r.function(), how);  // its id is still reserved
        }
        r.handle.wait();
        r.check_end();
      });
    }
    e.finally([&refused] { check(refused[0] != refused[1], "one of the two"); });
  };
  expect_holds(pool_exhaustive("circle"), body);
  expect_holds(pool_at_random("circle pct"), body);
}

// ---- idle -------------------------------------------------------------------------------------------------

/// Whether the pool's events take turns.
class turns final : public observer {
 public:
  void pool_started() override {
    check(!runs_, "started after idle");
    runs_ = true;
    ++started_;
  }
  void pool_idle(const pool_span& span) override {
    check(runs_, "idle after started");
    check(span.started <= span.ended, "in this order");
    runs_ = false;
  }
  void check_end(int least) const { check(!runs_ && started_ >= least, "at the end it is idle"); }

 private:
  bool runs_ = false;
  int started_ = 0;
};

// A job submits another one: until that has ended the pool is not idle.
TEST(pool_dependency_model, wait_idle_returns_after_nested_jobs_have_ended) {
  const auto body = [](execution& e) {
    auto& heard = e.make<turns>();
    auto& w = e.make<world>(few_threads(2));
    auto& told = e.make<std::optional<subscription>>(w.pool.subscribe(heard));
    record& first = w.of[0];
    record& second = w.of[1];
    first.handle = w.pool.submit(
        [&w, &first, &second, with = luggage{}] {
          check(++first.runs == 1, "it runs once");
          second.handle = w.pool.submit(second.function(), second.options());
          first.done.set(7);
          return 7;
        },
        first.options());
    for (int i = 0; i < 2; ++i) {
      e.thread("waiter", [&w] {
        w.pool.wait_idle();
        check(w.of[0].ends == 1 && w.of[1].ends == 1, "both are over");
        check(w.of[0].done.get() == 7 && w.of[1].done.get() == 7, "and what they did is seen");
      });
    }
    e.finally([&heard, &told] {
      told.reset();
      heard.check_end(1);
    });
  };
  expect_holds(pool_exhaustive("idle_nested", 0), body);
  expect_holds(pool_at_random("idle_nested pct"), body);
}

// Two threads submit jobs, and a third waits for idleness in a loop: each wait ends, after all that was
// submitted before it.
TEST(pool_dependency_model, wait_idle_returns_while_other_jobs_are_submitted) {
  const auto body = [](execution& e) {
    auto& heard = e.make<turns>();
    auto& w = e.make<world>(few_threads(1));
    auto& told = e.make<std::optional<subscription>>(w.pool.subscribe(heard));
    for (unsigned p = 0; p < 2; ++p) {
      e.thread("submitter", [&w, p] {
        w.of[p].handle = w.pool.submit(w.of[p].function(), w.of[p].options());
        w.pool.wait_idle();
        check(w.of[p].ends == 1, "what was submitted before is over");
      });
    }
    e.thread("canceller", [&w] { static_cast<void>(w.pool.cancel_all()); });
    e.finally([&heard, &told] {
      told.reset();
      heard.check_end(1);
    });
  };
  expect_holds(pool_exhaustive("idle_comes", 0), body);
  expect_holds(pool_at_random("idle_comes pct"), body);
}

// ---- tasks that wait for rest -----------------------------------------------------------------------------

/// A pool without its public face, and threads that wait as tasks do: in a list, with a waker.
class bare_world {
 public:
  explicit bare_world(pool_options how) : core(new detail::pool_core(std::move(how))) {}
  bare_world(const bare_world&) = delete;
  bare_world& operator=(const bare_world&) = delete;
  ~bare_world() {
    core->shut_down(0s);
    core->let_go();
  }
  void submit(record& r, std::string_view group) {
    const auto function = r.function();
    work_options how = r.options();
    how.group = group;
    const detail::draft place = draw(*core, detail::call_body<std::decay_t<decltype(function)>>::type, &how);
    ::new (place.body) detail::call_body<std::decay_t<decltype(function)>>(r.function());
    core->drop(enter(place, &how));
  }
  void cancel_all() {
    core->memory.for_each([this](detail::work_core& w) { static_cast<void>(core->cancel(w, 0)); });
  }

  detail::pool_core* core;
  std::array<record, 2> of;
};

class task_like {
 public:
  /// Calls `look(node, waker)` until it returns true, and sleeps in between.
  template <class F>
  void wait(F look) {
    for (;;) {
      // acquire: pairs with the waker. Before the check.
      const std::uint32_t seen = rung_.load(base::order::acquire);
      waker mine = callback_waker([this]() noexcept {
        // release. Pairs with wait().
        rung_.fetch_add(1, base::order::release);
        base::futex_wake(&rung_, 1);
      });
      if (look(me_, mine)) return;
      static_cast<void>(base::futex_wait(rung_, seen, base::never));
    }
  }
  [[nodiscard]] detail::rest_waiter& node() noexcept { return me_; }

 private:
  detail::rest_waiter me_;
  base::atomic<std::uint32_t> rung_{0};
};

// Two tasks wait until the pool is idle, each for a job of its own, while a third thread cancels. Each wait
// ends, and not before the job of its thread.
TEST(pool_dependency_model, wait_idle_of_tasks_returns_while_other_jobs_are_submitted) {
  const auto body = [](execution& e) {
    auto& w = e.make<bare_world>(few_threads(1));
    for (unsigned p = 0; p < 2; ++p) {
      auto& task = e.make<task_like>();
      e.thread("task", [&w, &task, p] {
        w.submit(w.of[p], {});
        task.wait([&w](detail::rest_waiter& me, waker& mine) { return w.core->is_at_rest(me, mine); });
        w.core->take_out_of_idle(task.node());
        check(w.of[p].ends == 1, "what was submitted before is over");
      });
    }
    e.thread("canceller", [&w] { w.cancel_all(); });
  };
  expect_holds(pool_exhaustive("idle_tasks", 0), body);
  expect_holds(pool_at_random("idle_tasks pct"), body);
}

// Two tasks wait for a group; one gives up; a member joins. The other's wait ends with the last member.
TEST(pool_dependency_model, a_task_waits_for_a_group_until_its_last_member_has_ended) {
  const auto body = [](execution& e) {
    auto& w = e.make<bare_world>(few_threads(1));
    auto& stays = e.make<task_like>();
    auto& leaves = e.make<task_like>();
    w.submit(w.of[0], "g");
    e.thread("task", [&w, &stays] {
      stays.wait([&w](detail::rest_waiter& me, waker& mine) {
        return w.core->circles.is_at_rest(*w.core->circles.find("g"), me, mine);
      });
      w.core->circles.take_out(stays.node());
      check(w.of[0].ends == 1, "what was in the group before is over");
    });
    e.thread("task that gives up", [&w, &leaves] {
      waker none;
      static_cast<void>(w.core->circles.is_at_rest(*w.core->circles.find("g"), leaves.node(), none));
      w.core->circles.take_out(leaves.node());
      check(leaves.node().place == nullptr, "it is in no list");
    });
    e.thread("submitter", [&w] { w.submit(w.of[1], "g"); });
    e.thread("canceller", [&w] { w.cancel_all(); });
  };
  expect_holds(pool_exhaustive("group_tasks", 0), body);
  expect_holds(pool_at_random("group_tasks pct"), body);
}

}  // namespace
}  // namespace rota::pool
