// The connection to a client, shared by all objects that may have to end it.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include <rota/net/tcp_stream.hpp>

namespace chat {

/// Why a client is gone.
enum class ending : unsigned char {
  left,      // the client left
  too_long,  // its line was too long
  too_slow,  // its outbox was full, and the policy is to disconnect
  stuck,     // it did not read a line, or the last lines, in time
  broken,    // the connection broke
  shutdown,  // the server shut down
};

[[nodiscard]] constexpr std::string_view describe(ending why) noexcept {
  switch (why) {
    case ending::left: return "left";
    case ending::too_long: return "was disconnected: too long a line";
    case ending::too_slow: return "was disconnected: too slow";
    case ending::stuck: return "was disconnected: it does not read";
    case ending::broken: return "lost the connection";
    case ending::shutdown: return "was here at the end";
  }
  return "left";
}

/// Owns the stream. The session reads from it and the outbox writes to it. Any thread may cut it off, for
/// example a room that finds the client too slow.
class peer {
 public:
  explicit peer(rota::net::tcp_stream stream) noexcept : stream_(std::move(stream)) {}

  [[nodiscard]] rota::net::tcp_stream& stream() noexcept { return stream_; }
  /// Shuts the connection down: pending reads and writes end. The first reason stays. The stream is closed,
  /// and unsent bytes are dropped, when the last owner is gone.
  void cut(ending why) noexcept {
    ending none = ending::left;
    if (!why_.compare_exchange_strong(none, why)) return;
    static_cast<void>(stream_.reset_on_close());
    static_cast<void>(stream_.shutdown(rota::net::shutdown_how::both));
  }
  [[nodiscard]] bool is_cut() const noexcept { return why() != ending::left; }
  /// Returns the reason, or ending::left if the connection was not cut.
  [[nodiscard]] ending why() const noexcept { return why_.load(); }

 private:
  rota::net::tcp_stream stream_;
  std::atomic<ending> why_{ending::left};
};

}  // namespace chat
