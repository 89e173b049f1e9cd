// The entry of a task that has not suspended, beside the spawning thread, the running one, and a report.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "task/births.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <source_location>

namespace rota::core {
namespace {

using model::exhaustive;
using model::expect_holds;
using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

constexpr std::source_location site_of_first = std::source_location::current();
constexpr std::source_location site_of_second = std::source_location::current();

const void* as_pointer(const std::source_location& site) { return std::bit_cast<const void*>(site); }

/// One entry, which two tasks use in turn.
struct shared {
  void spawn_first() {
    if (!entry.note(1, as_pointer(site_of_first))) check(false, "a new entry is free");
    // release. As the word of a task that is queued.
    queued.store(1, base::order::release);
  }
  void spawn_second() {
    second_is_noted = entry.note(2, as_pointer(site_of_second));
    // release. The same as in spawn_first().
    if (second_is_noted) queued.store(2, base::order::release);
  }
  void run_first() {
    // acquire. As the word of a task that is taken out of a queue.
    if (queued.load(base::order::acquire) == 0) return;
    entry.note_begun();
    entry.clear();
    first_has_ended = true;
  }
  void run_second() {
    // acquire. The same as in run_first().
    if (queued.load(base::order::acquire) != 2) return;
    entry.note_begun();
    second_has_begun = true;
  }
  void report() const {
    const birth::seen here = entry.read();
    if (here.id == 1) check(here.site.line() == site_of_first.line(), "the site of the first task");
    if (here.id == 2) check(here.site.line() == site_of_second.line(), "the site of the second task");
    check(here.id <= 2, "no other task");
  }
  void check_end() const {
    const birth::seen here = entry.read();
    if (second_is_noted) {
      check(first_has_ended && here.id == 2, "the second task has the entry, which the first has left");
      check(here.has_begun == second_has_begun, "it has begun if it was run");
    } else {
      check(here.id == (first_has_ended ? 0 : 1),
            "a task that lives is noted, and one that has ended is not");
    }
  }

  birth entry;
  base::atomic<std::uint32_t> queued{0};  // the task that was spawned last
  bool second_is_noted = false;
  bool first_has_ended = false;
  bool second_has_begun = false;
};

TEST(births_model, a_report_never_takes_the_site_of_one_task_for_that_of_another) {
  const auto body = [](execution& e) {
    auto& s = e.make<shared>();
    e.thread("spawns", [&s] {
      s.spawn_first();
      s.spawn_second();
    });
    e.thread("runs", [&s] {
      s.run_first();
      s.run_second();
    });
    e.thread("reports", [&s] {
      s.report();
      s.report();
    });
    e.finally([&s] { s.check_end(); });
  };
  expect_holds_everywhere("births_report", body, 3);
  testing::options stale = exhaustive("births_stale", 3);
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

}  // namespace
}  // namespace rota::core
