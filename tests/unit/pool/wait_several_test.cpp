// Waits and fetches of several works, and waits with a limit.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>

#include <array>
#include <memory>

namespace wait_several_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

constexpr work_id unknown{(std::uint64_t{1} << 40U) + 1};

auto now() { return std::chrono::steady_clock::now(); }

// ---- waits with a limit -----------------------------------------------------------------------------------

TEST(wait_several, timed_wait_by_id_returns_whether_the_job_ended) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  const auto w = p.submit([] {});
  EXPECT_FALSE(p.wait_for(w.id(), 0s));
  EXPECT_FALSE(p.wait_for(w.id(), 1us));
  EXPECT_FALSE(p.wait_until(w.id(), now()));
  EXPECT_FALSE(p.wait_for(unknown, 1h)) << "there is none, and nobody waits for it";
  EXPECT_EQ(p.status(unknown), work_status::created);
  busy.let_go();
  EXPECT_TRUE(p.wait_for(w.id(), std::chrono::hours::max()));
  EXPECT_TRUE(p.wait_until(w.id(), std::chrono::steady_clock::time_point::max()));
  EXPECT_TRUE(p.wait_for(w.id(), 0s)) << "it is over, and has a handle";
}

TEST(wait_several, timed_wait_by_list_returns_ids_unknown_or_not_ended) {
  thread_pool p({.max_threads = 2});
  blocker busy(p);
  const auto quick = p.submit([] {});
  const std::array ids{quick.id(), busy.handle().id(), unknown};
  EXPECT_EQ(p.wait_for(ids, 0s).back(), unknown);
  quick.wait();
  EXPECT_EQ(p.wait_for(ids, 1us), (std::vector{ids[1], unknown}));
  EXPECT_EQ(p.wait_until(ids, now()), (std::vector{ids[1], unknown}));
  busy.let_go();
  EXPECT_EQ(p.wait_until(ids, now() + 1h), std::vector{unknown});
  EXPECT_TRUE(p.wait_for(std::vector<work_id>{}, 0s).empty());
}

TEST(wait_several, wait_until_by_group_returns_whether_its_jobs_ended) {
  thread_pool p({.max_threads = 1});
  blocker busy(p, {.group = "g"});
  EXPECT_FALSE(p.wait_until("g", now()));
  busy.let_go();
  EXPECT_TRUE(p.wait_until("g", now() + 1h));
}

TEST(wait_several, timed_wait_any_returns_the_ended_job_or_nothing) {
  thread_pool p({.max_threads = 2});
  blocker first(p);
  blocker second(p);
  const std::array ids{first.handle().id(), second.handle().id()};
  EXPECT_FALSE(p.wait_any_for(ids, 0s));
  EXPECT_FALSE(p.wait_any_for(ids, 1us));
  EXPECT_FALSE(p.wait_any_until(ids, now()));
  second.let_go();
  EXPECT_EQ(p.wait_any_for(ids, 1h), ids[1]);
  EXPECT_EQ(p.wait_any_until(ids, now()), ids[1]) << "it is over: no time is needed";
  EXPECT_THROW(static_cast<void>(p.wait_any_for({}, 1h)), std::invalid_argument);
}

TEST(wait_several, timed_wait_of_a_job_for_itself_is_an_error) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([&] {
    const std::array me{this_work::id()};
    EXPECT_THROW(static_cast<void>(p.wait_for(me[0], 1h)), error);
    EXPECT_THROW(static_cast<void>(p.wait_for(me, 1h)), error);
    EXPECT_THROW(static_cast<void>(p.wait_any_for(me, 1h)), error);
    EXPECT_THROW(static_cast<void>(p.fetch<void>(me)), error);
  });
  EXPECT_TRUE(w.fetch().has_value());
}

// ---- fetches ----------------------------------------------------------------------------------------------

TEST(fetch_several, fetch_by_list_returns_outcomes_in_the_order_of_the_list) {
  thread_pool p({.max_threads = 2});
  std::vector<work_id> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(p.submit([i] { return i; }, {.store_result = true}).id());
  ids.insert(ids.begin() + 3, unknown);
  ids.push_back(ids[0]);
  const auto got = p.fetch<int>(ids);
  ASSERT_EQ(got.size(), ids.size());
  EXPECT_FALSE(got[3].has_value());
  EXPECT_FALSE(got.back().has_value()) << "it has been taken";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i < 3 ? i : i + 1)]->value(), i);
  EXPECT_EQ(p.clear_results(), 0U);
  EXPECT_TRUE(p.fetch<int>(std::vector<work_id>{}).empty());
}

TEST(fetch_several, fetch_by_list_waits_for_jobs_that_have_not_ended) {
  thread_pool p({.max_threads = 2});
  blocker first(p);
  blocker second(p);
  auto throws = p.submit([]() -> std::unique_ptr<int> { throw std::runtime_error("no"); });
  auto taken_back = p.submit([] { return std::make_unique<int>(1); });
  auto returns = p.submit([] { return std::make_unique<int>(7); });
  const std::array ids{throws.id(), taken_back.id(), returns.id()};
  EXPECT_TRUE(taken_back.cancel());
  std::vector<std::optional<outcome<std::unique_ptr<int>>>> got;
  sleeper fetches([&] { got = p.fetch<std::unique_ptr<int>>(ids); });
  fetches.until_asleep();
  first.let_go();
  fetches.join();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[0]->has_exception());
  EXPECT_FALSE(got[1].has_value()) << "over before, and the handle has it";
  EXPECT_EQ(*got[2]->value(), 7);
  EXPECT_THROW(static_cast<void>(returns.fetch()), error);
}

TEST(fetch_several, takes_none_if_one_is_of_another_type) {
  thread_pool p({.max_threads = 1});
  const std::array ids{p.submit([] { return 1; }, {.store_result = true}).id(),
                       p.submit([] { return 2L; }, {.store_result = true}).id()};
  EXPECT_THROW(static_cast<void>(p.fetch<int>(ids)), std::invalid_argument);
  EXPECT_EQ(p.fetch<int>(ids[0])->value(), 1);
  EXPECT_EQ(p.fetch<long>(ids[1])->value(), 2);
}

TEST(fetch_several, fetch_by_group_returns_outcomes_in_submission_order) {
  thread_pool p({.max_threads = 2});
  p.relate("g", "below");
  std::vector<work_id> ids;
  // Slots are reused meanwhile, so ids are in no order.
  for (int i = 0; i < 30; ++i) {
    p.submit([] {}).wait();
    ids.push_back(
        p.submit([i] { return i; }, {.group = i % 2 == 0 ? "g" : "below", .store_result = true}).id());
  }
  static_cast<void>(p.submit([] { return 2L; }, {.group = "g", .store_result = true}));
  static_cast<void>(p.submit([] { return -1; }, {.group = "other", .store_result = true}));
  static_cast<void>(p.submit([] { return -1; }, {.store_result = true}));
  p.wait_idle();
  const blocker busy(p);
  const blocker more(p, {.group = "g"});
  auto last = p.submit([] { return 30; }, {.group = "g"});
  std::vector<std::pair<work_id, outcome<int>>> got;
  sleeper fetches([&] { got = p.fetch<int>("g"); });
  fetches.until_asleep();
  EXPECT_TRUE(got.empty()) << "one is not over; and nobody waits for one of another type";
  EXPECT_TRUE(last.cancel());
  fetches.join();
  ASSERT_EQ(got.size(), 31U);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(got[i].first, ids[i]);
    EXPECT_EQ(got[i].second.value(), static_cast<int>(i));
  }
  EXPECT_TRUE(got[30].second.is_cancelled());
  EXPECT_EQ(p.fetch<long>("g").size(), 1U);
  EXPECT_TRUE(p.fetch<int>("g").empty()) << "once";
  EXPECT_TRUE(p.fetch<int>("nobody").empty());
  EXPECT_EQ(p.clear_results(), 2U);
}

TEST(fetch_several, concurrent_fetches_of_a_group_get_each_outcome_once) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 4; ++i)
      static_cast<void>(p.submit([] { return 1; }, {.group = "g", .store_result = true}));
    std::atomic<int> sum{0};
    const auto fetch = [&] {
      for (auto& [id, end] : p.fetch<int>("g")) sum += end.value();
    };
    std::thread other(fetch);
    fetch();
    other.join();
    ASSERT_EQ(sum, 4);
  }
}

// ---- counts of threads ------------------------------------------------------------------------------------

TEST(thread_counts, counts_of_the_threads_add_up_to_the_totals) {
  std::atomic<unsigned> started{0};
  thread_pool p({.max_threads = 2, .on_thread_start = [&](unsigned index) { started |= 1U << index; }});
  EXPECT_TRUE(p.stats().by_thread.empty());
  {
    const blocker first(p);
    const blocker second(p);
  }
  for (int i = 0; i < 10; ++i) {
    auto fails = p.submit([]() { throw std::runtime_error("no"); });
    fails.wait();
  }
  p.wait_idle();
  const pool_stats s = p.stats();
  ASSERT_EQ(s.by_thread.size(), 2U);
  EXPECT_EQ(started, 3U);
  EXPECT_EQ(s.by_thread[0].index + s.by_thread[1].index, 1U);
  std::uint64_t attempts = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  std::uint64_t stolen = 0;
  for (const thread_stats& each : s.by_thread) {
    EXPECT_TRUE(each.is_there);
    EXPECT_GE(each.attempts, 1U) << "each had a blocker";
    attempts += each.attempts;
    ended += each.ended;
    failed += each.failed;
    stolen += each.stolen;
  }
  EXPECT_EQ(attempts, s.attempts);
  EXPECT_EQ(attempts, 12U);
  EXPECT_EQ(ended, 12U);
  EXPECT_EQ(failed, 10U);
  EXPECT_EQ(stolen, s.stolen);
  static_cast<void>(p.shutdown(1h));
  for (const thread_stats& each : p.stats().by_thread) EXPECT_FALSE(each.is_there);
}

}  // namespace
}  // namespace wait_several_test
