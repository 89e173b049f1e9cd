// The results of channel operations, and the options of a channel.
#pragma once

#include <cstdint>
#include <expected>

#include <rota/time.hpp>

namespace rota::channel {

/// The result of a send. Only tries, and sends that do not wait for room, return `forked`.
enum class [[nodiscard]] send_status : unsigned char {
  sent,       // the item is in the channel
  full,       // refused: the channel was full, and the send must not wait
  dropped,    // discarded by the overflow policy, or because no receiver exists; or send_if_modified() has
              // changed nothing
  closed,     // refused: the channel takes no more items
  timed_out,  // refused: the channel was full until the limit
  forked,     // refused: another thread's move of an item is in the way, and may never end: this process is a
              // fork, see recv_status
};

[[nodiscard]] constexpr const char* to_string(send_status status) noexcept {
  switch (status) {
    case send_status::sent: return "sent";
    case send_status::full: return "full";
    case send_status::dropped: return "dropped";
    case send_status::closed: return "closed";
    case send_status::timed_out: return "timed out";
    case send_status::forked: return "forked";
  }
  return "unknown";
}

/// Why there is no item. Only tries return `forked`.
enum class recv_status : unsigned char {
  empty,      // there is no item now
  closed,     // there is no item, and there will be none
  timed_out,  // no item came before the limit
  lagged,     // the next value has been overwritten: see no_item
  forked,     // another thread is moving the next item in, and that may never end: this process is a fork of
              // the one that made the channel
};

[[nodiscard]] constexpr const char* to_string(recv_status status) noexcept {
  switch (status) {
    case recv_status::empty: return "empty";
    case recv_status::closed: return "closed";
    case recv_status::timed_out: return "timed out";
    case recv_status::lagged: return "lagged";
    case recv_status::forked: return "forked";
  }
  return "unknown";
}

/// What a send to a full channel does.
enum class overflow : unsigned char {
  wait,         // send() waits; try_send() returns `full`
  reject,       // both return `full`
  drop_oldest,  // drops the oldest item, in one step with the send: no receiver finds the channel empty
                // between them. The item is destroyed after that step: its destructor may use the channel. A
                // send in that destructor drops the next item inside it: destructors that all send never end
  drop_newest,  // drops the new item, and returns `dropped`
};

struct options {
  overflow on_full = overflow::wait;
};

/// How often a send found the channel full. Each item that was offered was sent, waits, was refused as
/// `closed` or `forked`, or is counted here once. An item that `dropped_oldest` counts was sent before.
struct channel_stats {
  std::uint64_t refused = 0;  // sends that returned `full`
  std::uint64_t dropped_oldest = 0;
  std::uint64_t dropped_newest = 0;
};

}  // namespace rota::channel

namespace rota::core {

/// The result of a channel operation with a limit: its own type has `timed_out` already.
template <>
struct timed_result<channel::send_status> {
  using type = channel::send_status;
  static type late() noexcept { return channel::send_status::timed_out; }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    return inner.await_resume();
  }
};
template <class T>
struct timed_result<std::expected<T, channel::recv_status>> {
  using type = std::expected<T, channel::recv_status>;
  static type late() { return std::unexpected(channel::recv_status::timed_out); }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    return inner.await_resume();
  }
};

}  // namespace rota::core
