// An awaitable in a variable that is never used does nothing, and the compiler warns.
// EXPECT: warning_fails.cpp:28:.*unused variable .*guard
// EXPECT: warning_fails.cpp:29:.*unused variable .*pause
// EXPECT: warning_fails.cpp:30:.*unused variable .*sent
// EXPECT: warning_fails.cpp:31:.*unused variable .*both
// EXPECT: warning_fails.cpp:32:.*unused variable .*work
// EXPECT: warning_fails.cpp:33:.*unused variable .*late
// EXPECT: warning_fails.cpp:34:.*unused variable .*turn
#include <rota/channel/bounded.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/timeout.hpp>
#include <rota/when.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<int> one() { co_return 1; }

}  // namespace

rota::task<> forgets(rota::sync::mutex& m, rota::channel::sender<int>& tx, rota::gate::mailbox<int>& box) {
  co_await rota::yield();
  auto guard = m.lock();
  auto pause = rota::sleep_for(10ms);
  auto sent = tx.send(1);
  auto both = rota::when_all(one(), one());
  auto work = rota::fs::write("state", "1");
  auto late = rota::timeout(1s, one());
  auto turn = box.async_send(1);
}
