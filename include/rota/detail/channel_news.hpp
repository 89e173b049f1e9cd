// What channel::watch and channel::broadcast have in common: a sender that never waits, and receivers that
// each see every announcement.
#pragma once

#include <cstdint>
#include <utility>

#include <rota/detail/channel_closed.hpp>
#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: news
//   word_       63..1: how many values have been sent; 0: closed. Changes under the lock of line_, after the
//               value has been put into its slot
//   senders_    halves that send; the last one that goes closes the channel
//   receivers_  halves that receive; changes under the lock
//   halves_     all of them; the last one frees the channel. A sender may outlive all receivers, and may make
//               a new one
//
//   send   under the lock: fills the slot, changes the word, and grants all waiters.
//   wait   under the lock: ends if the word has a higher count than the receiver has seen, or is closed; else
//          the receiver joins the line.
//
//   N1  Under the lock, each receiver in the line has seen all values. Once the channel is closed, the line
//       is empty.
//   N2  A grant takes nothing: a granted receiver reads the state itself. So a cancelled waiter has nothing
//       to pass on.
//   N3  Optimistic read: a reader without the lock may observe a value before the word counts it. It
//       re-checks the word afterwards, and on a mismatch reads again under the lock. So no reader returns an
//       unannounced value, or is told of the same value twice.
//   N4  The count that a receiver has seen, and the wait, are in the receiver's memory: the hooks read it
//       there, on the thread of the waiter. A leaf that has a name may be made long before it is awaited, and
//       be awaited again.
//   N5  closers_ are senders that wait until the channel is unwanted: no receiver, or closed. The thread that
//       makes it unwanted checks both conditions under the lock of closers_, after its change, and grants
//       all. A waiter checks both under that lock, too. So at least one of the two sees the other: no lost
//       wakeup. If new receivers subscribe before the check, the waiters are not woken.

class news;

/// A receiver that waits for an announcement.
struct hearing {
  news* of;
  const std::uint64_t* seen;  // the count that the receiver has seen
};

class ROTA_API news {
 public:
  struct snapshot {
    std::uint64_t word;
    [[nodiscard]] std::uint64_t count() const noexcept { return word >> 1U; }
    [[nodiscard]] bool is_closed() const noexcept { return (word & closed) != 0; }
  };

  news(const news&) = delete;
  news& operator=(const news&) = delete;

  // ---- halves
  void add_sender() noexcept;
  /// Drops a sender, and closes the channel if it was the last one. The caller still holds its half: leave().
  void drop_sender() noexcept;
  /// Adds a receiver. Returns how many values have been sent before.
  std::uint64_t add_receiver() noexcept;
  /// Drops a receiver. Returns false if it was the last one. The caller still holds its half.
  bool drop_receiver() noexcept;
  /// Gives the half up. Returns true if the caller must free the channel.
  [[nodiscard]] bool leave() noexcept {
    // acq_rel: the release orders this half's accesses before the free; the acquire does so for those of the
    // other halves.
    return halves_.fetch_sub(1, base::order::acq_rel) == 1;
  }
  [[nodiscard]] std::uint32_t receiver_count() const noexcept {
    // relaxed: an estimate; exact under the lock.
    return receivers_.load(base::order::relaxed);
  }
  [[nodiscard]] bool has_receivers() const noexcept { return receiver_count() != 0; }

  [[nodiscard]] snapshot state() const noexcept {
    // acquire: pairs with announce() and close(): the value is in its slot, and earlier writes are visible.
    return {word_.load(base::order::acquire)};
  }
  void close() noexcept;
  /// Throws errc::would_deadlock inside a modification by the same task, or by the same thread if no task
  /// runs.
  void demand_unmodified() const {
    // relaxed: if the caller is inside a modification, it has set the flag itself. Else the value does not
    // matter.
    if (was_modified_.load(base::order::relaxed)) throw_if_modifying();
  }
  /// Returns true if there is no receiver, or the channel is closed.
  [[nodiscard]] bool is_unwanted() const noexcept {
    // acquire: pairs with drop_receiver(): the writes of the last receiver are visible.
    return receivers_.load(base::order::acquire) == 0 || state().is_closed();
  }
  [[nodiscard]] core::wait_target to_close() noexcept { return {&closers_, this, &close_rules}; }
  /// `as` must outlive the wait.
  [[nodiscard]] core::wait_target to_hear(hearing& as) noexcept { return {&line_, &as, rules_}; }

 protected:
  static const core::wait_rules watch_rules;
  static const core::wait_rules broadcast_rules;
  static const core::wait_rules close_rules;

  /// `begins`: how many values count as sent at first.
  explicit news(const core::wait_rules& rules, std::uint64_t begins = 0) noexcept
      : rules_(&rules), word_(begins * one_more) {}
  ~news() { line_.end("a channel was destroyed while a task or a thread waits to receive"); }

  [[nodiscard]] core::wait_list& line() noexcept { return line_; }
  /// Under the lock: announces one more value, which is in its slot.
  void announce(core::wait_section& section) noexcept {
    // relaxed: the word changes under the lock, which the caller holds.
    const std::uint64_t before = word_.load(base::order::relaxed);
    // release: pairs with state().
    word_.store(before + one_more, base::order::release);
    section.grant_all();
  }

 private:
  static constexpr std::uint64_t closed = 1;
  static constexpr std::uint64_t one_more = 2;
  static constexpr std::uint32_t most = std::uint32_t{1} << 31U;
  static constexpr core::wait_rules rules_called(const char* what) noexcept;

  [[nodiscard]] bool is_more_than(std::uint64_t seen) const noexcept {
    const snapshot now = state();
    return now.count() > seen || now.is_closed();
  }
  [[nodiscard]] static bool is_news_for(const hearing& who) noexcept {
    return who.of->is_more_than(*who.seen);
  }
  /// Returns true if the channel is closed, and the receiver has seen all values.
  [[nodiscard]] static bool is_the_end_for(const hearing& receiver) noexcept {
    const auto now = receiver.of->state();
    return now.is_closed() && now.count() <= *receiver.seen;
  }
  void add_half() noexcept;
  void tell_unwanted() noexcept;
  void throw_if_modifying() const;
  friend class modification;

  const core::wait_rules* rules_;
  base::atomic<std::uint64_t> word_;
  core::wait_list line_;
  core::wait_list closers_;
  base::atomic<std::uint32_t> senders_{1};
  base::atomic<std::uint32_t> receivers_{1};
  base::atomic<std::uint32_t> halves_{2};
  base::atomic<bool> was_modified_{false};  // set by the first modification: before it a send skips a check
};

/// While it lives, the task (or the thread, if no task runs) runs a function that changes a copy of the
/// value. If that function sent to the same channel, the copy would be out of date each time, for ever.
class ROTA_API modification {
 public:
  /// Throws errc::would_deadlock inside another one of the same channel.
  explicit modification(news& of);
  modification(const modification&) = delete;
  modification& operator=(const modification&) = delete;
  ~modification();

 private:
  friend class news;

  const news* of_;
  const void* task_;
  modification* outer_;
};

/// What the senders of a watch and of a broadcast have in common: each counts as a sender and as a half.
template <class State>
class news_sender : public waits_for_close<news_sender<State>> {
 public:
  news_sender(const news_sender& other) noexcept : waits_for_close<news_sender>(), on_(other.on_) {
    if (on_ != nullptr) on_->add_sender();
  }
  news_sender(news_sender&& other) noexcept
      : waits_for_close<news_sender>(), on_(std::exchange(other.on_, nullptr)) {}
  news_sender& operator=(const news_sender& other) noexcept {
    news_sender copy(other);
    std::swap(on_, copy.on_);
    return *this;
  }
  news_sender& operator=(news_sender&& other) noexcept {
    news_sender taken(std::move(other));
    std::swap(on_, taken.on_);
    return *this;
  }

  /// Returns true if there is any receiver; an estimate while others come and go.
  [[nodiscard]] bool has_receivers() const noexcept { return on_->has_receivers(); }
  [[nodiscard]] bool same_channel(const news_sender& other) const noexcept { return on_ == other.on_; }
  /// Returns how many receivers there are; an estimate, too.
  [[nodiscard]] std::uint32_t receiver_count() const noexcept { return on_->receiver_count(); }
  /// Closes the channel for all halves: nothing is sent any more. What is there can still be received, or
  /// read, and then receivers are told of the end.
  void close() noexcept { on_->close(); }
  [[nodiscard]] bool is_closed() const noexcept { return on_->state().is_closed(); }

 protected:
  /// For a state that counts this half already.
  explicit news_sender(State& on) noexcept : on_(&on) {}
  ~news_sender() {
    if (on_ == nullptr) return;
    on_->drop_sender();
    if (on_->leave()) on_->free();
  }

 private:
  friend class waits_for_close<news_sender>;

  [[nodiscard]] core::wait_target to_close() noexcept { return on_->to_close(); }

 protected:
  held<State> on_;
};

}  // namespace rota::channel::detail
