// A job can be found before its submit() has returned: a waiter for a refused one goes on, a stopped one
// never begins, and no circle is closed beside it.
#include "model/pool_world.hpp"

#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace rota::pool {
namespace {

using model::few_threads;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::record;
using testing::check;
using testing::execution;

struct world {
  explicit world(pool_options how) : pool(std::move(how)) {}
  std::array<record, 3> of;
  model::signal go;
  thread_pool pool;
};

/// All interleavings with two preemptions: none of these works needs a thread that runs it.
template <class Body>
void expect_holds(std::string_view name, const Body& body) {
  model::expect_holds(pool_exhaustive(name, 2), body);
  const std::string random = std::string(name) + " pct";
  model::expect_holds(pool_at_random(random), body);
}

constexpr work_id never_given_out{std::uint64_t{1} << 60U};

/// Finds no predecessor of such an id, when it has a name and a group.
void submit_in_vain(world& w) {
  record& r = w.of[0];
  work_options how = r.options();
  how.name = "x";
  how.group = "g";
  how.after = {never_given_out};
  try {
    r.handle = w.pool.submit(r.function(), how);
    check(false, "it is refused");
  } catch (const std::invalid_argument&) {
    check(r.runs == 0 && r.ends == 0, "and nothing has happened");
  }
}

TEST(pool_submit_model, a_wait_for_a_refused_job_ends) {
  expect_holds("refused_wait", [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("submitter", [&w] { submit_in_vain(w); });
    e.thread("by name", [&w] {
      if (const work_id found = w.pool.find("x")) static_cast<void>(w.pool.wait(found));
    });
    e.thread("by group", [&w] { w.pool.wait("g"); });
  });
}

TEST(pool_submit_model, a_wait_any_for_a_refused_job_ends) {
  expect_holds("refused_any", [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("submitter", [&w] { submit_in_vain(w); });
    e.thread("finder", [&w] {
      for (const work_id found : w.pool.members("g")) {
        static_cast<void>(w.pool.pause(found));
        check(w.pool.wait_any(std::array{found}) == found, "it is over");
        static_cast<void>(w.pool.resume(found));
      }
    });
  });
}

TEST(pool_submit_model, the_successor_of_a_refused_job_fails) {
  expect_holds("refused_after", [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("submitter", [&w] { submit_in_vain(w); });
    e.thread("finder", [&w] {
      const work_id found = w.pool.find("x");
      if (!found) return;
      record& r = w.of[1];
      work_options how = r.options();
      how.after = {found};
      r.handle = w.pool.submit(r.function(), how);
      r.handle.wait();
      r.check_end();
      check(r.told == work_status::failed && r.runs == 0, "it has failed, and has not run");
    });
  });
}

// The job ignores the stop, and ends only after it was given up or cancelled.
TEST(pool_submit_model, a_job_is_force_stopped_while_it_is_submitted) {
  expect_holds("forced_early", [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    e.thread("submitter", [&w, &r] {
      r.handle = w.pool.submit(
          [&w, &r, with = luggage{}] {
            ++r.runs;
            w.go.wait();
            r.done.set(7);
            return 7;
          },
          r.options());
      r.handle.wait();
      r.check_end(r.told);
      w.go.raise();
    });
    e.thread("stopper", [&w] {
      if (w.pool.force_stop_all() == 0) w.go.raise();
    });
  });
}

/// "y" comes after `first`. The thread that finds "y" by name makes the reserved one come after it. The pool
/// does not start: a job that waits for nothing is suspended.
void close_a_circle(world& w, execution& e, work_id reserved, work_id first) {
  const auto submit = [&w](unsigned which, const work_options& how) {
    record& r = w.of[which];
    try {
      r.handle = w.pool.submit(r.function(), how);
    } catch (const error& why) {
      check(why.code() == errc::cycle && r.runs == 0 && r.ends == 0, "a circle");
    }
  };
  e.thread("by name", [&w, submit, first] {
    work_options how = w.of[0].options();
    how.name = "y";
    how.after = {first};
    submit(0, how);
  });
  e.thread("by id", [&w, submit, reserved] {
    work_options how = w.of[1].options();
    how.id = reserved;
    if (const work_id found = w.pool.find("y")) how.after = {found};
    submit(1, how);
  });
  e.finally([&w] {
    const auto is_blocked = [](record& each) { return each.handle.status() == work_status::blocked; };
    check(!is_blocked(w.of[0]) || !is_blocked(w.of[1]), "they do not wait for each other");
    check(w.of[0].handle.valid() || w.of[1].handle.valid(), "only one is refused");
    for (record& each : w.of) static_cast<void>(each.handle.cancel());
  });
}

pool_options not_started() {
  pool_options how = few_threads(1);
  how.start = start_mode::suspended;
  return how;
}

TEST(pool_submit_model, no_cycle_of_two_jobs_forms_during_a_submit) {
  expect_holds("circle_by_name", [](execution& e) {
    auto& w = e.make<world>(not_started());
    const work_id reserved = w.pool.reserve();
    close_a_circle(w, e, reserved, reserved);
  });
}

// One more lies between the two.
TEST(pool_submit_model, no_cycle_of_three_jobs_forms_during_a_submit) {
  expect_holds("circle_of_three", [](execution& e) {
    auto& w = e.make<world>(not_started());
    const work_id reserved = w.pool.reserve();
    record& r = w.of[2];
    work_options how = r.options();
    how.after = {reserved};
    r.handle = w.pool.submit(r.function(), how);
    close_a_circle(w, e, reserved, r.handle.id());
  });
}

}  // namespace
}  // namespace rota::pool
