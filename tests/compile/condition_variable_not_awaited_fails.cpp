// A wait without co_await does not wait.
// EXPECT: (ignoring return value|nodiscard)
#include <rota/sync/condition_variable.hpp>
#include <rota/task.hpp>

rota::task<void> waits(rota::sync::condition_variable& c, rota::sync::mutex& m) {
  auto held = co_await m.lock();
  c.wait(held);
}
