#include "base/patience.hpp"

#include "base/linux/processors.hpp"

#include <algorithm>

namespace rota::base {

namespace {

/// What a wake costs who sends it and who gets it, together, on another processor of a virtual machine. Less would often end just too early;
/// more costs more than the sleep.
constexpr nanoseconds longest_look = std::chrono::microseconds(20);
constexpr int reads_between_times = 4;

/// Then whom a thread waits for would need its own. A quota of one says less: its threads run beside each other until it is used up. Asked once, without a lock that a fork could leave behind: two that ask at once hear
/// the same.
bool is_only_processor() noexcept {
  static constinit atomic<std::uint32_t> answer{0};
  // relaxed, both. It is the same for everybody.
  std::uint32_t known = answer.load(order::relaxed);
  if (known == 0) {
    known = affinity_processors() == 1 ? 1 : 2;
    answer.store(known, order::relaxed);
  }
  return known == 1;
}

/// False: in vain.
bool changes_soon(const atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  if (is_only_processor()) return false;
  const time_point until = std::min(now() + longest_look, deadline);
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

void patience::watch(const atomic<std::uint32_t>& word,
                     std::uint32_t expected,
                     time_point deadline) noexcept {
  if (learnt_.looks_first()) learnt_.looked(!changes_soon(word, expected, deadline));
}

wait_result patience::wait(atomic<std::uint32_t>& word,
                           std::uint32_t expected,
                           time_point deadline) noexcept {
  if (learnt_.looks_first()) learnt_.looked(!changes_soon(word, expected, deadline));
  // relaxed. As the system would find it; the caller reads it again.
  if (word.load(order::relaxed) != expected) return wait_result::changed;
  falls_asleep();
  const wait_result how = futex_wait(word, expected, deadline);
  // relaxed. The same. A wake for nothing says nothing of how long the wait is.
  if (how == wait_result::woken && word.load(order::relaxed) != expected) wakes_up();
  if (how == wait_result::timed_out) forget();
  return how;
}

void patience::falls_asleep() noexcept { since_ = now(); }

void patience::wakes_up() noexcept { learnt_.slept(now() - since_); }

}  // namespace rota::base
