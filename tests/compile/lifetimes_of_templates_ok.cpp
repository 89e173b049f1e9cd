// Templates that return a task and are no coroutine. clang checks their lifetimes only at their uses.
// FLAGS: -DROTA_CHECK_LIFETIMES
#include <rota/fs/file.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/graceful_shutdown.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/server.hpp>

#include <chrono>
#include <utility>

inline rota::task_local<int> level{0};

rota::task<int> number(int n) { co_return n; }

rota::task<void> on_the_pool(rota::pool::thread_pool& pool) {
  auto made = pool.submit(number(1));
  auto called = pool.submit([]() -> rota::task<int> { co_return 2; });
  static_cast<void>(co_await made);
  static_cast<void>(co_await called);
  static_cast<void>(co_await level.scope(3, number(3)));
}

rota::task<void> over_tls(rota::net::tcp_stream below,
                          rota::net::tcp_stream other,
                          const rota::tls::client& client,
                          const rota::tls::server& server) {
  auto here = co_await client.connect(std::move(below), "example.org");
  if (!here.has_value()) co_return;
  static_cast<void>(co_await here->write_all("hello"));
  static_cast<void>(co_await here->finish(std::chrono::seconds(1)));
  static_cast<void>(co_await server.accept(std::move(other)));
}

rota::task<void> texts(rota::net::tcp_stream& to, rota::fs::file& file, rota::graceful_shutdown& ends) {
  rota::io::buffered_writer out(to);
  static_cast<void>(co_await out.write_all("hello"));
  static_cast<void>(co_await rota::io::write_all(to, "hello"));
  static_cast<void>(co_await file.write_all_at("hello", 0));
  static_cast<void>(co_await ends.drain(std::chrono::seconds(1)));
}
