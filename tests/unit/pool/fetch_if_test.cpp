// Stored results that are fetched by a predicate.
#include <rota/pool/fetch_if.hpp>

#include "unit/pool/pool_support.hpp"

namespace fetch_if_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

class fetch_if_test : public ::testing::Test {
 protected:
  fetch_if_test() {
    for (int i = 0; i < 6; ++i) {
      ids_.push_back(
          p_.submit([i] { return i; }, {.group = i < 3 ? "low" : "high", .store_result = true}).id());
    }
    p_.wait_idle();
  }
  thread_pool p_{pool_options{.max_threads = 1}};
  std::vector<work_id> ids_;
};

TEST_F(fetch_if_test, takes_those_that_are_wanted_and_leaves_the_others) {
  const auto even = pool::fetch_if<int>(p_, [](const work_end& end) { return *end.value<int>() % 2 == 0; });
  ASSERT_EQ(even.size(), 3U);
  for (const auto& [id, end] : even) EXPECT_EQ(id, ids_[static_cast<std::size_t>(end.value())]);
  for (std::size_t i = 0; i < ids_.size(); ++i) EXPECT_EQ(p_.fetch<int>(ids_[i]).has_value(), i % 2 == 1);
  EXPECT_EQ(p_.clear_results(), 0U);
}

TEST_F(fetch_if_test, passes_status_group_and_id_to_the_predicate) {
  const auto high = pool::fetch_if<int>(p_, [&](const work_end& end) {
    EXPECT_EQ(end.status, work_status::succeeded);
    return end.group == "high" && end.id != ids_[5];
  });
  ASSERT_EQ(high.size(), 2U);
  EXPECT_EQ(high[0].second.value() + high[1].second.value(), 3 + 4);
}

TEST_F(fetch_if_test, skips_other_result_types_and_unfinished_jobs) {
  gate open;
  const auto text = p_.submit([] { return std::string("text"); }, {.store_result = true}).id();
  const auto bad = p_.submit([]() -> int { throw std::logic_error("a work"); }, {.store_result = true}).id();
  p_.wait_idle();
  const auto later = p_.submit(
      [&] {
        open.pass();
        return 7;
      },
      {.store_result = true});
  const auto gone = p_.submit([] { return 8; }, {.store_result = true});
  gone.cancel();
  std::vector<work_status> seen;
  const auto all = pool::fetch_if<int>(p_, [&](const work_end& end) {
    seen.push_back(end.status);
    return end.status != work_status::succeeded;
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), work_status::succeeded), 6);
  ASSERT_EQ(all.size(), 2U);
  for (const auto& [id, end] : all) {
    EXPECT_EQ(end.has_exception(), id == bad);
    EXPECT_EQ(end.is_cancelled(), id == gone.id());
  }
  EXPECT_EQ(p_.fetch<std::string>(text)->value(), "text");
  open.open();
  EXPECT_EQ(p_.fetch<int>(later.id())->value(), 7);
}

TEST_F(fetch_if_test, leaves_all_results_if_the_predicate_throws) {
  int looked = 0;
  const auto choice = [&](const work_end& /*end*/) {
    if (++looked == 4) throw std::runtime_error("a choice");
    return looked != 2;
  };
  EXPECT_THROW(static_cast<void>(pool::fetch_if<int>(p_, choice)), std::runtime_error);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(p_.fetch<int>(ids_[static_cast<std::size_t>(i)])->value(), i);
}

TEST_F(fetch_if_test, reserves_a_result_while_the_predicate_checks_it) {
  auto kept = p_.submit([] { return 9; }, {.store_result = true});
  kept.wait();
  int refused = 0;
  const auto none = pool::fetch_if<int>(p_, [&](const work_end& end) {
    if (end.id != kept.id()) return false;
    EXPECT_FALSE(p_.fetch<int>(ids_[0]).value().is_cancelled()) << "one that it has passed is free";
    EXPECT_FALSE(p_.fetch<int>(kept.id()).has_value());
    try {
      static_cast<void>(kept.fetch());
    } catch (const error& e) {
      refused += e.code() == errc::already_joined ? 1 : 0;
    }
    return false;
  });
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(p_.fetch<int>(kept.id())->value(), 9) << "it was not chosen, and the pool still keeps it";
}

TEST(fetch_if_race, each_is_fetched_once) {
  for (int round = 0; round < 200; ++round) {
    thread_pool p({.max_threads = 1});
    for (int i = 0; i < 20; ++i) p.submit([i] { return i; }, {.store_result = true});
    std::atomic<int> sum{0};
    std::atomic<int> count{0};
    const auto take = [&] {
      for (const auto& [id, end] : pool::fetch_if<int>(p, [](const work_end&) { return true; })) {
        sum += end.value();
        ++count;
      }
    };
    std::thread other([&] {
      while (count < 10) take();
    });
    until([&] {
      take();
      return count >= 20;
    });
    other.join();
    EXPECT_EQ(count, 20);
    EXPECT_EQ(sum, 190);
  }
}

}  // namespace
}  // namespace fetch_if_test
