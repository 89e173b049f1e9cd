// A call whose co_await was forgotten: the compiler names the remedy, for a task and for what only waits.
// EXPECT: remedy_fails.cpp:30:.*a task runs only when it is awaited or spawned: co_await it, or give it to spawn
// EXPECT: remedy_fails.cpp:31:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:32:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:33:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:34:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:35:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:36:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:37:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:38:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:39:.*a task runs only when it is awaited or spawned: co_await it, or give it to spawn
// EXPECT: remedy_fails.cpp:40:.*nothing happens before it is awaited: co_await it
// EXPECT: remedy_fails.cpp:41:.*nothing happens before it is awaited: co_await it
#include <rota/channel/bounded.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/time.hpp>

using namespace std::chrono_literals;

rota::task<> forgets(rota::sync::mutex& m,
                     rota::channel::sender<int>& tx,
                     rota::net::tcp_stream& peer,
                     rota::net::udp_socket& socket,
                     rota::channel::receiver<int>& rx,
                     rota::gate::mailbox<int>& box) {
  rota::fs::write("state", "1");
  rota::sleep_for(10ms);
  m.lock();
  tx.send(1);
  peer.readable();
  rota::timeout(1s, rota::fs::write("state", "2"));
  m.lock_for(10ms);
  socket.send({});
  socket.recv({});
  box.async_send(1);
  rx.recv();
  rx.recv_for(10ms);
  co_return;
}
