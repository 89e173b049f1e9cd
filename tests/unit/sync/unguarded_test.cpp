// The library checks "no user code and no wake under a lock" wherever it is about to run such code. Each
// place has a death test: under a lock of the test the check must end the program.
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "support/manual_scheduler.hpp"
#include "time/shard.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/strand.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#if !defined(NDEBUG)

namespace rota::unguarded_test {
namespace {

constexpr const char* what_it_says = "under the lock of a primitive";

/// Its move and destructor are user code.
struct item {
  item() = default;
  item(const item& other) : text(other.text) {}
  item(item&& other) noexcept : text(std::move(other.text)) {}
  item& operator=(const item&) = delete;
  ~item() = default;
  std::string text = "longer than what fits into a string itself";
};

template <class F>
void under_a_lock(F f) {
  base::mutex mine;
  const base::lock_guard guard(mine);
  f();
}

TEST(unguarded_death, check_passes_without_a_lock) {
  core::demand_unguarded();
  {
    base::mutex mine;
    const base::lock_guard guard(mine);
  }
  {
    core::wait_list list;
    const core::wait_section section(list);
  }
  base::mutex mine;
  const base::turn_guard turn(mine);
  core::demand_unguarded();
}

TEST(unguarded_death, using_a_waker_under_a_lock_aborts) {
  EXPECT_DEATH(under_a_lock([] { callback_waker([]() noexcept {}).wake(); }), what_it_says);
  EXPECT_DEATH(under_a_lock([] { noop_waker().wake_by_ref(); }), what_it_says);
  EXPECT_DEATH(under_a_lock([] { static_cast<void>(noop_waker()); }), what_it_says);
  core::wait_list list;
  EXPECT_DEATH(
      {
        const core::wait_section section(list);
        noop_waker().wake();
      },
      what_it_says);
}

TEST(unguarded_death, waking_a_waiting_task_under_a_lock_aborts) {
  sync::event set;
  test::manual_scheduler by;
  auto waits = by.spawn([&set]() -> task<void> { co_await set.wait(); });
  by.run_until_idle();
  EXPECT_DEATH(under_a_lock([&] { set.set(); }), what_it_says);
  set.set();
  by.run_until_idle();
}

TEST(unguarded_death, polling_timers_under_a_lock_aborts) {
  const auto at = base::now();
  timing::shard timers(at);
  timing::timer_node node;
  static_cast<void>(timers.arm(node, at, noop_waker()));
  EXPECT_DEATH(under_a_lock([&] { timers.poll(at + std::chrono::hours(1), 1); }), what_it_says);
  static_cast<void>(timers.cancel(node));
}

TEST(unguarded_death, running_a_task_under_a_lock_aborts) {
  test::manual_scheduler by;
  auto runs = by.spawn([]() -> task<void> { co_return; });
  EXPECT_DEATH(under_a_lock([&] { by.run_one(); }), what_it_says);
  by.run_until_idle();
}

TEST(unguarded_death, sending_or_receiving_an_item_under_a_lock_aborts) {
  auto bounded = channel::bounded<item>(1);
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(bounded.sender.try_send(item())); }), what_it_says);
  static_cast<void>(bounded.sender.try_send(item()));
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(bounded.receiver.try_recv()); }), what_it_says);

  auto unbounded = channel::unbounded<item>();
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(unbounded.sender.try_send(item())); }), what_it_says);
  static_cast<void>(unbounded.sender.try_send(item()));
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(unbounded.receiver.try_recv()); }), what_it_says);

  auto oneshot = channel::oneshot<item>();
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(std::move(oneshot.sender).send(item())); }),
               what_it_says);
  static_cast<void>(std::move(oneshot.sender).send(item()));
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(oneshot.receiver.try_recv()); }), what_it_says);

  auto broadcast = channel::broadcast<item>(1);
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(broadcast.sender.send(item())); }), what_it_says);
  static_cast<void>(broadcast.sender.send(item()));
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(broadcast.receiver.try_recv()); }), what_it_says);

  auto watch = channel::watch(item());
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(watch.sender.send(item())); }), what_it_says);
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(watch.receiver.get()); }), what_it_says);
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(watch.sender.send_modify([](item&) {})); }),
               what_it_says);
}

TEST(unguarded_death, destroying_items_of_a_channel_under_a_lock_aborts) {
  EXPECT_DEATH(
      {
        auto ends = channel::bounded<item>(1);
        static_cast<void>(ends.sender.try_send(item()));
        under_a_lock([&] { const auto gone = std::move(ends.receiver); });
      },
      what_it_says);
}

TEST(unguarded_death, dropping_a_mailbox_message_under_a_lock_aborts) {
  EXPECT_DEATH(
      {
        gate::executor threads(1);
        auto box = threads.make_mailbox<item>([](item&&) {},
                                              {.capacity = 1, .on_full = gate::overflow::drop_oldest});
        box.pause();
        static_cast<void>(box.send(item()));
        under_a_lock([&] { static_cast<void>(box.send(item())); });
      },
      what_it_says);
}

TEST(unguarded_death, calling_a_user_function_under_a_lock_aborts) {
  sync::mutex m;
  sync::mutex::guard held = m.blocking_lock();
  sync::condition_variable changed;
  EXPECT_DEATH(under_a_lock([&] { changed.blocking_wait(held, [] { return true; }); }), what_it_says);
  sync::once_cell<int> cell;
  EXPECT_DEATH(under_a_lock([&] { static_cast<void>(cell.set(1)); }), what_it_says);
  EXPECT_DEATH(under_a_lock([&] { cell.blocking_get_or_init([] { return 1; }); }), what_it_says);
  sync::strand s;
  EXPECT_DEATH(under_a_lock([&] { s.blocking_run([] {}); }), what_it_says);
}

}  // namespace
}  // namespace rota::unguarded_test

#endif
