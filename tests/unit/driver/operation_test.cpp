// The queue of operations (`desk`), on a fake kernel that counts its calls.
#include "driver/operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::driver::operation_test {
namespace {

/// Accepts at most `room` entries that are not submitted.
struct counting_kernel {
  std::size_t room = 4096;
  std::size_t prepared = 0;
  unsigned submissions = 0;
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> cancelled;

  bool put(const base::sys::ring_request& /*request*/, std::uint64_t key) { return put(given, key); }
  bool put_cancel(std::uint64_t key) { return put(cancelled, key); }
  bool submit() {
    if (prepared != 0) ++submissions;
    prepared = 0;
    return true;
  }

 private:
  bool put(std::vector<std::uint64_t>& into, std::uint64_t key) {
    if (prepared == room) return false;
    ++prepared;
    into.push_back(key);
    return true;
  }
};

using desk = operation_desk<counting_kernel>;

std::vector<operation*> start(desk& office, std::size_t count) {
  std::vector<operation*> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(office.take());
    office.start(*all.back(), {});
  }
  return all;
}

TEST(operation, cancels_of_many_operations_are_submitted_together) {
  counting_kernel kernel;
  desk office(kernel, 4096);
  const std::vector<operation*> all = start(office, 1000);
  ASSERT_TRUE(office.flush());
  EXPECT_EQ(kernel.submissions, 1U);
  for (operation* const each : all) EXPECT_EQ(office.cancel(*each), cancel_progress::pending);
  EXPECT_EQ(kernel.submissions, 1U) << "a system call for a cancel, under the lock";
  EXPECT_TRUE(office.has_unflushed());
  EXPECT_TRUE(office.flush());
  EXPECT_EQ(kernel.submissions, 2U);
  EXPECT_EQ(kernel.cancelled, kernel.given);
  for (const std::uint64_t key : kernel.given) EXPECT_TRUE(office.complete(key, -ECANCELED));
  for (operation* const each : all) office.give_back(*each);
  EXPECT_EQ(office.in_flight(), 0U);
}

TEST(operation, cancels_are_submitted_each_time_a_small_queue_is_full) {
  counting_kernel kernel;
  kernel.room = 10;
  desk office(kernel, 4096);
  const std::vector<operation*> all = start(office, 100);
  ASSERT_TRUE(office.flush());
  EXPECT_EQ(kernel.submissions, 10U);
  for (operation* const each : all) EXPECT_EQ(office.cancel(*each), cancel_progress::pending);
  EXPECT_TRUE(office.has_unflushed());
  EXPECT_TRUE(office.flush());
  EXPECT_EQ(kernel.submissions, 20U);
  EXPECT_EQ(kernel.cancelled, kernel.given);
  for (const std::uint64_t key : kernel.given) EXPECT_TRUE(office.complete(key, -ECANCELED));
  for (operation* const each : all) office.give_back(*each);
}

// One operation is submitted; the others are queued. They leave the queue at its end, middle and front.
TEST(operation, queue_keeps_its_order_when_operations_leave_it_anywhere) {
  counting_kernel kernel;
  desk office(kernel, 1);
  const std::vector<operation*> all = start(office, 9);
  for (const std::size_t i : {8U, 4U, 5U, 1U}) {
    EXPECT_EQ(office.cancel(*all[i]), cancel_progress::ended);
    EXPECT_EQ(all[i]->result(), -ECANCELED);
  }
  std::vector<std::size_t> order;
  for (std::size_t done = 0; done < kernel.given.size(); ++done) {
    EXPECT_TRUE(office.complete(kernel.given[done], 1));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i]->is_done() && all[i]->result() == 1 && std::ranges::find(order, i) == order.end())
        order.push_back(i);
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 2, 3, 6, 7}));
  for (operation* const each : all) office.give_back(*each);
  EXPECT_EQ(office.in_flight(), 0U);
}

}  // namespace
}  // namespace rota::driver::operation_test
