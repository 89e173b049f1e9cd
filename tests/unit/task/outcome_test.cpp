// outcome<T>: a value, an exception, or a cancellation.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "unit/task/task_support.hpp"

namespace rota::outcome_test {
namespace {

using test::counted;

TEST(outcome, empty_outcome_has_no_value_and_no_exception) {
  outcome<int> o;
  EXPECT_FALSE(o.has_value());
  EXPECT_FALSE(o.has_exception());
  EXPECT_FALSE(o.is_cancelled());
  EXPECT_EQ(o.reason(), cancel_reason::none);
  EXPECT_EQ(o.exception(), nullptr);
  try {
    static_cast<void>(o.value());
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::already_joined);
  }
}

TEST(outcome, holds_a_value) {
  auto o = outcome<std::string>::from_value("abc");
  EXPECT_TRUE(o.has_value());
  EXPECT_TRUE(static_cast<bool>(o));
  EXPECT_EQ(o.value(), "abc");
  o.value() += "d";
  EXPECT_EQ(std::move(o).value(), "abcd");
}

TEST(outcome, holds_an_exception) {
  auto o = outcome<int>::from_exception(std::make_exception_ptr(std::range_error("r")));
  EXPECT_TRUE(o.has_exception());
  EXPECT_FALSE(o.has_value());
  EXPECT_NE(o.exception(), nullptr);
  EXPECT_THROW(static_cast<void>(o.value()), std::range_error);
}

TEST(outcome, holds_a_cancellation) {
  auto o = outcome<int>::from_cancel(cancel_reason::timeout);
  EXPECT_TRUE(o.is_cancelled());
  EXPECT_EQ(o.reason(), cancel_reason::timeout);
  try {
    static_cast<void>(o.value());
    FAIL();
  } catch (const cancelled_error& e) {
    EXPECT_EQ(e.reason(), cancel_reason::timeout);
    EXPECT_EQ(e.code(), errc::cancelled);
    EXPECT_EQ(e.code().category(), error_category());
  }
}

TEST(outcome, may_hold_void_a_reference_or_a_const_value) {
  auto nothing = outcome<void>::from_value();
  nothing.value();
  std::move(nothing).value();

  int target = 1;
  auto reference = outcome<int&>::from_value(target);
  reference.value() = 5;
  EXPECT_EQ(target, 5);
  EXPECT_EQ(&std::move(reference).value(), &target);

  auto constant = outcome<const std::string>::from_value("c");
  EXPECT_EQ(constant.value(), "c");
}

TEST(outcome, of_a_move_only_type_is_move_only) {
  auto o = outcome<std::unique_ptr<int>>::from_value(std::make_unique<int>(3));
  outcome<std::unique_ptr<int>> moved(std::move(o));
  EXPECT_EQ(*std::move(moved).value(), 3);
  static_assert(!std::is_copy_constructible_v<outcome<std::unique_ptr<int>>>);
  static_assert(std::is_copy_constructible_v<outcome<int>>);
  static_assert(std::is_nothrow_move_constructible_v<outcome<std::string>>);
}

TEST(outcome, every_value_is_destroyed_once) {
  counted::reset();
  {
    auto a = outcome<counted>::from_value(7);
    outcome<counted> b(a);
    EXPECT_EQ(counted::copies, 1);
    outcome<counted> c(std::move(b));
    c = outcome<counted>::from_cancel(cancel_reason::user);
    EXPECT_TRUE(c.is_cancelled());
    c = std::move(a);
    EXPECT_EQ(c.value().value, 7);
    c.emplace(8);
    EXPECT_EQ(c.value().value, 8);
    c.set_exception(std::make_exception_ptr(1));
    c.set_cancelled(cancel_reason::user);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(outcome, copies_share_the_exception) {
  const auto a = outcome<int>::from_exception(std::make_exception_ptr(std::string("x")));
  const outcome<int> b(a);  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(a.exception(), b.exception());
}

TEST(outcome, error_codes_have_messages) {
  EXPECT_STREQ(error_category().name(), "rota");
  EXPECT_EQ(make_error_code(errc::would_deadlock).message(), "a task cannot wait for itself");
  EXPECT_EQ(error_category().message(9999), "unknown rota error");
  EXPECT_STREQ(to_string(cancel_reason::sibling_failed), "sibling failed");
  EXPECT_EQ(shield_overflow().code(), errc::shield_overflow);
}

}  // namespace
}  // namespace rota::outcome_test
