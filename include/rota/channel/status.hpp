// What channels say, and what they may be asked for.
#pragma once

#include <cstdint>
#include <expected>

#include <rota/time.hpp>

namespace rota::channel {

/// What became of an item. `forked` is said by tries, and by sends that do not wait for room.
enum class [[nodiscard]] send_status : unsigned char {
  sent,     // it is in
  full,     // refused: there was no room, and it was not to wait
  dropped,  // discarded: there was no room, and so says the policy of the channel; or nobody is there to receive it; or the function of a
            // send_if_modified says that nothing has changed
  closed,   // refused: nothing comes in any more
  timed_out,  // refused: there was no room in time
  forked,  // refused: another thread's move of an item is in the way, and may never end here: this process is a fork, see recv_status
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

/// Why there is no item. `forked` is said by tries only.
enum class recv_status : unsigned char {
  empty,      // none is there now
  closed,     // none is there, and there will be none
  timed_out,  // none came in time
  lagged,     // what came next has been overwritten: see no_item
  forked,  // another thread puts the next item in, and may never end here: this process is a fork of the one that made the channel
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

/// What a send does where there is no room.
enum class overflow : unsigned char {
  wait,         // send() waits; try_send() says `full`
  reject,       // both say `full`
  drop_oldest,  // the item that has been there for longest goes, in one step with the send: no receiver finds the channel empty between them. It
  // is destroyed behind that step: its destructor may use the channel. A send there drops the next item inside of this
  // destructor, so destructors that all send never end
  drop_newest,  // the new item goes: `dropped`
};

struct options {
  overflow on_full = overflow::wait;
};

/// How often there was no room. Each item that was offered was sent, waits, was refused as `closed` or `forked`, or is counted here once;
/// what `dropped_oldest` counts was sent before.
struct channel_stats {
  std::uint64_t refused = 0;  // sends that said `full`
  std::uint64_t dropped_oldest = 0;
  std::uint64_t dropped_newest = 0;
};

}  // namespace rota::channel

namespace rota::core {

/// What a limit makes of channels: the words for a late end are there already.
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
