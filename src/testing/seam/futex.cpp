#include "base/futex.hpp"

#include "testing/machine.hpp"

namespace rota::base {

using testing::detail::active;
using testing::detail::machine;

namespace {

constexpr unsigned upper = 32;

wait_result translate(machine::futex_result r) noexcept {
  switch (r) {
    case machine::futex_result::woken: return wait_result::woken;
    case machine::futex_result::changed: return wait_result::changed;
    case machine::futex_result::timed_out: return wait_result::timed_out;
  }
  return wait_result::woken;
}

}  // namespace

// Outside of an execution a sleep would never end: there is only one thread.
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  if (active != nullptr) return translate(active->futex_wait({&word, sizeof word}, expected, deadline));
  if (testing::detail::read_word({&word, sizeof word}) != expected) return wait_result::changed;
  testing::detail::abort_outside("futex_wait outside of an execution");
}

wait_result futex_wait_upper(atomic<std::uint64_t>& word,
                             std::uint32_t expected,
                             time_point deadline) noexcept {
  if (active != nullptr)
    return translate(active->futex_wait({&word, sizeof word}, expected, deadline, upper));
  if (testing::detail::read_word({&word, sizeof word}) >> upper != expected) return wait_result::changed;
  testing::detail::abort_outside("futex_wait outside of an execution");
}

wait_result futex_watch(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  if (active != nullptr) active->note_look();
  return futex_wait(word, expected, deadline);
}

int futex_wake_upper(const atomic<std::uint64_t>* word, int count) noexcept {
  return active == nullptr ? 0 : active->futex_wake(word, count);
}

int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept {
  return active == nullptr ? 0 : active->futex_wake(word, count);
}

}  // namespace rota::base
