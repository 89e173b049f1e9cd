// A thread is preempted while it moves an item: others wait for it, use little processor time, and lose
// nothing. In a fork that thread does not exist: a try returns `forked`.
#include "support/sanitized.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/unbounded.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::mover_test {
namespace {

/// Holds up the next move of an item that has a gate.
struct gate {
  std::latch entered{1};
  std::latch open{1};
  std::atomic<bool> armed{false};

  void pass() {
    if (!armed.exchange(false)) return;
    entered.count_down();
    open.wait();
  }
};

struct item {
  explicit item(int v, gate* g = nullptr) : value(v), at(g) {}
  item(item&& other) noexcept : value(other.value), at(std::exchange(other.at, nullptr)) {
    if (at != nullptr) at->pass();
  }
  item(const item&) = delete;
  item& operator=(const item&) = delete;
  item& operator=(item&&) = delete;
  ~item() = default;

  int value;
  gate* at;
};

/// Returns a channel by weight that holds two items.
auto two_by_weight() {
  return bounded_by_weight<item>(8, 2, [](const item& /*one*/) noexcept { return 1U; });
}

/// Returns how often a thread of this process went to sleep by itself. A yield does not count.
std::uint64_t sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary_ctxt_switches:")) return std::stoull(line.substr(line.find(':') + 1));
  }
  return 0;
}

/// Calls `f` on a thread. Returns once that thread has slept three times in it, or `f` has returned.
template <class F>
std::thread sleeping_in(F f) {
  struct state {
    std::atomic<pid_t> id{0};
    std::atomic<bool> ready{false};
    std::atomic<bool> returned{false};
  };
  const auto all = std::make_shared<state>();
  std::thread made([all, f] {
    all->id = static_cast<pid_t>(::syscall(SYS_gettid));
    while (!all->ready) std::this_thread::yield();
    f();
    all->returned = true;
  });
  while (all->id == 0) std::this_thread::yield();
  const std::uint64_t before = sleeps_of(all->id);
  all->ready = true;
  while (!all->returned && sleeps_of(all->id) < before + 3) std::this_thread::yield();
  EXPECT_FALSE(all->returned) << "it did not wait";
  return made;
}

/// Holds up a receiver that takes the older of two items out of `made`; then runs `try_to_send`.
template <class Channel, class F>
void beside_a_receiver_in_its_move(Channel& made, gate& held, F try_to_send) {
  EXPECT_EQ(made.sender.try_send(item(1, &held)), send_status::sent);
  EXPECT_EQ(made.sender.try_send(item(2)), send_status::sent);
  held.armed = true;
  std::thread receives([&made] {
    const auto got = made.receiver.try_recv();
    EXPECT_TRUE(got.has_value() && got->value == 1);
  });
  held.entered.wait();
  std::thread sends = sleeping_in(try_to_send);
  held.open.count_down();
  sends.join();
  receives.join();
}

TEST(item_move, drop_oldest_send_drops_nothing_while_a_receiver_moves_an_item) {
  auto made = bounded<item>(2, {.on_full = overflow::drop_oldest});
  gate held;
  beside_a_receiver_in_its_move(
      made, held, [&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent); });
  EXPECT_EQ(made.sender.stats().dropped_newest, 0U);
  EXPECT_EQ(made.sender.stats().dropped_oldest, 0U) << "there was room";
  EXPECT_EQ(made.receiver.try_recv().value().value, 2);
  EXPECT_EQ(made.receiver.try_recv().value().value, 3);
}

TEST(item_move, rejecting_send_waits_while_a_receiver_moves_an_item) {
  auto made = bounded<item>(2, {.on_full = overflow::reject});
  gate held;
  beside_a_receiver_in_its_move(
      made, held, [&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent); });
  EXPECT_EQ(made.sender.stats().refused, 0U);
}

TEST(item_move, a_send_waits_for_the_weight_of_an_item_that_is_just_leaving) {
  auto made = two_by_weight();
  gate held;
  beside_a_receiver_in_its_move(
      made, held, [&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent); });
  EXPECT_EQ(made.sender.stats().refused, 0U);
  EXPECT_EQ(made.sender.weight(), 2U);
}

// The move has not ended: only the close ends the try.
TEST(item_move, a_close_ends_a_try_that_waits_for_weight) {
  auto made = two_by_weight();
  gate held;
  EXPECT_EQ(made.sender.try_send(item(1, &held)), send_status::sent);
  EXPECT_EQ(made.sender.try_send(item(2)), send_status::sent);
  held.armed = true;
  std::thread receives([&made] { EXPECT_TRUE(made.receiver.try_recv().has_value()); });
  held.entered.wait();
  std::thread sends = sleeping_in([&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::closed); });
  made.sender.close();
  sends.join();
  held.open.count_down();
  receives.join();
}

/// Holds up a sender that puts an item into `made`, while a receiver waits for the item.
template <class Channel>
void a_receiver_waits_for_a_sender_in_its_move(Channel made) {
  gate held;
  item first(1, &held);
  held.armed = true;
  std::thread sends(
      [&made, &first] { EXPECT_EQ(made.sender.try_send(std::move(first)), send_status::sent); });
  held.entered.wait();
  std::thread receives = sleeping_in([&made] {
    const auto got = made.receiver.try_recv();
    EXPECT_TRUE(got.has_value()) << "a channel with an item on its way is not empty";
  });
  held.open.count_down();
  receives.join();
  sends.join();
}

TEST(item_move, receive_waits_while_a_sender_moves_an_item) {
  a_receiver_waits_for_a_sender_in_its_move(bounded<item>(2));
  a_receiver_waits_for_a_sender_in_its_move(two_by_weight());
  a_receiver_waits_for_a_sender_in_its_move(unbounded<item>());
}

TEST(item_move, drop_oldest_send_waits_while_a_sender_moves_the_oldest_item) {
  auto made = bounded<item>(1, {.on_full = overflow::drop_oldest});
  gate held;
  item first(1, &held);
  held.armed = true;
  std::thread sends(
      [&made, &first] { EXPECT_EQ(made.sender.try_send(std::move(first)), send_status::sent); });
  held.entered.wait();
  std::thread second = sleeping_in([&made] { EXPECT_EQ(made.sender.try_send(item(2)), send_status::sent); });
  held.open.count_down();
  sends.join();
  second.join();
  EXPECT_EQ(made.sender.stats().dropped_newest, 0U);
  EXPECT_EQ(made.sender.stats().dropped_oldest, 1U);
  EXPECT_EQ(made.receiver.try_recv().value().value, 2);
}

// ---- a fork beside a move

/// Runs `body` in a fork, ended by an alarm if it hangs. Returns its result: one bit for each failure.
template <class F>
int code_in_fork(F body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Holds up a receiver that empties the channel's only place. Returns the result of a send in a fork.
template <class Channel>
send_status said_by_a_send_in_a_fork(Channel made) {
  gate held;
  EXPECT_EQ(made.sender.try_send(item(1, &held)), send_status::sent);
  held.armed = true;
  std::thread receives([&made] { EXPECT_EQ(made.receiver.try_recv().value().value, 1); });
  held.entered.wait();
  const int code = code_in_fork([&made] { return static_cast<int>(made.sender.try_send(item(2))); });
  held.open.count_down();
  receives.join();
  EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent) << "the parent goes on";
  EXPECT_EQ(made.sender.stats().refused + made.sender.stats().dropped_newest, 0U);
  return static_cast<send_status>(code);
}

TEST(item_move, send_in_a_fork_returns_forked_during_a_receive_of_the_parent) {
  if (!test::may_fork_beside_allocations) GTEST_SKIP() << "a fork beside threads";
  for (const overflow policy :
       {overflow::wait, overflow::reject, overflow::drop_oldest, overflow::drop_newest})
    EXPECT_EQ(said_by_a_send_in_a_fork(bounded<item>(1, {.on_full = policy})), send_status::forked)
        << static_cast<int>(policy);
  const auto one = bounded_by_weight<item>(8, 1, [](const item& /*one*/) noexcept { return 1U; });
  EXPECT_EQ(said_by_a_send_in_a_fork(one), send_status::forked);
}

/// Holds up a sender of the parent that puts the first item in.
template <class Channel, class F>
void in_a_fork_beside_a_sender_in_its_move(Channel made, F body) {
  gate held;
  item first(1, &held);
  held.armed = true;
  std::thread sends(
      [&made, &first] { EXPECT_EQ(made.sender.try_send(std::move(first)), send_status::sent); });
  held.entered.wait();
  EXPECT_EQ(code_in_fork([&] { return body(made); }), 0);
  held.open.count_down();
  sends.join();
  EXPECT_EQ(made.receiver.try_recv().value().value, 1) << "the parent goes on";
}

TEST(item_move, receive_in_a_fork_returns_forked_during_a_send_of_the_parent) {
  if (!test::may_fork_beside_allocations) GTEST_SKIP() << "a fork beside threads";
  const auto tries = [](auto& made) {
    std::vector<item> many;
    const bool one = made.receiver.try_recv().error() == recv_status::forked;
    const bool several = made.receiver.try_recv_many(many, 4).error() == recv_status::forked;
    const bool sent_behind = made.sender.try_send(item(2)) == send_status::sent;
    const bool still = made.receiver.try_recv().error() == recv_status::forked;
    return (one ? 0 : 1) | (several ? 0 : 2) | (sent_behind ? 0 : 4) | (still ? 0 : 8);
  };
  in_a_fork_beside_a_sender_in_its_move(bounded<item>(2), tries);
  in_a_fork_beside_a_sender_in_its_move(two_by_weight(), tries);
  in_a_fork_beside_a_sender_in_its_move(unbounded<item>(), tries);
}

// The oldest item is still being put in, so it can be neither received nor dropped.
TEST(item_move, drop_oldest_send_in_a_fork_returns_forked_during_a_parent_send) {
  if (!test::may_fork_beside_allocations) GTEST_SKIP() << "a fork beside threads";
  in_a_fork_beside_a_sender_in_its_move(bounded<item>(1, {.on_full = overflow::drop_oldest}), [](auto& made) {
    return made.sender.try_send(item(2)) == send_status::forked ? 0 : 1;
  });
}

// A blocking form does not return `forked`; its limit ends it.
TEST(item_move, a_receive_that_waits_in_a_fork_ends_with_its_limit) {
  if (!test::may_fork_beside_allocations) GTEST_SKIP() << "a fork beside threads";
  const auto waits = [](auto& made) {
    const auto got = made.receiver.blocking_recv_for(std::chrono::milliseconds(1));
    return !got.has_value() && got.error() == recv_status::timed_out ? 0 : 1;
  };
  in_a_fork_beside_a_sender_in_its_move(bounded<item>(2), waits);
  in_a_fork_beside_a_sender_in_its_move(two_by_weight(), waits);
  in_a_fork_beside_a_sender_in_its_move(unbounded<item>(), waits);
}

TEST(item_move, a_channel_without_a_move_under_way_works_in_a_fork) {
  auto made = bounded<item>(2, {.on_full = overflow::drop_oldest});
  ASSERT_EQ(made.sender.try_send(item(1)), send_status::sent);
  const int code = code_in_fork([&made] {
    int wrong = 0;
    if (made.sender.try_send(item(2)) != send_status::sent) wrong |= 1;
    if (made.sender.try_send(item(3)) != send_status::sent) wrong |= 2;
    if (made.receiver.try_recv().value().value != 2) wrong |= 4;
    made.sender.close();
    if (made.receiver.try_recv().value().value != 3) wrong |= 8;
    if (made.receiver.try_recv().error() != recv_status::closed) wrong |= 16;
    return wrong;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(made.receiver.try_recv().value().value, 1);
}

// The threads that move items belong to the fork, so their moves end.
TEST(item_move, receive_on_a_channel_of_a_fork_waits_while_a_sender_moves_an_item) {
  if (!test::may_start_threads) GTEST_SKIP() << "a fork that starts threads";
  const int code = code_in_fork([] {
    a_receiver_waits_for_a_sender_in_its_move(bounded<item>(2));
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace rota::channel::mover_test
