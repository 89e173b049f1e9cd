// An array of characters has no length of its own: the part that counts is named.
// EXPECT: (deleted|use of deleted)
#include <rota/net/tcp_stream.hpp>

rota::task<> writes(rota::net::tcp_stream& to) {
  char buffer[100] = {};
  const auto put = co_await to.write_all(buffer);
  static_cast<void>(put);
}
