// The other side of a connection, for all who may have to end it.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include <rota/net/tcp_stream.hpp>

namespace chat {

/// Why a client went.
enum class ending : unsigned char {
  left,      // by itself
  too_long,  // its line was
  too_slow,  // its outbox was full, and the policy is to disconnect
  stuck,     // it did not take a line, or what was left at the end, in time
  broken,    // the connection
  shutdown,  // the server's
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

/// Owns the stream. Its session reads from it, its outbox writes to it, and whoever finds it too slow cuts it off: any thread.
class peer {
 public:
  explicit peer(rota::net::tcp_stream stream) noexcept : stream_(std::move(stream)) {}

  [[nodiscard]] rota::net::tcp_stream& stream() noexcept { return stream_; }
  /// Reads and writes that wait end. The first reason stands. What the kernel still has is given up when the last owner goes.
  void cut(ending why) noexcept {
    ending none = ending::left;
    if (!why_.compare_exchange_strong(none, why)) return;
    static_cast<void>(stream_.reset_on_close());
    static_cast<void>(stream_.shutdown(rota::net::shutdown_how::both));
  }
  [[nodiscard]] bool is_cut() const noexcept { return why() != ending::left; }
  /// ending::left: it was not cut off.
  [[nodiscard]] ending why() const noexcept { return why_.load(); }

 private:
  rota::net::tcp_stream stream_;
  std::atomic<ending> why_{ending::left};
};

}  // namespace chat
