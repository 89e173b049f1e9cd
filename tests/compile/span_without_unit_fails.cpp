// A time has a unit: each function that takes a span refuses a plain number.
// EXPECT: a span of time needs a unit: a std::chrono::duration, as 10ms
// EXPECT: sleep_for[<(]
// EXPECT: timeout[<(]
// EXPECT: mutex::lock_for[<(]
// EXPECT: semaphore::acquire_for[<(]
// EXPECT: receiver<.*::recv_for[<(]
// EXPECT: join_handle<.*wait_for[<(]
// EXPECT: interval::interval[<(]
// EXPECT: time_limit::time_limit[<(]
// EXPECT: time_limit::reset[<(]
// EXPECT: runtime::shutdown[<(]
// EXPECT: thread_pool::wait_idle[<(]
// EXPECT: blocking_select_for[<(]
// EXPECT: shield[<(]
#include <rota/cancel.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/runtime.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/task.hpp>
#include <rota/time.hpp>
#include <rota/time_limit.hpp>

rota::task<> sleeps() { co_await rota::sleep_for(10); }
rota::task<> waits() {
  const auto in_time = co_await rota::timeout(10, sleeps());
  static_cast<void>(in_time);
}
void in_locks(rota::sync::mutex& m, rota::sync::semaphore& permits) {
  static_cast<void>(m.lock_for(10));
  static_cast<void>(permits.acquire_for(10));
}
void in_channels(rota::channel::receiver<int>& rx) {
  static_cast<void>(rx.recv_for(10));
  static_cast<void>(rota::channel::blocking_select_for(10, rx.recv()));
}
void of_a_handle(rota::join_handle<int>& h) { static_cast<void>(h.wait_for(10)); }
void of_limits() {
  rota::interval every(100);
  rota::time_limit limit(1.5);
  limit.reset(10);
  const auto guard = rota::shield(10);
}
void of_ends(rota::runtime& rt, rota::pool::thread_pool& pool) {
  static_cast<void>(rt.shutdown(5));
  static_cast<void>(pool.wait_idle(5));
}
