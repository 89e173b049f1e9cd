// send_modify(): on a copy, none lost, and never from inside of itself.
#include "unit/channel/watch_support.hpp"

#include <rota/error.hpp>
#include <rota/rota.hpp>

#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel {
namespace {

template <class T>
class watch_modified : public testing::Test {};
TYPED_TEST_SUITE(watch_modified, both);

TYPED_TEST(watch_modified, a_modification_is_made_on_a_copy) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_EQ(tx.send_modify([](TypeParam& v) { v = TypeParam(number_of(v) + 4); }), send_status::sent);
  EXPECT_EQ(number_of(rx.get()), 5);
  EXPECT_TRUE(rx.has_changed());
  const auto throws = [](TypeParam& v) {
    v = TypeParam(9);
    throw std::runtime_error("no");
  };
  EXPECT_THROW(static_cast<void>(tx.send_modify(throws)), std::runtime_error);
  EXPECT_EQ(number_of(rx.get()), 5);
}

// One sends in the middle of another's modification: that is made again, of the newer value.
TYPED_TEST(watch_modified, a_modification_loses_no_other) {
  auto [tx, rx] = watch(TypeParam(1));
  int calls = 0;
  const auto change = [&calls, &other = tx](TypeParam& v) {
    if (++calls == 1)
      std::thread([&other] { EXPECT_EQ(other.send(TypeParam(10)), send_status::sent); }).join();
    v = TypeParam(number_of(v) + 1);
  };
  EXPECT_EQ(tx.send_modify(change), send_status::sent);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(number_of(rx.get()), 11);
}

template <class F>
void expect_would_deadlock(F sends) {
  try {
    static_cast<void>(sends());
    ADD_FAILURE() << "it has been sent";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), make_error_code(errc::would_deadlock));
    EXPECT_NE(std::string(e.what()).find("send_modify"), std::string::npos);
  }
}

// It would be made again for ever.
TYPED_TEST(watch_modified, a_modification_that_sends_is_refused_before_anything_has_changed) {
  auto [tx, rx] = watch(TypeParam(1));
  auto other = tx;
  const auto nothing = [](TypeParam&) { FAIL(); };
  int calls = 0;
  const auto change = [&](TypeParam& v) {
    ++calls;
    expect_would_deadlock([&] { return other.send(TypeParam(7)); });
    expect_would_deadlock([&] { return other.send_modify(nothing); });
    EXPECT_EQ(number_of(other.get()), 1) << "looks are right";
    v = TypeParam(2);
  };
  EXPECT_EQ(tx.send_modify(change), send_status::sent);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(number_of(rx.get_and_update()), 2);
  // What it throws is thrown on, and the value stays.
  const auto sends = [&other](TypeParam& v) {
    v = TypeParam(8);
    static_cast<void>(other.send(TypeParam(7)));
  };
  expect_would_deadlock([&] { return tx.send_modify(sends); });
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(tx.send(TypeParam(3)), send_status::sent) << "it is over";
  EXPECT_EQ(number_of(rx.get()), 3);
}

TYPED_TEST(watch_modified, a_modification_may_send_to_another_and_close_this_one) {
  auto [tx, rx] = watch(TypeParam(1));
  auto [other_tx, other_rx] = watch(TypeParam(1));
  const auto of_other = [&](TypeParam& v) {
    v = TypeParam(3);
    expect_would_deadlock([&] { return tx.send(TypeParam(7)); });
  };
  const auto change = [&](TypeParam& v) {
    EXPECT_EQ(other_tx.send(TypeParam(2)), send_status::sent);
    EXPECT_EQ(other_tx.send_modify(of_other), send_status::sent);
    v = TypeParam(2);
    tx.close();
  };
  EXPECT_EQ(tx.send_modify(change), send_status::closed);
  EXPECT_EQ(number_of(rx.get()), 1);
  EXPECT_EQ(number_of(other_rx.get()), 3);
}

// The task that is waited for runs on this thread, inside of the function, and is another.
TEST(watch_modified, a_task_that_is_joined_by_the_function_may_send) {
  const auto modifies = [](watch_sender<int>& tx) -> task<int> {
    auto other =
        spawn([](watch_sender<int>& to) -> task<bool> { co_return to.send(10) == send_status::sent; },
              std::ref(tx));
    bool was_sent = false;
    const auto change = [&](int& n) {
      if (n == 1) was_sent = other.join();
      ++n;
    };
    const bool did = tx.send_modify(change) == send_status::sent;
    co_return did&& was_sent ? tx.get() : 0;
  };
  auto made = watch(1);
  EXPECT_EQ(run(modifies(made.sender), {.workers = 1}), 11);
}

template <class T>
class watch_modified_whole : public testing::Test {};
TYPED_TEST_SUITE(watch_modified_whole, whole);

TYPED_TEST(watch_modified_whole, modifications_by_several_are_all_made) {
  static constexpr std::uint64_t each = 5'000;
  auto made = watch(TypeParam());
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([tx = made.sender]() mutable {
      for (std::uint64_t n = 0; n < each; ++n)
        ASSERT_EQ(tx.send_modify([](TypeParam& value) { ++value.of[3]; }), send_status::sent);
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(made.receiver.get().of[3], 3 * each);
}

}  // namespace
}  // namespace rota::channel
