// The line of waiters: a waiter that was called in vain gets its place back.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/detail/channel_core.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace rota::channel::line_test {
namespace {

using namespace std::chrono_literals;
using core::wait_list;
using core::wait_node;
using core::wait_section;
using core::wait_state;
using detail::line;
using test::manual_scheduler;

void nothing(void*) noexcept {}
void* same(void* self) noexcept { return self; }
constexpr waker_vtable of_nobody{nothing, nothing, same, nothing};

/// `n` waiters. No other thread uses the lock.
class crowd {
 public:
  explicit crowd(std::size_t n) : all_(n) {
    for (wait_node& each : all_) static_cast<void>(join(each));
  }
  ~crowd() {
    wait_section section(list_);
    line_.close(section);
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  std::uint64_t join(wait_node& who) {
    who.wake = waker(this, &of_nobody);
    wait_section section(list_);
    return line_.join(section, who);
  }
  std::size_t call() {
    wait_section section(list_);
    const wait_node& first = *section.first();
    line_.call_first(section);
    return static_cast<std::size_t>(&first - all_.data());
  }
  void leave(wait_node& who) {
    waker dropped;  // destroyed after the lock is released
    wait_section section(list_);
    section.unlink(who);
    line_.forget(who);
    who.set(wait_state::idle);
    dropped = std::move(who.wake);
  }
  wait_node& operator[](std::size_t i) { return all_[i]; }

  /// Calls all waiters; they come back in this order. Returns how many nodes they pass in all.
  std::uint64_t come_back(const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < all_.size(); ++i) EXPECT_EQ(call(), i);
    std::uint64_t passed = 0;
    for (const std::size_t i : order) passed += join(all_[i]);
    return passed;
  }

 private:
  wait_list list_;
  line line_;
  std::vector<wait_node> all_;
};

std::vector<std::size_t> numbers(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// The passed nodes are counted. A search from the front would pass 50 million.
TEST(waiter_queue, ten_thousand_waiters_that_return_in_order_pass_one_node_each) {
  constexpr std::size_t n = 10'000;
  crowd all(n);
  std::vector<std::size_t> order = numbers(n);
  EXPECT_LE(all.come_back(order), n);
  std::reverse(order.begin(), order.end());
  EXPECT_LE(all.come_back(order), n);
  // Pairs of neighbours come back in the opposite order.
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < n; i += 2) turns.insert(turns.end(), {i + 1, i});
  EXPECT_LE(all.come_back(turns), 2 * n);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(all.call(), i);
}

TEST(waiter_queue, waiters_regain_their_places_in_any_order_of_return) {
  constexpr std::size_t n = 200;
  std::mt19937 random(7);
  crowd all(n);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> order = numbers(n);
    std::shuffle(order.begin(), order.end(), random);
    static_cast<void>(all.come_back(order));
  }
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(all.call(), i);
}

// The place of the last return is no starting point once that waiter has left, by a call or by giving up.
TEST(waiter_queue, search_does_not_start_at_a_waiter_that_has_left) {
  crowd all(4);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all.call(), i);
  EXPECT_EQ(all.join(all[1]), 0U);
  all.leave(all[1]);
  EXPECT_EQ(all.join(all[0]), 0U);
  EXPECT_EQ(all.call(), 0U);
  EXPECT_EQ(all.join(all[2]), 0U);
  EXPECT_EQ(all.join(all[0]), 0U);
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_EQ(all.call(), i);
}

template <class Halves>
task<int> receives(Halves rx) {
  const auto got = co_await rx.recv();
  co_return got.value_or(-1);
}

/// Calls each of the first n waiters, and takes the item away each time.
template <class Pair>
void call_in_vain(Pair& of, int n) {
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(of.sender.try_send(0), send_status::sent);
    EXPECT_EQ(of.receiver.try_recv(), 0);
    // Leaves the mark of a waiter.
    EXPECT_EQ(of.receiver.blocking_recv_for(0ms).error(), recv_status::timed_out);
  }
}

// The waiter that was put back last gives up while others come back behind it.
template <class Pair>
void give_up_in_turn(Pair of, bool newest_first) {
  manual_scheduler by;
  by.lifo = newest_first;
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 4; ++i) all.push_back(by.spawn(receives(of.receiver)));
  by.lifo = false;
  by.run_until_idle();
  by.lifo = newest_first;
  for (const std::size_t gone : {newest_first ? 0U : 2U, 1U}) {
    call_in_vain(of, 3);
    by.run_until_idle();
    all[gone].cancel();
    by.run_until_idle();
    EXPECT_TRUE(all[gone].is_done());
  }
  of.sender.close();
  by.run_until_idle();
  for (auto& each : all) EXPECT_TRUE(each.is_done());
}

TEST(waiter_queue, channel_forgets_a_cancelled_waiter) {
  for (const bool newest_first : {false, true}) {
    give_up_in_turn(bounded<int>(4), newest_first);
    give_up_in_turn(unbounded<int>(), newest_first);
  }
}

}  // namespace
}  // namespace rota::channel::line_test
