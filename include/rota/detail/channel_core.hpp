// What all channels with two sides have in common: who holds a half, who waits, and what was dropped.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/channel/status.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>

namespace rota::channel::detail {

/// What a channel must know of its items.
struct item_shape {
  std::size_t size;
  std::size_t align;
  void (*destroy)(void* item) noexcept;
};

template <class T>
inline constexpr item_shape shape_of{sizeof(T), alignof(T), [](void* item) noexcept {
                                       core::demand_unguarded();
                                       base::note_write(item);
                                       static_cast<T*>(item)->~T();
                                     }};

/// Before a user's move, or destructor.
inline void before_items() noexcept { core::demand_unguarded(); }

/// How a look for a place, or for an item, ends.
enum class [[nodiscard]] look : unsigned char {
  got,      // it is the caller's
  not_now,  // there is none
  ended,    // and there will be none
  forked,   // a try has met the move of a thread that may have stayed in the parent of this process
};

/// What a try says that has got no item.
constexpr recv_status why_no_item(look did) noexcept {
  switch (did) {
    case look::ended: return recv_status::closed;
    case look::forked: return recv_status::forked;
    case look::got:
    case look::not_now: break;
  }
  return recv_status::empty;
}

// PROTOCOL: line
//   Those who wait for an item, or for room, in the order in which they came. Several may have been called, and come back in any order, because
//   others took what there was: each has a number (`wanted` of its node), and by that its place again. All of it under the list's lock.
//
//   come_      so many have come
//   put_back_  the one in the list that was put back last; null: none, or it has left the list since
//
//   join:    new: to the back, with the next number · was called: to its place, beginning at put_back_; there is none: at the front
//   call:    the first of the list
//   forget:  by who gives up, after it was unlinked
//
//   L1  the list is in the order of the numbers.
//   L2  put_back_ is in the list: what takes a node out of it by call(), close() and forget() looks whether it is that one.
//   Whoever stands in front of a place was called before, and is back already. Those who were called one after the other mostly come back so, or in
//   the opposite order: each finds its place beside the last one. From the front each would pass all who are back: with 10,000 that took as long as
//   25 times the rest of their way.
//   Checked: tests/unit/channel/line_test.cpp, tests/model/line_model.cpp.
class ROTA_API line {
 public:
  /// How many it has passed: for tests.
  std::uint64_t join(core::wait_section& section, core::wait_node& me) noexcept;
  void call_first(core::wait_section& section) noexcept {
    core::wait_node& first = *section.first();
    forget(first);
    section.call(first);
  }
  /// Nobody comes any more.
  void close(core::wait_section& section) noexcept {
    put_back_ = nullptr;
    section.grant_all(core::wait_state::closed);
  }
  void forget(const core::wait_node& me) noexcept {
    if (put_back_ == &me) put_back_ = nullptr;
  }

 private:
  std::uint64_t come_ = 0;
  core::wait_node* put_back_ = nullptr;
};

/// What a node that waits for a channel has got, beside `wait_node::got`, where the place is.
inline send_status status_of(const core::wait_node& me) noexcept { return static_cast<send_status>(me.kind); }

/// Never returned to users. The caller has claimed a place with the oldest item in it, which it drops and replaces: replace().
inline constexpr send_status sent_over_oldest{0x80};

// PROTOCOL: halves
//   senders_, receivers_   halves of each side; the last of a side closes the channel
//   sides_                 one for each side that has not gone, and one for each weak sender; the one that goes last frees the channel. So whoever
//                          closes is still an owner. A weak sender becomes a sender only while there is one
//   close_                 1: it is closed, set last of all by each who closes. 2: somebody waits, or waited, for that: set under the lock of
//                          closers_. Both are set by read-modify-writes, so one of {who closes, who waits} sees the other
//   process_               the process that made the channel; never changes. In a fork of it, a thread that was moving an item has stayed in the
//                          parent, and its move never ends there. A try that has waited for a move until it would sleep reads this. So do those that
//                          are about to take a lock: a thread of the parent may have held it at the fork

/// How many hold a channel.
class ROTA_API halves {
 public:
  enum class [[nodiscard]] on_drop : unsigned char { others, last_of_side };

  halves() noexcept;
  /// Returns true if a try must not wait any longer for a move under way: it has looked so often, and the calling process is a fork of the one
  /// that made the channel.
  [[nodiscard]] bool may_miss_the_mover(unsigned looks) const noexcept;
  /// Returns true if a lock must not be waited for: the calling process is a fork of the one that made the channel, and the lock was held at each of as many
  /// looks. A thread that has stayed in the parent may hold it. In the process that made the channel: returns false at once.
  [[nodiscard]] bool may_miss_the_holder(const base::mutex& lock) const noexcept;
  [[nodiscard]] bool may_miss_the_holder(const core::wait_list& of) const noexcept;

  void add_sender() noexcept { add(senders_); }
  void add_receiver() noexcept { add(receivers_); }
  on_drop drop_sender() noexcept { return drop(senders_); }
  on_drop drop_receiver() noexcept { return drop(receivers_); }
  /// The same, and what follows: `of` is the channel, which is gone afterwards if these were the last.
  template <class Channel>
  void drop_sender_of(Channel& of) noexcept {
    if (drop_sender() == on_drop::others) return;
    of.close();
    if (drop_side()) of.destroy();
  }
  template <class Channel>
  void drop_receiver_of(Channel& of) noexcept {
    if (drop_receiver() == on_drop::others) return;
    of.close();
    destroy_items_of(of);
    if (drop_side()) of.destroy();
  }
  /// Nobody receives any more: by the last receiver, after the close; and by each sender that publishes after it and sees its mark. See C5 of the ring
  /// and B6 of the chain.
  template <class Channel>
  static void destroy_items_of(Channel& of) noexcept {
    typename Channel::slot* oldest = nullptr;
    for (;;) {
      const look did = of.claim_item(oldest);
      if (did == look::ended || did == look::forked) return;
      if (did == look::got) {
        of.destroy_item_(of.item_in(*oldest));
        of.free(*oldest);
        continue;
      }
      if (of.halves_.may_miss_the_holder(of.receivers_)) return;
      const core::wait_section section(of.receivers_);
      of.nobody_receives_ = true;
      if (of.mark_head() != look::got) return;
    }
  }
  /// For a weak sender, beside a sender or another weak one: it goes by drop_side().
  void add_weak() noexcept { add(sides_); }
  /// For a weak sender. False: the last one has gone.
  [[nodiscard]] bool add_sender_to_others() noexcept {
    // relaxed. A guess; the exchange decides.
    std::uint32_t seen = senders_.load(base::order::relaxed);
    do {
      if (seen == 0) return false;
      if (seen >= most) ROTA_FATAL("a channel has too many halves", most);
      // relaxed. As in add(): its side is there while there is another sender. failure: relaxed. Again a guess.
    } while (!senders_.compare_exchange_weak(seen, seen + 1, base::order::relaxed, base::order::relaxed));
    return true;
  }
  /// True: the others have gone before, and the caller frees the channel.
  [[nodiscard]] bool drop_side() noexcept {
    // acq_rel. release: what this side did comes before the end. acquire: so does what the other did.
    return sides_.fetch_sub(1, base::order::acq_rel) == 1;
  }

  /// The last thing of a close.
  void tell_closed() noexcept;
  [[nodiscard]] core::wait_target to_close() noexcept { return {&closers_, this, &close_rules}; }
  [[nodiscard]] bool is_told() const noexcept {
    // acquire. Pairs with tell_closed().
    return (close_.load(base::order::acquire) & told) != 0;
  }

 private:
  static const core::wait_rules close_rules;
  static constexpr std::uint32_t told = 1;
  static constexpr std::uint32_t awaited = 2;
  static constexpr std::uint32_t most = std::uint32_t{1} << 31U;

  template <class IsHeld>
  [[nodiscard]] bool is_held_in_a_fork(IsHeld is_held) const noexcept;

  static void add(base::atomic<std::uint32_t>& count) noexcept {
    // relaxed. The caller holds one.
    if (count.fetch_add(1, base::order::relaxed) >= most) ROTA_FATAL("a channel has too many halves", most);
  }
  static on_drop drop(base::atomic<std::uint32_t>& count) noexcept {
    // acq_rel. As in drop_side(): the last one of a side goes on for all of it.
    return count.fetch_sub(1, base::order::acq_rel) == 1 ? on_drop::last_of_side : on_drop::others;
  }

  base::atomic<std::uint32_t> senders_{1};
  base::atomic<std::uint32_t> receivers_{1};
  base::atomic<std::uint32_t> sides_{2};
  base::atomic<std::uint32_t> close_{0};
  core::wait_list closers_;
  const std::uint64_t process_;
  mutable base::atomic<bool> misses_a_holder_{
      false};  // in a fork: a lock was held at each look, so no other call looks as often
};

}  // namespace rota::channel::detail
