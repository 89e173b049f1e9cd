// A thread that is held up in the middle of moving an item: others wait for it, use little of the processor meanwhile, and lose nothing.
#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>

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

/// How often a thread of this process went to sleep by itself. A yield does not count.
std::uint64_t sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary_ctxt_switches:")) return std::stoull(line.substr(line.find(':') + 1));
  }
  return 0;
}

/// Calls `f` on a thread, and returns once that thread has gone to sleep three times in it. A call that returns before has not waited.
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

/// A receiver is held up while it takes the oldest of two items out of `made`, which has two places. Then `try_to_send` runs.
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

TEST(mover, a_send_that_drops_the_oldest_does_not_drop_the_new_item_of_a_channel_that_is_not_full) {
  auto made = bounded<item>(2, {.on_full = overflow::drop_oldest});
  gate held;
  beside_a_receiver_in_its_move(
      made, held, [&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent); });
  EXPECT_EQ(made.sender.stats().dropped_newest, 0U);
  EXPECT_EQ(made.sender.stats().dropped_oldest, 0U) << "there was room";
  EXPECT_EQ(made.receiver.try_recv().value().value, 2);
  EXPECT_EQ(made.receiver.try_recv().value().value, 3);
}

TEST(mover, a_send_that_is_refused_when_full_waits_for_a_receiver_in_its_move) {
  auto made = bounded<item>(2, {.on_full = overflow::reject});
  gate held;
  beside_a_receiver_in_its_move(
      made, held, [&made] { EXPECT_EQ(made.sender.try_send(item(3)), send_status::sent); });
  EXPECT_EQ(made.sender.stats().refused, 0U);
}

/// A sender is held up while it puts an item into `made`; a receiver waits for it.
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

TEST(mover, a_receive_waits_for_a_sender_in_its_move) {
  a_receiver_waits_for_a_sender_in_its_move(bounded<item>(2));
  a_receiver_waits_for_a_sender_in_its_move(unbounded<item>());
}

TEST(mover, a_full_channel_waits_for_the_oldest_item_that_is_just_being_put_in) {
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

}  // namespace
}  // namespace rota::channel::mover_test
