// A call whose co_await was forgotten: the compiler names the remedy, for a task and for what only waits.
// EXPECT: remedy_fails.cpp:17:.*a task runs only when it is awaited or spawned: co_await it, or give it to spawn
// EXPECT: remedy_fails.cpp:18:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:19:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:20:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:21:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:22:.*nothing happens before it is awaited: co_await it
#include <rota/channel/bounded.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/time.hpp>

using namespace std::chrono_literals;

rota::task<> forgets(rota::sync::mutex& m, rota::channel::sender<int>& tx, rota::net::tcp_stream& peer) {
  rota::fs::write("state", "1");
  rota::sleep_for(10ms);
  m.lock();
  tx.send(1);
  peer.readable();
  rota::timeout(1s, rota::fs::write("state", "2"));
  co_return;
}
