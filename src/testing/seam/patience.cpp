// In the model a thread sleeps at once: the search chooses what it reads of a word, so a sleep covers a spin
// that lasts.
#include "base/patience.hpp"

namespace rota::base {

wait_result patience::wait(atomic<std::uint32_t>& word,
                           std::uint32_t expected,
                           time_point deadline) noexcept {
  return futex_wait(word, expected, deadline);
}
void patience::watch(const atomic<std::uint32_t>& /*word*/,
                     std::uint32_t /*expected*/,
                     time_point /*deadline*/) noexcept {}
void patience::falls_asleep() noexcept {}
void patience::wakes_up() noexcept {}

}  // namespace rota::base
