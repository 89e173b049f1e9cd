// It waits with a sync::mutex, and with nothing else.
// EXPECT: (no matching|cannot convert|no known conversion|invalid initialization|no viable conversion)
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/shared_mutex.hpp>

void waits(rota::sync::condition_variable& c, rota::sync::shared_mutex& m) {
  auto held = m.blocking_lock();
  c.blocking_wait(held);
}
