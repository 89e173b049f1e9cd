// The matrix of causes (docs/cancel-safety.md): each boundary of a cause around each way to wait, with a
// limit between the two, in block_on and spawned, with 1, 2 and 4 workers. The oracle is the table
// `boundaries`; it does not use the library. A program of the matrix gives its ways to wait and their world.
//
// ROTA_CAUSE_ROUNDS=N     how often each combination runs (1)
// ROTA_CAUSE_WAY=TEXT     only ways with TEXT in their name
#pragma once

#include "api/scenario_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/stop_token.hpp>
#include <rota/time.hpp>
#include <rota/time_limit.hpp>
#include <rota/when.hpp>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace rota::test {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Outlives every run; each program defines its own.
struct world;

/// One run of one combination.
struct run_of_one {
  world& around;
  std::chrono::microseconds pause;      // until the cause comes
  std::atomic<int> went_on{0};          // tasks that ran a line after they had seen the end of another one
  std::atomic<int> reports_between{0};  // of the limit in between
};

// ---- what ways to wait are made of: each waits for something that ends only with the cause

inline task<int> hour() {
  co_await sleep_for(1h);
  co_return 1;
}
template <class Kept>
task<int> keeps(Kept what) {
  const auto kept = std::move(what);
  co_return co_await hour();
}

/// Counts `work` if it ends in a way that a task could see.
inline task<int> watched(run_of_one& r, task<int> work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (...) {
    ++r.went_on;
    throw;
  }
  ++r.went_on;
  co_return 0;
}

/// What a way leaves after a shutdown without a grace, which reports running closures as survivors.
enum class leaves : unsigned char {
  nothing,
  a_closure,              // which cannot be stopped. No task waits for it
  a_task_with_a_closure,  // which ends when its closure has returned
};

struct way {
  const char* name;
  task<int> (*wait)(run_of_one& r);
  leaves after_shutdown = leaves::nothing;
};
// ---- a limit between the boundary and the wait

enum class limit : unsigned char { none, longer, equal, shorter, zero };
inline constexpr limit limits[] = {limit::none, limit::longer, limit::equal, limit::shorter, limit::zero};

/// `at`: the time at which the deadline passes; for another cause, about the time at which it comes.
inline task<int> limited(run_of_one& r, const way& w, limit l, clock::time_point at) {
  auto work = watched(r, w.wait(r));
  switch (l) {
    case limit::none: co_return co_await std::move(work);
    case limit::longer: static_cast<void>(co_await timeout(1h, std::move(work))); break;
    case limit::equal: static_cast<void>(co_await with_deadline(at, std::move(work))); break;
    case limit::shorter: static_cast<void>(co_await timeout(r.pause / 2, std::move(work))); break;
    case limit::zero: static_cast<void>(co_await timeout(0ns, std::move(work))); break;
  }
  ++r.reports_between;
  co_return co_await hour();
}

// ---- boundaries: each makes its cause happen around `work`, and says whether it reported that

struct setting {
  run_of_one& r;
  const way& w;
  limit l;

  [[nodiscard]] task<int> work(clock::time_point at) const { return limited(r, w, l, at); }
  [[nodiscard]] task<int> work() const { return work(clock::now() + r.pause); }
};

inline task<bool> by_timeout(setting s) {
  const auto end = co_await timeout(s.r.pause, s.work());
  co_return !end.has_value();
}
inline task<bool> by_deadline(setting s) {
  const auto at = clock::now() + s.r.pause;
  const auto end = co_await with_deadline(at, s.work(at));
  co_return !end.has_value();
}
inline task<bool> by_time_limit(setting s) {
  const auto end = co_await timeout(time_limit(s.r.pause), s.work());
  co_return !end.has_value();
}
inline task<bool> by_time_limit_at(setting s) {
  const auto at = clock::now() + s.r.pause;
  const auto end = co_await timeout(time_limit::at(at), s.work(at));
  co_return !end.has_value();
}
/// Another task moves it: later, which changes nothing in the end, and to the past.
inline task<bool> by_time_limit_that_moves(setting s) {
  const time_limit limit(s.r.pause / 2);
  const auto moves = [](time_limit of, std::chrono::microseconds after) -> task<> {
    of.reset(1h);
    co_await sleep_for(after);
    of.reset(0s);
  };
  auto mover = spawn(moves(limit, s.r.pause));
  const auto end = co_await timeout(limit, s.work());
  co_await mover;
  co_return !end.has_value();
}
inline task<bool> by_scope(setting s) {
  const auto body = [s](scope& children) -> task<> {
    children.fork(s.work());
    children.fork(s.work());
    co_await sleep_for(s.r.pause);
    children.cancel();
  };
  co_await with_scope(body);
  co_return true;
}
inline task<bool> by_failed_child(setting s) {
  const auto body = [s](scope& children) -> task<> {
    children.fork(s.work());
    co_await sleep_for(s.r.pause);
    throw 7;
  };
  try {
    co_await with_scope(body);
  } catch (int) {
    co_return true;
  }
  co_return false;
}
inline task<bool> by_handle(setting s) {
  auto work = spawn(s.work());
  co_await sleep_for(s.r.pause);
  work.cancel();
  const auto end = co_await work.result();
  co_return end.is_cancelled() && end.reason() == cancel_reason::user;
}
inline task<int> wins(std::chrono::microseconds after) {
  co_await sleep_for(after);
  co_return 7;
}
inline task<bool> by_winner(setting s) {
  const auto first = co_await when_any(s.work(), wins(s.r.pause));
  co_return first.index() == 1;
}
inline task<int> fails(std::chrono::microseconds after) {
  co_await sleep_for(after);
  throw 7;
}
inline task<bool> by_failed_sibling(setting s) {
  try {
    static_cast<void>(co_await when_all(s.work(), s.work(), fails(s.r.pause)));
  } catch (int) {
    co_return true;
  }
  co_return false;
}
inline task<bool> by_join_set(setting s) {
  join_set<int> works;
  works.spawn(s.work());
  works.spawn(s.work());
  co_await sleep_for(s.r.pause);
  co_await works.close();
  co_return true;
}
inline task<bool> by_async_scope(setting s) {
  async_scope works;
  works.fork(s.work());
  works.fork(s.work());
  co_await sleep_for(s.r.pause);
  works.cancel();
  co_await works.close();
  co_return true;
}
inline task<int> linked(setting s, std::stop_token token) {
  const auto here = link(std::move(token));
  co_return co_await s.work();
}
inline task<bool> by_stop_token(setting s) {
  std::stop_source source;
  auto work = spawn(linked(s, source.get_token()));
  co_await sleep_for(s.r.pause);
  source.request_stop();
  const auto end = co_await work.result();
  co_return end.is_cancelled();
}
inline task<int> shielded(setting s) {
  const auto guard = shield(s.r.pause);
  co_return co_await s.work();
}
inline task<bool> by_limit_of_a_shield(setting s) {
  const auto end = co_await timeout(s.r.pause / 2, shielded(s));
  co_return !end.has_value();
}
inline task<bool> by_finally(setting s) {
  bool cleaned = false;
  const auto clean_up = [&cleaned](const outcome<int>& end) -> task<> {
    co_await yield();
    cleaned = end.is_cancelled();
  };
  const auto end = co_await timeout(s.r.pause, finally(s.work(), clean_up, 1h));
  co_return !end.has_value() && cleaned;
}

struct boundary {
  const char* name;
  const char* row;     // its first cell in the table of docs/cancel-safety.md
  const char* report;  // the second one, there
  task<bool> (*around)(setting s);
  bool is_deadline;  // and `equal` means the same time
};
inline constexpr boundary boundaries[] = {
    {"timeout", "`timeout`, `with_deadline`", "`timed_out`", by_timeout, false},
    {"with_deadline", "`timeout`, `with_deadline`", "`timed_out`", by_deadline, true},
    {"time_limit", "`timeout` of a `time_limit`", "`timed_out`", by_time_limit, false},
    {"time_limit::at", "`timeout` of a `time_limit`", "`timed_out`", by_time_limit_at, true},
    {"time_limit, moved", "`timeout` of a `time_limit`", "`timed_out`", by_time_limit_that_moves, false},
    {"scope::cancel()",
     "`scope::cancel()`",
     "`with_scope` returns. Its own body goes on; where that awaits a child, rule 2 holds",
     by_scope,
     false},
    {"a scope whose body throws",
     "a scope whose body throws",
     "`with_scope` throws what the body has thrown",
     by_failed_child,
     false},
    {"join_handle::cancel()",
     "`join_handle::cancel()`",
     "`result()`: cancelled, reason `user`",
     by_handle,
     false},
    {"when_any, and another one wins",
     "`when_any`, and another one wins",
     "the value of the winner",
     by_winner,
     false},
    {"when_all, and another one fails",
     "`when_all`, and another one fails",
     "`when_all` throws what the other one has thrown",
     by_failed_sibling,
     false},
    {"join_set::close()", "`join_set::close()`", "`close()` returns", by_join_set, false},
    {"async_scope::cancel()", "`async_scope::cancel()`", "`close()` returns", by_async_scope, false},
    {"link(stop_token)", "`link(stop_token)`", "`result()`: cancelled", by_stop_token, false},
    {"timeout, behind a shield whose limit passes",
     "`timeout` around a shield whose limit passes",
     "`timed_out`, when the limit of the shield has passed",
     by_limit_of_a_shield,
     false},
    {"finally, in a timeout",
     "`timeout` around a `finally`",
     "the clean-up sees `cancelled`; then `timed_out`",
     by_finally,
     false},
};

inline const int rounds = [] {
  const char* const said = std::getenv("ROTA_CAUSE_ROUNDS");
  return said == nullptr ? 1 : std::atoi(said);
}();

/// Between 50 and 350 us, so that the cause comes before, while and after the task begins to wait.
inline std::chrono::microseconds draw() {
  static std::atomic<unsigned> state{1};
  return std::chrono::microseconds(50 + (state += 7919) % 300);
}

inline void expect_one_report(
    const boundary& of, runtime& rt, world& around, const way& w, limit l, bool in_block_on) {
  run_of_one r{.around = around, .pause = draw()};
  const setting s{r, w, l};
  try {
    const bool reported = in_block_on ? rt.block_on(of.around(s)) : rt.spawn(of.around(s)).join();
    EXPECT_TRUE(reported) << of.name << " does not say: " << of.report;
  } catch (const std::exception& e) {
    ADD_FAILURE() << of.name << " throws, and does not say " << of.report << ": " << e.what();
  }
  EXPECT_EQ(r.went_on, 0) << "tasks that the cause has reached ran on";
  const bool may_report_between =
      l == limit::shorter || l == limit::zero || (l == limit::equal && !of.is_deadline);
  const int false_reports = may_report_between ? 0 : r.reports_between.load();
  EXPECT_EQ(false_reports, 0) << "a limit that is no cause has reported";
}

// A shutdown is the boundary of every task of its runtime.
inline void expect_shutdown_reported(
    world& around, const way& w, limit l, unsigned workers, bool with_grace) {
  run_of_one r{.around = around, .pause = draw()};
  runtime rt(with_workers(workers));
  auto work = rt.spawn(setting{r, w, l}.work());
  std::this_thread::sleep_for(r.pause);
  const auto grace = with_grace ? std::chrono::nanoseconds(1h) : std::chrono::nanoseconds(0);
  const shutdown_report report = rt.shutdown(grace);
  const leaves may_be_left = with_grace ? leaves::nothing : w.after_shutdown;
  EXPECT_TRUE(may_be_left != leaves::nothing || report.survivors.empty());
  if (may_be_left == leaves::a_task_with_a_closure && !report.survivors.empty()) return;
  const auto end = work.wait_for(0ns);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled() && end->reason() == cancel_reason::shutdown);
  EXPECT_EQ(r.went_on, 0);
}

inline bool is_chosen(const way& w) {
  const char* const said = std::getenv("ROTA_CAUSE_WAY");
  return said == nullptr || std::string_view(w.name).find(said) != std::string_view::npos;
}

/// Calls `run(w, l, i)` for each way and each limit, as often as asked; ends at the first failure.
template <class Run>
void for_each_way(std::span<const way> ways, unsigned workers, Run run) {
  for (const way& w : ways) {
    if (!is_chosen(w)) continue;
    for (const limit l : limits) {
      for (int i = 0; i < 2 * rounds; ++i) {
        SCOPED_TRACE(::testing::Message() << w.name << ", limit " << static_cast<int>(l) << ", " << workers
                                          << " workers, " << (i % 2 == 0 ? "even" : "odd") << " round");
        run(w, l, i);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

inline void expect_one_cause_one_report(const boundary& of, world& around, std::span<const way> ways) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    runtime rt(with_workers(workers));
    for_each_way(ways, workers, [&](const way& w, limit l, int i) {
      expect_one_report(of, rt, around, w, l, i % 2 == 0);
    });
  }
}

inline void expect_one_report_of_a_shutdown(world& around, std::span<const way> ways) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    for_each_way(ways, workers, [&](const way& w, limit l, int i) {
      expect_shutdown_reported(around, w, l, workers, i % 2 == 1);
    });
  }
}

// ---- what docs/cancel-safety.md says of the matrix

inline std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Returns the first two columns of the table with first cell `head`.
inline std::map<std::string, std::string> table_of_document(const std::string& head) {
  std::ifstream file(ROTA_TEST_SOURCE_DIR "/docs/cancel-safety.md");
  std::map<std::string, std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| ")) {
      inside = inside && line.starts_with("|-");
      continue;
    }
    std::istringstream cells(line.substr(1));
    std::string first;
    std::string second;
    std::getline(cells, first, '|');
    std::getline(cells, second, '|');
    if (inside) rows[trimmed(first)] = trimmed(second);
    inside = inside || trimmed(first) == head;
  }
  return rows;
}

inline void expect_ways_in_the_document(const std::string& program, std::span<const way> ways) {
  std::string all;
  for (const way& w : ways) all += (all.empty() ? "" : " \u00b7 ") + std::string(w.name);
  const auto rows = table_of_document("program");
  const auto row = rows.find("`" + program + "`");
  ASSERT_NE(row, rows.end()) << program << " has no row";
  EXPECT_EQ(row->second, all);
}

inline std::string name_of(const ::testing::TestParamInfo<boundary>& one) {
  std::string name = one.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
class cause_matrix : public ::testing::TestWithParam<boundary> {};

}  // namespace rota::test
