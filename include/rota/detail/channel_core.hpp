// What all channels with two sides have in common: counts of halves, the line of waiters, the wait for a
// close.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/channel/status.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>

namespace rota::channel::detail {

/// The type-erased properties of a channel's items.
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

/// Called before a user's move constructor or destructor.
inline void before_items() noexcept { core::demand_unguarded(); }

/// The result of a search for a place, or for an item.
enum class [[nodiscard]] look : unsigned char {
  got,      // the caller has claimed it
  not_now,  // there is none
  ended,    // there is none, and there will be none
  forked,   // a try has met the move of a thread that may have stayed in the parent of this process
};

/// Returns the status of a try that has got no item.
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
//   The waiters for an item, or for a place, in the order in which they came. Several may have been called,
//   and come back in any order, because other threads took the items: each has a number (`wanted` of its
//   node), which determines its place in line when it returns. All of it under the list's lock.
//
//   come_      the number of waiters that have come
//   put_back_  the node in the list that was put back last; null: none, or it has left the list since
//
//   join:    a new waiter goes to the back, with the next number. A waiter that was called goes to its place;
//            the search begins at put_back_, or at the front if that is null
//   call:    the first of the list
//   forget:  by a waiter that gives up, after it was unlinked
//
//   L1  The list is in the order of the numbers.
//   L2  put_back_ is in the list: call(), close() and forget(), which take a node out, check whether it is
//       that one.
//   All waiters in front of a returning waiter's place were called before, and are back already. Waiters that
//   were called one after the other mostly come back in that order, or in the opposite order: each finds its
//   place beside the last one. From the front each would pass all that are back: with 10,000 waiters that
//   took as long as 25 times the rest of their work.
//   Checked: tests/unit/channel/line_test.cpp, tests/model/line_model.cpp.
class ROTA_API line {
 public:
  /// Puts the node in its place. Returns how many nodes it has passed: for tests.
  std::uint64_t join(core::wait_section& section, core::wait_node& me) noexcept;
  void call_first(core::wait_section& section) noexcept {
    core::wait_node& first = *section.first();
    forget(first);
    section.call(first);
  }
  /// Ends all waits with `closed`.
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

/// Returns the status of a send in its node. `wait_node::got` has the place.
inline send_status status_of(const core::wait_node& me) noexcept { return static_cast<send_status>(me.kind); }

/// Never returned to users. The caller has claimed a place with the oldest item in it, which it drops and
/// replaces: replace().
inline constexpr send_status sent_over_oldest{0x80};

// PROTOCOL: halves
//   senders_, receivers_   halves of each side; the last one of a side closes the channel
//   sides_                 one for each side that has not gone, and one for each weak sender; the last one
//                          frees the channel. So the half that closes still owns the channel. A weak sender
//                          becomes a sender only while there is another sender
//   close_                 told: closed, set as the last step of each close. awaited: a waiter waits, or
//                          waited, for the close: set under the lock of closers_. Both are set by
//                          read-modify-writes of one word, so at least one of {closer, waiter} sees the
//                          other: no lost wakeup
//   process_               the process that made the channel; constant. In a fork of it, a thread that was
//                          moving an item has stayed in the parent, and its move never ends there. A try that
//                          has waited for a move until it would sleep reads this. So does a thread that is
//                          about to take a lock: a thread of the parent may have held it at the fork

/// The counts of a channel's halves, and its wait for a close.
class ROTA_API halves {
 public:
  enum class [[nodiscard]] on_drop : unsigned char { others, last_of_side };

  halves() noexcept;
  /// Returns true if a try must not wait any longer for a move under way: `looks` has reached the limit, and
  /// the calling process is a fork of the one that made the channel.
  [[nodiscard]] bool may_miss_the_mover(unsigned looks) const noexcept;
  /// Returns true if a lock must not be waited for: the calling process is a fork of the one that made the
  /// channel, and the lock was held at each of as many polls. A thread that has stayed in the parent may hold
  /// it. In the process that made the channel, returns false at once.
  [[nodiscard]] bool may_miss_the_holder(const base::mutex& lock) const noexcept;
  [[nodiscard]] bool may_miss_the_holder(const core::wait_list& of) const noexcept;

  void add_sender() noexcept { add(senders_); }
  void add_receiver() noexcept { add(receivers_); }
  on_drop drop_sender() noexcept { return drop(senders_); }
  on_drop drop_receiver() noexcept { return drop(receivers_); }
  /// Drops a half, and closes and destroys the channel as needed. `of` is the channel; it is gone afterwards
  /// if this was the last side.
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
  /// Destroys the items that no receiver can take any more. Called by the last receiver, after the close, and
  /// by each sender that publishes after it and sees its mark. See C5 of the ring and B6 of the chain.
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
  /// Adds a weak sender, beside a sender or another weak one. It is dropped by drop_side().
  void add_weak() noexcept { add(sides_); }
  /// Adds a sender for a weak sender. Returns false if the last sender has gone.
  [[nodiscard]] bool add_sender_to_others() noexcept {
    // relaxed: an estimate; the exchange decides.
    std::uint32_t seen = senders_.load(base::order::relaxed);
    do {
      if (seen == 0) return false;
      if (seen >= most) ROTA_FATAL("a channel has too many halves", most);
      // relaxed: as in add(): its side exists while there is another sender. failure: relaxed: the value is
      // an estimate again.
    } while (!senders_.compare_exchange_weak(seen, seen + 1, base::order::relaxed, base::order::relaxed));
    return true;
  }
  /// Returns true if the others have gone before: the caller frees the channel.
  [[nodiscard]] bool drop_side() noexcept {
    // acq_rel: the release orders this side's accesses before the free; the acquire does so for those of the
    // other sides.
    return sides_.fetch_sub(1, base::order::acq_rel) == 1;
  }

  /// Wakes the waiters for the close. The last step of a close.
  void tell_closed() noexcept;
  [[nodiscard]] core::wait_target to_close() noexcept { return {&closers_, this, &close_rules}; }
  [[nodiscard]] bool is_told() const noexcept {
    // acquire: pairs with tell_closed().
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
    // relaxed: the caller holds a half, so the count cannot become 0.
    if (count.fetch_add(1, base::order::relaxed) >= most) ROTA_FATAL("a channel has too many halves", most);
  }
  static on_drop drop(base::atomic<std::uint32_t>& count) noexcept {
    // acq_rel: same reason as in drop_side(): the last half of a side acts for all of that side.
    return count.fetch_sub(1, base::order::acq_rel) == 1 ? on_drop::last_of_side : on_drop::others;
  }

  base::atomic<std::uint32_t> senders_{1};
  base::atomic<std::uint32_t> receivers_{1};
  base::atomic<std::uint32_t> sides_{2};
  base::atomic<std::uint32_t> close_{0};
  core::wait_list closers_;
  const std::uint64_t process_;
  // In a fork: a lock was held at each poll, so no later call polls as often.
  mutable base::atomic<bool> misses_a_holder_{false};
};

}  // namespace rota::channel::detail
