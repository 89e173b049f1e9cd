// What the watchdog does for a worker that stays in one poll, on a driver that the test provides.
#include "runtime/watchdog.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace rota::detail::watchdog_test {
namespace {

/// One worker, which the test's thread plays, and its watchdog.
class house {
 public:
  house() {
    tasks.around.driver = {&driver_table, this};
    tasks.around.abandoned = [](void*) noexcept {};
    tasks.around.start_missing = [](void*) noexcept { return false; };
    tasks.around.first_awake = [](void* self) noexcept { static_cast<watchdog*>(self)->first_awake(); };
    tasks.around.watchdog = &dog_;
    core::install_thread_ports(sched::scheduler::ports_of_thread);
  }
  house(const house&) = delete;
  house& operator=(const house&) = delete;
  ~house() {
    tasks.drain();
    EXPECT_TRUE(tasks.books().let_go()) << "a task's memory is still held";
  }

  void play() {
    dog_.start();
    EXPECT_EQ(tasks.at(0).play(), sched::worker::on_play::stopped);
    dog_.stop();
  }

  sched::scheduler tasks{1, 1, base::now()};
  /// True while an operation is prepared for the kernel and not flushed.
  std::atomic<bool> is_prepared{false};

 private:
  static const sched::driver_ops driver_table;
  watchdog dog_{tasks, base::nanoseconds(0)};
};

const sched::driver_ops house::driver_table{
    .wait = [](void*, base::time_point, sched::event_buffer&) noexcept { return 0U; },
    .dispatch = [](void*, const sched::event_buffer&, unsigned) noexcept {},
    .interrupt = [](void*) noexcept {},
    .flush = [](void* self) noexcept { static_cast<house*>(self)->is_prepared = false; },
};

task<> prepare_and_compute(house& h) {
  h.is_prepared = true;
  while (h.is_prepared) std::this_thread::yield();
  h.tasks.set_phase(sched::phase::stopping);
  co_return;
}

// Only the watchdog can flush: without it the task computes for ever.
TEST(watchdog, flushes_operations_prepared_in_a_poll_that_does_not_end) {
  house h;
  core::spawn_on(h.tasks, prepare_and_compute(h)).detach();
  h.play();
  EXPECT_FALSE(h.is_prepared);
}

task<> compute_for_two_slices(house& h) {
  const std::uint32_t begun = h.tasks.slice();
  while (h.tasks.slice() - begun < 2) std::this_thread::yield();
  h.tasks.set_phase(sched::phase::stopping);
  co_return;
}

// Without time slices the task computes for ever.
TEST(watchdog, begins_time_slices_while_a_worker_is_awake) {
  house h;
  core::spawn_on(h.tasks, compute_for_two_slices(h)).detach();
  h.play();
  EXPECT_GE(h.tasks.slice(), 2U);
}

// With a clock of its own the worker must not depend on the machine's time.
TEST(watchdog, begins_no_time_slices_on_a_virtual_clock) {
  testing::virtual_clock clock{testing::clock_mode::manual};
  house h;
  h.tasks.around.clock = &clock;
  core::spawn_on(h.tasks, prepare_and_compute(h)).detach();  // ends after the watchdog's second check
  h.play();
  EXPECT_EQ(h.tasks.slice(), 0U);
}

}  // namespace
}  // namespace rota::detail::watchdog_test
