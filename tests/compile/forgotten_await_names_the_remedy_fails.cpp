// A forgotten co_await: the compiler names the remedy, for a task and for other awaitables.
// EXPECT: remedy_fails.cpp:30:.*a task does nothing without co_await or spawn
// EXPECT: remedy_fails.cpp:31:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:32:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:33:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:34:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:35:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:36:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:37:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:38:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:39:.*a task does nothing without co_await or spawn
// EXPECT: remedy_fails.cpp:40:.*does nothing without co_await
// EXPECT: remedy_fails.cpp:41:.*does nothing without co_await
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
