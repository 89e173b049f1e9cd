#include "base/patience.hpp"

#include "base/thread.hpp"

namespace rota::base {

namespace {

/// What a wake costs who sends it and who gets it, together, on another processor of a virtual machine. Less would often end just too early;
/// more costs more than the sleep.
constexpr nanoseconds longest_look = std::chrono::microseconds(20);
constexpr int reads_between_times = 4;

/// False: in vain.
bool changes_soon(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  const time_point until = now() + longest_look;
  do {
    for (int i = 0; i < reads_between_times; ++i) {
      // relaxed. A guess; whoever looked looks again, by a read-modify-write or an acquire.
      if (word.load(order::relaxed) != expected) return true;
      cpu_relax();
    }
  } while (now() < until);
  return false;
}

}  // namespace

void patience::watch(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  if (!learnt_.looks_first()) return;
  // Whom it waits for would need this one.
  static const bool is_only_processor = usable_processors() == 1;
  learnt_.looked(is_only_processor || !changes_soon(word, expected));
}

wait_result patience::wait(atomic<std::uint32_t>& word,
                           std::uint32_t expected,
                           time_point deadline) noexcept {
  watch(word, expected);
  // relaxed. As the system would find it; the caller reads it again.
  if (word.load(order::relaxed) != expected) return wait_result::changed;
  falls_asleep();
  const wait_result how = futex_wait(word, expected, deadline);
  if (how == wait_result::woken) wakes_up();
  if (how == wait_result::timed_out) forget();
  return how;
}

void patience::falls_asleep() noexcept { since_ = now(); }

void patience::wakes_up() noexcept { learnt_.slept(now() - since_); }

}  // namespace rota::base
