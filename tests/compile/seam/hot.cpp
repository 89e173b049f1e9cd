// Three hot functions: a wake, the drop of a reference, a push into a ring. cost_test.sh compiles them twice.
#include "queue/ring.hpp"
#include "task/state.hpp"

struct item {};
using ring = rota::queue::ring<item, 256>;

rota::core::on_wake hot_wake(rota::core::state& word) noexcept { return word.wake(); }
rota::core::on_release hot_release(rota::core::state& word) noexcept { return word.release(); }
rota::queue::on_push hot_push(ring::owner& mine, item& one, ring::batch& out) noexcept {
  return mine.push(one, out);
}
