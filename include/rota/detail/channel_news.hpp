// What channel::watch and channel::broadcast have in common: a sender that never waits, and receivers that each hear of everything.
#pragma once

#include <cstdint>
#include <utility>

#include <rota/detail/channel_closed.hpp>
#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: news
//   word_       63..1: how many have been sent; 0: closed. Changes under the lock of line_, where what was sent is in its slot before
//   senders_    halves that send; the last one that goes closes the channel
//   receivers_  halves that receive; changes under the lock
//   halves_     all of them; the last one frees the channel. A sender outlives all receivers, and may make a new one
//
//   send   under the lock: the slot, the word, and all who wait are granted.
//   wait   under the lock: the word says more than the receiver has seen by then, or closed; or else it joins the line.
//
//   N1  Under the lock, nobody is in the line who has not seen everything; and nobody is, once it is closed.
//   N2  A grant takes nothing: who was granted looks for itself. So a waiter that is cancelled has nothing to pass on.
//   N3  A slot may be newer than the word for who reads it without the lock. He looks at the word afterwards, and if it does not know of
//       what he has read, he reads again under the lock: so nobody sees what is not yet told, and hears of it twice.
//   N4  What a receiver has seen is its own, and so is the wait: the hooks look at it where it lies, in the thread of who waits. A leaf that has
//       a name may be made long before it is awaited, and be awaited again.
//   N5  closers_ are senders that wait until nobody wants to hear: no receiver, or closed. Who makes it so looks at both under that lock, after
//       the change, and grants all; who waits looks at both under it, too: one of the two sees the other. Receivers that came again before
//       the look are not told of.

class news;

/// Who waits to hear.
struct hearing {
  news* of;
  const std::uint64_t* seen;  // so many
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
  /// Closes it, if it was the last one. The caller still holds its half: leave().
  void drop_sender() noexcept;
  /// How many have been sent before it came.
  std::uint64_t add_receiver() noexcept;
  /// False: it was the last one. The caller still holds its half.
  bool drop_receiver() noexcept;
  /// True: the caller frees the channel.
  [[nodiscard]] bool leave() noexcept {
    // acq_rel. release: what this half did comes before the end. acquire: so does what the others did.
    return halves_.fetch_sub(1, base::order::acq_rel) == 1;
  }
  [[nodiscard]] std::uint32_t receiver_count() const noexcept {
    // relaxed. A guess, but under the lock.
    return receivers_.load(base::order::relaxed);
  }
  [[nodiscard]] bool has_receivers() const noexcept { return receiver_count() != 0; }

  [[nodiscard]] snapshot state() const noexcept {
    // acquire. Pairs with announce() and close(): what was sent is in its slot, and what was done before is seen.
    return {word_.load(base::order::acquire)};
  }
  void close() noexcept;
  /// Throws errc::would_deadlock inside of a modification by the same task, or thread outside of one.
  void demand_unmodified() const {
    // relaxed. It was set before by who asks, or says nothing of it.
    if (was_modified_.load(base::order::relaxed)) throw_if_modifying();
  }
  /// Nobody is there to hear of what is sent, or it is closed.
  [[nodiscard]] bool is_unwanted() const noexcept {
    // acquire. Pairs with drop_receiver(): what the last one did is seen.
    return receivers_.load(base::order::acquire) == 0 || state().is_closed();
  }
  [[nodiscard]] core::wait_target to_close() noexcept { return {&closers_, this, &close_rules}; }
  /// `as`: outlives the wait.
  [[nodiscard]] core::wait_target to_hear(hearing& as) noexcept { return {&line_, &as, rules_}; }

 protected:
  static const core::wait_rules watch_rules;
  static const core::wait_rules broadcast_rules;
  static const core::wait_rules close_rules;

  /// `begins`: so many count as sent before anybody is there.
  explicit news(const core::wait_rules& rules, std::uint64_t begins = 0) noexcept
      : rules_(&rules), word_(begins * one_more) {}
  ~news() { line_.end("a channel was destroyed while somebody waits to receive"); }

  [[nodiscard]] core::wait_list& line() noexcept { return line_; }
  /// Under the lock: one more is in its slot.
  void announce(core::wait_section& section) noexcept {
    // relaxed. It changes under the lock.
    const std::uint64_t before = word_.load(base::order::relaxed);
    // release. Pairs with state().
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
  base::atomic<bool> was_modified_{false};  // ever: who only sends need not ask
};

/// While it lives, the task, or thread outside of one, runs a function that changes a copy of the value. If that sent something itself,
/// the copy would be out of date each time, for ever.
class ROTA_API modification {
 public:
  /// Throws errc::would_deadlock inside of another one of the same channel.
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

/// What the halves that send to a watch, or a broadcast, have in common: they hold it, and each is one more.
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

  /// Whether there is any receiver; a guess while others come and go.
  [[nodiscard]] bool has_receivers() const noexcept { return on_->has_receivers(); }
  [[nodiscard]] bool same_channel(const news_sender& other) const noexcept { return on_ == other.on_; }
  /// How many there are; likewise.
  [[nodiscard]] std::uint32_t receiver_count() const noexcept { return on_->receiver_count(); }
  /// For all halves: nothing is sent any more; what is there can still be received, or looked at, and then receivers hear of the end.
  void close() noexcept { on_->close(); }
  [[nodiscard]] bool is_closed() const noexcept { return on_->state().is_closed(); }

 protected:
  /// Of a state that counts this half already.
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
