// A bounded, an unbounded and a oneshot channel, modelled after their documentation.
#pragma once

#include <array>
#include <utility>

#include "reference.hpp"

namespace fuzz {

/// A queue with halves on both sides. Items are numbers.
class queue_reference {
 public:
  enum class policy : unsigned char { wait, reject, drop_oldest, drop_newest };
  static constexpr number no_limit = ~number{0};
  /// In `how`: the task has a half of its own. For a sender, the other bits are the item.
  static constexpr number own_half = number{1} << 63U;

  explicit queue_reference(number room, policy on_full = policy::wait)
      : sends(*this), receives(*this), room_(room), policy_(on_full) {}
  queue_reference(const queue_reference&) = delete;
  queue_reference& operator=(const queue_reference&) = delete;
  ~queue_reference() = default;

  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] number size() const { return items_.size(); }
  /// Items that exist: in the channel, and carried by waiting senders.
  [[nodiscard]] number alive() const { return items_.size() + carried_; }
  [[nodiscard]] bool has_halves() const { return senders_ + receivers_ != 0; }

  number try_send(number item) {
    if (closed_ || policy_ != policy::wait || items_.size() < room_) return send(item);
    ++refused;
    return fuzz::refused;
  }
  number receive() {
    if (items_.empty()) return closed_ ? closed : empty;
    const number first = items_.front();
    items_.pop_front();
    return first;
  }
  void close() { closed_ = true; }
  void add_sender() { ++senders_; }
  void add_receiver() { ++receivers_; }
  void drop_sender() {
    if (--senders_ == 0) close();
  }
  void drop_receiver() {
    if (--receivers_ != 0) return;
    close();
    items_.clear();
  }

  /// Waiters are served in their order. A waiter that is about to check may overtake others that are, and
  /// those that checked in vain while it was; no others.
  template <class Waiting>
  class turns {
   public:
    void add(const Waiting& one) {
      for (players& each : passes_) each &= ~bit(one.who);
      passes_[one.who] = 0;
      line_.add(one);
    }
    Waiting remove(player who) { return line_.remove(who); }
    void looked(player who, players awake) {
      passes_[who] = 0;
      line_.for_each([&](const Waiting& each) {
        if ((awake & bit(each.who)) != 0) passes_[each.who] |= bit(who);
      });
    }
    [[nodiscard]] bool must(player who) const { return line_.is_first(who); }
    [[nodiscard]] bool may(player who, players awake) const {
      return line_.is_led_by(who, awake | passes_[who]);
    }

   private:
    std::array<players, nobody> passes_{};
    line_of<Waiting> line_;
  };

  class sending final : public reference {
   public:
    explicit sending(queue_reference& of) : of_(&of) {}
    void starts(player who, number how) override {
      has_half_[who] = (how & own_half) != 0;
      if (has_half_[who]) of_->add_sender();
      ++of_->carried_;
    }
    void ends(player who) override {
      if (has_half_[who]) of_->drop_sender();
      --of_->carried_;
    }
    [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override { return of_->takes_in(); }
    void arrive(player who, number how) override { turns_.add({who, how & ~own_half}); }
    [[nodiscard]] bool must(player who) const override {
      return of_->closed_ || (of_->takes_in() && turns_.must(who));
    }
    [[nodiscard]] bool may(player who, players awake) const override {
      return of_->closed_ || (of_->takes_in() && turns_.may(who, awake));
    }
    number take(player who) override { return of_->send(turns_.remove(who).item); }
    bool give_up(player who) override {
      turns_.remove(who);
      return true;
    }
    void looked(player who, players awake) override { turns_.looked(who, awake); }
    [[nodiscard]] bool may_look_in_vain() const override { return true; }

   private:
    struct one {
      player who = nobody;
      number item = 0;
    };
    queue_reference* of_;
    std::array<bool, nobody> has_half_{};
    turns<one> turns_;
  };

  class receiving final : public reference {
   public:
    explicit receiving(queue_reference& of) : of_(&of) {}
    void starts(player who, number how) override {
      has_half_[who] = (how & own_half) != 0;
      if (has_half_[who]) of_->add_receiver();
    }
    void ends(player who) override {
      if (has_half_[who]) of_->drop_receiver();
    }
    [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override {
      return of_->closed_ || !of_->items_.empty();
    }
    void arrive(player who, number /*how*/) override { turns_.add({who}); }
    /// The end is passed on, too: a receiver that was woken for an item which another took wakes the next.
    [[nodiscard]] bool must(player who) const override {
      return (of_->closed_ || !of_->items_.empty()) && turns_.must(who);
    }
    [[nodiscard]] bool may(player who, players awake) const override {
      return of_->items_.empty() ? of_->closed_ : turns_.may(who, awake);
    }
    number take(player who) override {
      turns_.remove(who);
      return of_->receive();
    }
    bool give_up(player who) override {
      turns_.remove(who);
      return true;
    }
    void looked(player who, players awake) override { turns_.looked(who, awake); }
    [[nodiscard]] bool may_look_in_vain() const override { return true; }

   private:
    queue_reference* of_;
    std::array<bool, nobody> has_half_{};
    turns<waiting> turns_;
  };

  sending sends;
  receiving receives;
  number refused = 0;
  number dropped_oldest = 0;
  number dropped_newest = 0;

 private:
  /// A send would not wait.
  [[nodiscard]] bool takes_in() const { return closed_ || policy_ != policy::wait || items_.size() < room_; }
  number send(number item) {
    if (closed_) return closed;
    if (items_.size() == room_) {
      if (policy_ == policy::reject) return ++refused, fuzz::refused;
      if (policy_ == policy::drop_newest) return ++dropped_newest, dropped;
      ++dropped_oldest;
      items_.pop_front();
    }
    items_.push_back(item);
    return yes;
  }

  number room_;
  policy policy_;
  bool closed_ = false;
  number senders_ = 1;
  number receivers_ = 1;
  number carried_ = 0;
  std::deque<number> items_;
};

/// One item, from one half to the other.
class oneshot_reference final : public reference {
 public:
  [[nodiscard]] bool has_sender() const { return has_sender_; }
  [[nodiscard]] bool has_receiver() const { return has_receiver_; }
  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] number alive() const { return item_ != 0 && has_receiver_ ? 1 : 0; }

  number send(number item) {
    has_sender_ = false;
    if (std::exchange(closed_, true)) return closed;
    item_ = item;
    return yes;
  }
  void drop_sender() {
    has_sender_ = false;
    closed_ = true;
  }
  void drop_receiver() {
    has_receiver_ = false;
    closed_ = true;
  }
  void close() { closed_ = true; }
  number receive() {
    if (item_ == 0) return closed_ ? closed : empty;
    return std::exchange(item_, 0);
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override { return closed_; }
  void arrive(player /*waiter*/, number /*how*/) override {}
  [[nodiscard]] bool must(player /*waiter*/) const override { return closed_; }
  number take(player /*waiter*/) override { return receive(); }
  bool give_up(player /*waiter*/) override { return true; }

 private:
  bool has_sender_ = true;
  bool has_receiver_ = true;
  bool closed_ = false;  // sent, or closed: nothing comes any more
  number item_ = 0;
};

}  // namespace fuzz
