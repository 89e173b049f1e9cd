// send_modify() and related calls: they change a copy, lose no change, and refuse to be nested.
#include "unit/channel/watch_support.hpp"

#include <rota/error.hpp>
#include <rota/rota.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::watch_modify_test {
namespace {

template <class T>
class watch_modified : public ::testing::Test {};
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

// A send during a modification: the modification is made again, on the newer value.
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

// Otherwise the modification would be repeated for ever.
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
  // Its exception is passed on, and the value stays.
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

// The awaited task runs on this thread, inside of the function, but is another task. Only a worker's own task
// runs so: therefore a worker makes the modification, and spawns the task.
TEST(watch_modified, a_task_that_is_joined_by_the_function_may_send) {
  static constexpr auto sends = [](watch_sender<int>& to) -> task<std::thread::id> {
    EXPECT_EQ(to.send(10), send_status::sent);
    co_return std::this_thread::get_id();
  };
  const auto modifies = [](watch_sender<int>& tx) -> task<int> {
    std::vector<int> seen;
    const auto change = [&](int& n) {
      seen.push_back(n);
      if (n == 1) {
        EXPECT_EQ(spawn(sends, std::ref(tx)).join(), std::this_thread::get_id());
      }
      ++n;
    };
    EXPECT_EQ(tx.send_modify(change), send_status::sent);
    EXPECT_EQ(seen, (std::vector<int>{1, 10}));
    co_return tx.get();
  };
  runtime r(runtime_options{.workers = 1});
  auto made = watch(1);
  EXPECT_EQ(r.spawn(modifies, std::ref(made.sender)).join(), 11);
}

TYPED_TEST(watch_modified, modification_that_changes_nothing_notifies_no_receiver) {
  auto [tx, rx] = watch(TypeParam(1));
  const auto up_to_two = [](TypeParam& v) {
    if (number_of(v) >= 2) {
      v = TypeParam(9);
      return false;
    }
    v = TypeParam(number_of(v) + 1);
    return true;
  };
  EXPECT_EQ(tx.send_if_modified(up_to_two), send_status::sent);
  EXPECT_TRUE(rx.try_changed().has_value());
  EXPECT_EQ(tx.send_if_modified(up_to_two), send_status::dropped);
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(number_of(rx.get()), 2);
  tx.close();
  EXPECT_EQ(tx.send_if_modified(up_to_two), send_status::closed);
}

TYPED_TEST(watch_modified, a_replacement_gives_what_was_there) {
  auto [tx, rx] = watch(TypeParam(1));
  auto before = tx.send_replace(TypeParam(2));
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(number_of(*before), 1);
  EXPECT_TRUE(rx.try_changed().has_value());
  EXPECT_EQ(number_of(rx.get()), 2);
  const auto change = [&other = tx](TypeParam&) {
    expect_would_deadlock([&] { return other.send_replace(TypeParam(7)); });
    return false;
  };
  EXPECT_EQ(tx.send_if_modified(change), send_status::dropped);
  tx.close();
  auto late = tx.send_replace(TypeParam(3));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error(), send_status::closed);
  EXPECT_EQ(number_of(rx.get()), 2);
}

// As send(): a later receiver finds the last value. Only a sender can close a watch that has a sender.
TYPED_TEST(watch_modified, a_replacement_needs_no_receiver) {
  auto [tx, rx] = watch(TypeParam(1));
  {
    const auto last = std::move(rx);
  }
  EXPECT_FALSE(tx.has_receivers());
  for (int i = 2; i <= 3; ++i) {
    auto before = tx.send_replace(TypeParam(i));
    ASSERT_TRUE(before.has_value());
    EXPECT_EQ(number_of(*before), i - 1);
  }
  EXPECT_FALSE(tx.is_closed());
  EXPECT_EQ(number_of(tx.subscribe().get()), 3);
}

TEST(watch_modified, a_replacement_copies_nothing_where_it_is_closed) {
  auto [tx, rx] = watch(fussy(1));
  tx.close();
  fussy::throws = true;
  const auto late = tx.send_replace(fussy(2));
  fussy::throws = false;
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error(), send_status::closed);
  EXPECT_EQ(number_of(rx.get()), 1);
}

// If copying the old value throws, the value stays.
TEST(watch_modified, replacement_is_not_made_when_copying_the_old_value_throws) {
  auto [tx, rx] = watch(fussy(1));
  fussy::throws = true;
  EXPECT_THROW(static_cast<void>(tx.send_replace(fussy(2))), std::runtime_error);
  fussy::throws = false;
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(number_of(rx.get()), 1);
}

// Also for the first value, and after the end.
TYPED_TEST(watch_modified, receiver_may_mark_the_value_changed_or_unchanged) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_FALSE(rx.has_changed());
  rx.mark_changed();
  EXPECT_TRUE(rx.has_changed());
  EXPECT_TRUE(rx.blocking_changed().has_value());
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  rx.mark_unchanged();
  EXPECT_EQ(rx.try_changed().error(), recv_status::empty);
  auto late = tx.subscribe();
  EXPECT_FALSE(late.has_changed());
  tx.close();
  rx.mark_changed();
  EXPECT_TRUE(rx.try_changed().has_value());
  EXPECT_EQ(rx.try_changed().error(), recv_status::closed);
}

template <class T>
class watch_modified_whole : public ::testing::Test {};
TYPED_TEST_SUITE(watch_modified_whole, whole);

TYPED_TEST(watch_modified_whole, modifications_by_several_threads_are_all_made) {
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

// Each value is returned to one of the replacing threads, or is the last.
TYPED_TEST(watch_modified_whole, replacements_by_several_threads_return_each_value_once) {
  static constexpr std::uint64_t each = 2'000;
  auto made = watch(TypeParam());
  std::vector<std::thread> all;
  std::atomic<std::uint64_t> sum = 0;
  for (std::uint64_t i = 0; i < 3; ++i)
    all.emplace_back([&sum, i, tx = made.sender]() mutable {
      for (std::uint64_t n = 1; n <= each; ++n) {
        TypeParam mine;
        for (auto& word : mine.of) word = i * each + n;
        const auto before = tx.send_replace(std::move(mine));
        ASSERT_TRUE(before.has_value());
        ASSERT_EQ(before->of[0], before->of[6]);
        sum += before->of[3];
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(sum + made.receiver.get().of[3], 3 * each * (3 * each + 1) / 2);
}

}  // namespace
}  // namespace rota::channel::watch_modify_test
