#include "base/patience.hpp"

#include "base/linux/processors.hpp"

#include <algorithm>

namespace rota::base {

namespace {

/// The cost of a wake to the waker and to the woken thread, together, on another processor of a virtual
/// machine. A shorter spin would often end just too early; a longer one costs more than the sleep.
constexpr nanoseconds longest_look = std::chrono::microseconds(20);
constexpr int reads_between_times = 4;

/// Returns true if there is one processor: then the thread that this one waits for would need it. A quota of
/// one does not imply that: the threads run in parallel until it is used up. The answer is computed once,
/// without a lock that a fork could leave locked: two threads that compute it at once get the same answer.
bool is_only_processor() noexcept {
  static constinit atomic<std::uint32_t> answer{0};
  // relaxed, both: every thread computes the same value.
  std::uint32_t known = answer.load(order::relaxed);
  if (known == 0) {
    known = affinity_processors() == 1 ? 1 : 2;
    answer.store(known, order::relaxed);
  }
  return known == 1;
}

/// Spins. Returns false if the word did not change.
bool changes_soon(const atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  if (is_only_processor()) return false;
  const time_point until = std::min(now() + longest_look, deadline);
  do {
    for (int i = 0; i < reads_between_times; ++i) {
      // relaxed: a guess. The caller reads the word again, by a read-modify-write or with acquire.
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
  // relaxed: as the kernel would read it. The caller reads it again.
  if (word.load(order::relaxed) != expected) return wait_result::changed;
  falls_asleep();
  const wait_result how = futex_wait(word, expected, deadline);
  // relaxed: same reason as above. A spurious wakeup tells nothing about the length of the wait.
  if (how == wait_result::woken && word.load(order::relaxed) != expected) wakes_up();
  if (how == wait_result::timed_out) forget();
  return how;
}

void patience::falls_asleep() noexcept { since_ = now(); }

void patience::wakes_up() noexcept { learnt_.slept(now() - since_); }

}  // namespace rota::base
