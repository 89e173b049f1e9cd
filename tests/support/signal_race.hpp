// notify_one beside waits that begin, any number of times, with an exact count.
#pragma once

#include <rota/join_handle.hpp>
#include <rota/runtime.hpp>
#include <rota/sync/notify.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace rota::test {

/// A task waits at each of many places, in a loop. One thread goes round and signals each place that has
/// passed since its last signal. So a signal comes before the next wait, while it begins, or after it. The
/// task counts what it received. After a lost signal its task never passes, and the race does not end.
class signal_race {
 public:
  static constexpr unsigned places = 64;

  explicit signal_race(std::uint64_t seed) {
    for (place& each : all_) each.random = seed += 0x9e3779b97f4a7c15U;
  }

  /// Makes `calls` at each place, with the tasks on `rt`. Calls `moved()` when some have been made.
  template <class F>
  void run(runtime& rt, std::uint64_t calls, F moved) {
    std::vector<join_handle<void>> tasks;
    tasks.reserve(places);
    for (place& each : all_) tasks.push_back(rt.spawn(passes(each, each.calls + calls)));
    for (std::uint64_t left = calls * places; left != 0;) {
      const std::uint64_t made = go_round(calls_ + calls);
      left -= made;
      made == 0 ? std::this_thread::yield() : moved();
    }
    calls_ += calls;
    for (join_handle<void>& each : tasks) each.join();
  }

  /// All calls; and about how many came before their wait, from a sample of half of them.
  [[nodiscard]] std::uint64_t calls() const { return calls_ * places; }
  [[nodiscard]] std::uint64_t early() const {
    std::uint64_t sum = 0;
    for (const place& each : all_) sum += each.early;
    return 2 * sum;
  }
  /// Returns the number of signals left, which must be 0.
  [[nodiscard]] std::uint64_t left() {
    std::uint64_t sum = 0;
    for (place& each : all_) sum += each.signal.try_wait() ? 1 : 0;
    return sum;
  }

 private:
  struct alignas(128) place {
    sync::notify signal;
    std::atomic<std::uint64_t> passed{0};
    std::uint64_t calls = 0;   // the caller's
    std::uint64_t random = 0;  // the task's, as what follows
    std::uint64_t early = 0;
  };

  static task<void> passes(place& at, std::uint64_t times) {
    while (at.passed.load(std::memory_order_relaxed) != times) {
      at.random = at.random * 6364136223846793005U + 1;
      const std::uint64_t draw = at.random >> 32U;
      for (std::uint64_t spins = draw % 512; spins != 0; --spins) asm volatile("");
      const bool is_early = draw % 1024 < 512 && at.signal.try_wait();
      at.early += is_early ? 1 : 0;
      if (!is_early) co_await at.signal.wait();
      at.passed.fetch_add(1, std::memory_order_release);
    }
  }
  std::uint64_t go_round(std::uint64_t until) {
    std::uint64_t made = 0;
    for (place& each : all_) {
      if (each.calls == until || each.passed.load(std::memory_order_acquire) != each.calls) continue;
      ++each.calls;
      each.signal.notify_one();
      ++made;
    }
    return made;
  }

  std::vector<place> all_ = std::vector<place>(places);
  std::uint64_t calls_ = 0;  // at each place
};

}  // namespace rota::test
