// The servers of bench/echo/rota.cpp: one io_context, run by one thread per worker.
#include <array>

#include "subject.hpp"

namespace peer {
namespace {

using asio::ip::tcp;
constexpr auto with_error = asio::as_tuple(use_awaitable);

template <std::size_t Buffer>
awaitable<void> echo(tcp::socket stream) {
  std::array<char, Buffer> buffer;
  for (;;) {
    const auto [failed, got] = co_await stream.async_read_some(asio::buffer(buffer), with_error);
    if (failed) co_return;
    const auto [broken, sent] = co_await asio::async_write(stream, asio::buffer(buffer, got), with_error);
    if (broken) co_return;
  }
}

template <std::size_t Buffer>
awaitable<void> serve(tcp::acceptor& listener) {
  for (;;) {
    auto stream = co_await listener.async_accept(use_awaitable);
    stream.set_option(tcp::no_delay(true));
    asio::co_spawn(listener.get_executor(), echo<Buffer>(std::move(stream)), asio::detached);
  }
}

template <std::size_t Buffer>
void server(const job& what) {
  pool workers(what.workers);
  tcp::acceptor listener(workers.context(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("{\"port\":%u}\n", unsigned(listener.local_endpoint().port()));
  std::fflush(stdout);
  workers.run(serve<Buffer>(listener));
}

constexpr one_case cases[] = {
    {"echo_64", 1, 1, server<128>},
    {"echo_16k", 1, 1, server<32768>},
};

}  // namespace

const std::span<const one_case> echo_cases(cases);

}  // namespace peer
