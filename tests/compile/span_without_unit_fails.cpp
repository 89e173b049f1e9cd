// A time has a unit.
// EXPECT: sleep_for takes a std::chrono::duration, as 10ms
// EXPECT: timeout takes a std::chrono::duration, as 10ms
#include <rota/task.hpp>
#include <rota/time.hpp>

rota::task<> sleeps() { co_await rota::sleep_for(10); }
rota::task<> waits() {
  const auto in_time = co_await rota::timeout(10, sleeps());
  static_cast<void>(in_time);
}
