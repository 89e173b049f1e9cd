// A body's awaitable would be dropped without effect.
// EXPECT: would never be awaited: let it return a task
#include <rota/parallel.hpp>
#include <rota/time.hpp>

rota::task<void> sleeps() {
  co_await rota::parallel_for(0, 10, [](int) { return rota::sleep_for(std::chrono::seconds(1)); });
}
