// The list of works that have failed.
#include "unit/pool/pool_support.hpp"

#include <memory>
#include <string>

namespace failed_works_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

/// Options of a pool that writes no line to standard error for results that are never fetched.
pool_options quiet() {
  pool_options o{.max_threads = 1};
  o.on_unhandled = unhandled_policy::callback([](const unhandled_exception&) noexcept {});
  return o;
}

std::vector<work_id> ids_of(const thread_pool& p) {
  std::vector<work_id> found;
  for (const failed_work& each : p.failed_works()) found.push_back(each.id);
  return found;
}

TEST(failed_works, are_listed_with_name_group_and_error_the_oldest_first) {
  thread_pool p(quiet());
  const auto plain = p.submit([] { fail("disk full"); });
  const auto named = p.submit([] { throw 3; }, {.name = "import", .group = "g"});
  const auto well = p.submit([] {});
  plain.wait();
  named.wait();
  well.wait();
  const std::vector<failed_work> all = p.failed_works();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, plain.id());
  EXPECT_EQ(all[0].root, plain.id());
  EXPECT_EQ(all[0].name + all[0].group, "");
  EXPECT_EQ(all[0].error, "disk full");
  EXPECT_EQ(all[1].id, named.id());
  EXPECT_EQ(all[1].name, "import");
  EXPECT_EQ(all[1].group, "g");
  EXPECT_EQ(all[1].error, "an exception that is no std::exception");
}

TEST(failed_works, are_there_before_a_wait_ends_and_after_the_outcome_was_fetched) {
  thread_pool p(quiet());
  for (int round = 1; round <= 50; ++round) {
    auto w = p.submit([] { fail("no"); });
    static_cast<void>(w.fetch());
    ASSERT_EQ(p.failed_works().size(), static_cast<std::size_t>(round));
  }
}

TEST(failed_works, have_the_root_of_a_failure_that_they_share) {
  thread_pool p(quiet());
  gate open;
  const auto first = p.submit([&] {
    open.pass();
    fail("first");
  });
  const auto second = p.submit([] {}, {.after = {first.id()}});
  const auto third = p.submit([] {}, {.after = {second.id()}});
  open.open();
  third.wait();
  const std::vector<failed_work> all = p.failed_works();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].id, third.id());
  EXPECT_EQ(all[2].root, first.id());
  EXPECT_NE(all[2].error.find("first"), std::string::npos);
}

TEST(failed_works, exclude_cancelled_stopped_and_retried_jobs) {
  thread_pool p(quiet());
  {
    const blocker busy(p);
    const auto taken_back = p.submit([] {});
    EXPECT_TRUE(p.cancel(taken_back.id()));
  }
  int tries = 0;
  const auto again = p.submit(
      [&tries] {
        if (++tries < 3) fail("not yet");
      },
      {.retry = {.limit = 5}});
  again.wait();
  const auto stopped = p.submit([] { this_work::sleep_for(1h); });
  until(stopped, work_status::running);
  EXPECT_TRUE(p.stop(stopped.id()));
  stopped.wait();
  EXPECT_EQ(tries, 3);
  EXPECT_TRUE(p.failed_works().empty());
  EXPECT_EQ(p.stats().failed, 0U);
}

TEST(failed_works, are_cleared_one_by_one_and_all_at_once) {
  thread_pool p(quiet());
  const auto a = p.submit([] { fail("a"); });
  const auto b = p.submit([] { fail("b"); });
  const auto c = p.submit([] { fail("c"); });
  p.wait_idle();
  EXPECT_TRUE(p.clear_failed_work(b.id()));
  EXPECT_FALSE(p.clear_failed_work(b.id()));
  EXPECT_EQ(ids_of(p), (std::vector{a.id(), c.id()}));
  EXPECT_EQ(p.clear_failed_works(), 2U);
  EXPECT_EQ(p.clear_failed_works(), 0U);
  EXPECT_EQ(p.stats().failed, 3U) << "a total";
  const auto after = p.submit([] {}, {.after = {a.id()}});
  after.wait();
  EXPECT_EQ(after.status(), work_status::failed) << "what `after` needs is kept apart";
}

TEST(failed_works, keep_only_the_last_ones_and_truncate_their_texts) {
  thread_pool p(quiet());
  constexpr std::size_t more = failed_work::most_kept + 10;
  std::vector<work_id> all;
  for (std::size_t i = 0; i < more; ++i) {
    all.push_back(
        p.submit([] { fail(std::string(5000, 'e')); },
                 {.name = std::string(1000, 'n') + std::to_string(i), .group = std::string(1000, 'g')})
            .id());
  }
  p.wait_idle();
  EXPECT_EQ(ids_of(p), std::vector<work_id>(all.begin() + 10, all.end()));
  for (const failed_work& each : p.failed_works()) {
    EXPECT_EQ(each.error, std::string(failed_work::longest_text, 'e'));
    EXPECT_EQ(each.name, std::string(failed_work::longest_text, 'n'));
    EXPECT_EQ(each.group, std::string(failed_work::longest_text, 'g'));
  }
}

}  // namespace
}  // namespace failed_works_test
