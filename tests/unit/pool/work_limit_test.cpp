// The limit of works that a pool can have at once: a submit() beyond it throws and changes nothing.
#include "unit/pool/pool_support.hpp"

#include "pool/absence.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

#include <array>
#include <memory>
#include <string_view>

namespace work_limit_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

constexpr std::uint32_t most = 512;

/// A pool with a limit that a test can reach. Its one thread is busy until let_go().
class small_pool {
 public:
  small_pool() {
    pool_.submit([] { pool::detail::work_here()->pool->memory.limit_to(most); }).wait();
    busy_.emplace(pool_);
  }
  thread_pool& operator*() { return pool_; }
  thread_pool* operator->() { return &pool_; }
  /// Submits until the pool refuses a work. Returns how many works it has accepted.
  std::size_t fill() {
    for (;;) {
      try {
        works_.push_back(pool_.submit([this] { ++ran_; }));
      } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::too_many_works);
        EXPECT_NE(std::string_view(refused.what()).find("16777152"), std::string_view::npos);
        return works_.size();
      }
    }
  }
  void let_go() { busy_->let_go(); }
  void forget() { works_.clear(); }
  [[nodiscard]] std::size_t ran() const { return ran_; }

 private:
  std::size_t ran_ = 0;
  thread_pool pool_{{.max_threads = 1, .queue_limit = 2 * most}};
  std::optional<blocker> busy_;
  std::vector<work<void>> works_;
};

template <class F>
void expect_refused(F call) {
  try {
    call();
    ADD_FAILURE() << "it was not refused";
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::too_many_works);
  }
}

TEST(work_limit, submit_throws_too_many_works_at_the_limit_and_not_long_before) {
  small_pool p;
  const std::size_t taken = p.fill();
  EXPECT_LT(taken, most);
  EXPECT_GE(taken, most - 2 * 96U) << "the thread of the pool, and this one, keep at most that many";
  p.let_go();
  expect_idle(*p);
  EXPECT_EQ(p.ran(), taken) << "each that was accepted runs";
}

TEST(work_limit, a_refused_submit_changes_nothing) {
  small_pool p;
  p.fill();
  const work_id known = p->waiting().front();
  const pool_stats before = p->stats();
  const auto kept = std::make_shared<int>(0);
  expect_refused([&] {
    static_cast<void>(
        p->submit([kept] { return 1; }, {.name = "n", .group = "g", .after = {known}, .store_result = true}));
  });
  auto moved = [mine = std::make_unique<int>(7)] { return mine == nullptr ? 0 : *mine; };
  expect_refused([&] { static_cast<void>(p->submit(std::move(moved))); });
  EXPECT_EQ(moved(), 7) << "the function is still the caller's";
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_FALSE(p->find("n"));
  EXPECT_TRUE(p->members("g").empty());
  const pool_stats after = p->stats();
  EXPECT_EQ(after.outstanding, before.outstanding);
  EXPECT_EQ(after.waiting, before.waiting);
  EXPECT_EQ(after.submitted, before.submitted);
  EXPECT_EQ(after.rejected, before.rejected);
  p.let_go();
  expect_idle(*p);
}

TEST(work_limit, a_reservation_and_a_busy_guard_are_refused_too) {
  small_pool p;
  p.fill();
  expect_refused([&] { static_cast<void>(p->reserve()); });
  expect_refused([&] { const thread_pool::busy_guard guard(*p); });
  p.let_go();
  expect_idle(*p);
}

TEST(work_limit, a_place_is_free_again_when_a_work_has_ended_and_its_handle_is_gone) {
  small_pool p;
  const std::size_t taken = p.fill();
  p.let_go();
  expect_idle(*p);
  expect_refused([&] { static_cast<void>(p->submit([] {})); });
  p.forget();
  EXPECT_EQ(p->submit([] { return 3; }).fetch().value(), 3);
  EXPECT_GE(p.fill(), taken - 96U);
  expect_idle(*p);
}

}  // namespace
}  // namespace work_limit_test
