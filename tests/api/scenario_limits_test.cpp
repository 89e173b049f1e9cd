// Limits: what is refused, and how.
//
//   scenario 21   too many references           unit: task_state_aborts.*, waker_count.*
//   scenario 22   too many shields              the_256th_shield_is_refused_and_nothing_has_changed;
//                                               one unshield too many: compile/shield_guard_copy_fails
//   scenario 34   options out of range          every_option_out_of_range_names_itself_and_starts_nothing
//   row 8         300 nested shields            the_256th_shield_is_refused_and_nothing_has_changed
//   row 15        128 workers on few processors counters_stay_exact_with_128_workers
#include "api/scenario_support.hpp"

#include <rota/cancel.hpp>

#include <limits>
#include <stdexcept>
#include <vector>

namespace rota::test {
namespace {

static_assert(!std::is_copy_constructible_v<shield_guard> && !std::is_copy_assignable_v<shield_guard>);

TEST(scenario_limits, the_256th_shield_is_refused_and_nothing_has_changed) {
  runtime rt(with_workers(1));
  event e;
  struct body {
    static task<int> nests(event& held_off) {
      std::vector<shield_guard> guards;
      guards.reserve(300);
      int refused = 0;
      for (int i = 0; i < 300; ++i) {
        try {
          guards.push_back(shield(1h));
        } catch (const shield_overflow& full) {
          EXPECT_EQ(code_of(full), errc::shield_overflow);
          ++refused;
        }
      }
      EXPECT_EQ(guards.size(), 255U);
      co_await held_off();  // cancelled meanwhile: all 255 still count
      // Lowered in any order; moved from, they are not lowered twice.
      while (guards.size() > 1) {
        const shield_guard taken = std::move(guards[guards.size() / 2]);
        guards[guards.size() / 2] = std::move(guards.back());
        guards.pop_back();
      }
      EXPECT_TRUE(this_task::cancel_requested());
      co_await yield();  // the last one still holds it off
      co_return refused;
    }
  };
  auto h = rt.spawn(body::nests(e));
  // It is in the list of tasks a moment after its event is awaited.
  wait_until([&rt] { return rt.dump().find("255 shields") != std::string::npos; });
  EXPECT_TRUE(h.cancel());
  e.fire();
  EXPECT_EQ(h.join(), 45);
  EXPECT_EQ(rt.stats().total_completed, 1U);
}

TEST(scenario_limits, when_all_shields_have_gone_the_cancellation_comes) {
  runtime rt(with_workers(1));
  event e;
  std::atomic<int> ended = 0;
  struct body {
    static task<> nests(event& held_off, witness /*mine*/) {
      {
        std::vector<shield_guard> guards;
        for (int i = 0; i < 255; ++i) guards.push_back(shield(1h));
        co_await held_off();
      }
      co_await sleep_for(1h);
      ADD_FAILURE() << "it was cancelled";
    }
  };
  auto h = rt.spawn(body::nests(e, witness(ended)));
  wait_until([&e] { return e.is_awaited(); });
  EXPECT_TRUE(h.cancel());
  e.fire();
  EXPECT_THROW(h.join(), cancelled_error);
  EXPECT_EQ(ended, 1);
}

void expect_refused(const runtime_options& o, const std::string& field, const std::string& range) {
  const std::size_t threads = threads_of_process();
  const std::size_t files = open_files();
  try {
    const runtime rt(o);
    ADD_FAILURE() << field << " was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(field + " must be " + range), std::string::npos) << e.what();
  }
  EXPECT_LE(threads_of_process(), threads);  // one of a test before may still have been ending
  EXPECT_EQ(open_files(), files);
}

TEST(scenario_limits, every_option_out_of_range_names_itself_and_starts_nothing) {
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  const auto with = [](auto change) {
    runtime_options o;
    change(o);
    return o;
  };
  for (const unsigned n : {4097U, 1'000'000U, most})
    expect_refused(with([n](auto& o) { o.workers = n; }), "workers", "0 (automatic) or 1..4096");
  expect_refused(
      with([](auto& o) { o.backend = static_cast<io_backend>(3); }), "backend", "automatic, epoll or uring");
  for (const auto d : {-1ns, std::chrono::nanoseconds::min()}) {
    expect_refused(with([d](auto& o) { o.watchdog = d; }), "watchdog", "0 (never) or more");
    expect_refused(with([d](auto& o) { o.shutdown_grace = d; }), "shutdown_grace", "0 or more");
    expect_refused(with([d](auto& o) { o.blocking.keep_alive = d; }), "blocking.keep_alive", "0 or more");
  }
  for (const unsigned n : {0U, 65'537U, most})
    expect_refused(with([n](auto& o) { o.blocking.max_threads = n; }), "blocking.max_threads", "1..65536");
  for (const unsigned n : {9U, most}) {
    expect_refused(with([n](auto& o) {
                     o.blocking.max_threads = 8;
                     o.blocking.min_threads = n;
                   }),
                   "blocking.min_threads",
                   "0..max_threads");
  }
}

TEST(scenario_limits, the_ends_of_every_range_are_accepted) {
  runtime_options o = with_workers(4096);
  o.blocking.max_threads = 65'536;
  o.blocking.keep_alive = std::chrono::nanoseconds::max();
  o.watchdog = std::chrono::nanoseconds::max();
  if (sanitized) o.workers = 256;  // four thousand stacks of a sanitizer are more than some machines have
  try {
    runtime rt(o);
    EXPECT_EQ(rt.stats().num_workers, o.workers);
    EXPECT_EQ(rt.spawn(number(1)).join(), 1);
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::resource_unavailable_try_again) << "the machine may have fewer threads";
  }
}

TEST(scenario_limits, counters_stay_exact_with_128_workers) {
  runtime rt(with_workers(128));
  struct body {
    static task<int> turns(int n) {
      for (int i = 0; i < 10; ++i) co_await yield();
      co_return n;
    }
  };
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(rt.spawn(body::turns(i)));
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
  // A poll is counted after it has ended, so after its joiner was woken.
  wait_until([&rt] { return rt.stats().total_polled >= 11'000; });
  const runtime_stats s = rt.stats();
  EXPECT_EQ(s.num_workers, 128U);
  EXPECT_EQ(s.workers.size(), 128U);
  EXPECT_EQ(s.total_spawned, 1'000U);
  EXPECT_EQ(s.total_completed, 1'000U);
  EXPECT_EQ(s.total_cancelled, 0U);
  EXPECT_EQ(s.total_polled, 11'000U);
  EXPECT_EQ(s.alive_tasks, 0U);
}

}  // namespace
}  // namespace rota::test
