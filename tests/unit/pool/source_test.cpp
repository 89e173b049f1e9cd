// A source by itself: its order, its limit, its end.
#include "unit/pool/watch_support.hpp"

#include <memory>
#include <optional>

namespace source_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(source, is_first_in_first_out_and_says_when_it_is_full_or_closed) {
  source<int> s(2);
  EXPECT_EQ(s.capacity(), 2U);
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  const int two = 2;
  EXPECT_EQ(s.try_push(two), push_status::pushed);
  EXPECT_EQ(s.try_push(3), push_status::full);
  EXPECT_EQ(s.size(), 2U);
  EXPECT_EQ(s.try_take(), 1);
  EXPECT_EQ(s.try_push(4), push_status::pushed);
  s.close();
  EXPECT_TRUE(s.is_closed());
  EXPECT_EQ(s.try_take(), 2);
  EXPECT_EQ(s.try_push(5), push_status::closed);
  EXPECT_EQ(s.try_take(), 4) << "what is in stays";
  EXPECT_EQ(s.try_take(), std::nullopt);
}

TEST(source, an_item_that_is_refused_stays_with_the_caller) {
  source<std::unique_ptr<int>> s(1);
  EXPECT_EQ(s.try_push(std::make_unique<int>(1)), push_status::pushed);
  auto mine = std::make_unique<int>(2);
  EXPECT_EQ(s.try_push(std::move(mine)), push_status::full);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(**s.try_take(), 1);
  s.close();
  EXPECT_EQ(s.try_push(std::move(mine)), push_status::closed);
  EXPECT_NE(mine, nullptr);
}

TEST(source, destroys_what_is_left) {
  std::atomic<int> ends{0};
  {
    source<parcel> s(source<parcel>::unbounded);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(parcel(i, &ends)), push_status::pushed);
    EXPECT_EQ(s.try_take()->number(), 0);
    EXPECT_EQ(ends, 1);
  }
  EXPECT_EQ(ends, 5);
}

TEST(source, refuses_a_capacity_of_zero) { EXPECT_THROW(source<int>(0), std::invalid_argument); }

/// The move constructor throws on demand.
struct heavy {
  explicit heavy(int n) : number(n) {}
  heavy(heavy&& other) : number(other.number) {
    if (throws()) throw std::runtime_error("too heavy");
  }
  heavy(const heavy&) = delete;
  heavy& operator=(const heavy&) = delete;
  heavy& operator=(heavy&&) = delete;
  ~heavy() = default;
  static bool& throws() {
    static bool now = false;
    return now;
  }
  int number;
};

TEST(source, a_move_that_throws_changes_nothing) {
  source<heavy> s(1);
  heavy::throws() = true;
  EXPECT_THROW(static_cast<void>(s.try_push(heavy(1))), std::runtime_error);
  heavy::throws() = false;
  EXPECT_EQ(s.size(), 0U);
  EXPECT_EQ(s.try_push(heavy(2)), push_status::pushed) << "its place is free";
  heavy::throws() = true;
  EXPECT_THROW(static_cast<void>(s.try_take()), std::runtime_error);
  heavy::throws() = false;
  EXPECT_EQ(s.size(), 1U);
  EXPECT_EQ(s.try_take()->number, 2);
}

}  // namespace
}  // namespace source_test
