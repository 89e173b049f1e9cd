// A watch and a broadcast, modelled after their documentation.
#pragma once

#include <array>

#include "reference.hpp"

namespace fuzz {

/// Waits for a new value: at most one at each receiver.
class hearing : public reference {
 public:
  void arrive(player /*waiter*/, number /*how*/) override {}
  bool give_up(player /*waiter*/) override { return true; }
  [[nodiscard]] bool is_there(player who, number /*how*/) const override { return must(who); }

 protected:
  hearing() = default;
};

class watch_reference {
 public:
  static constexpr unsigned most = 3;

  /// `how` of a wait: 0: for a change; else for a value that is at least this.
  class receiver final : public hearing {
   public:
    bool is_here = false;
    number seen = 0;
    const watch_reference* of = nullptr;

    [[nodiscard]] number try_changed() {
      if (of->count == seen) return of->is_closed ? closed : empty;
      seen = of->count;
      return yes;
    }
    void arrive(player /*waiter*/, number how) override {
      wants_ = how;
      if (wants_ != 0) seen = of->count;
    }
    [[nodiscard]] bool is_there(player /*waiter*/, number how) const override {
      return of->is_closed || (how == 0 ? of->count != seen : of->value >= how);
    }
    [[nodiscard]] bool must(player who) const override { return is_there(who, wants_); }
    number take(player /*waiter*/) override {
      if (wants_ == 0) return try_changed();
      seen = of->count;
      return of->value >= wants_ ? of->value : closed;
    }
    void looked(player /*waiter*/, players /*awake*/) override {
      if (wants_ != 0) seen = of->count;
    }
    [[nodiscard]] bool may_look_in_vain() const override { return wants_ != 0; }

   private:
    number wants_ = 0;
  };

  explicit watch_reference(number first) : value(first) {
    for (receiver& each : receivers) each.of = this;
    receivers[0].is_here = true;
  }
  watch_reference(const watch_reference&) = delete;
  watch_reference& operator=(const watch_reference&) = delete;
  ~watch_reference() = default;

  number send(number next) {
    if (is_closed) return closed;
    value = next;
    ++count;
    return yes;
  }
  void drop_sender() {
    if (--senders == 0) is_closed = true;
  }
  [[nodiscard]] bool has_receivers() const {
    return std::any_of(receivers.begin(), receivers.end(), [](const receiver& r) { return r.is_here; });
  }

  number value;
  number count = 0;
  bool is_closed = false;
  number senders = 1;
  std::array<receiver, most> receivers;
};

/// Keeps the last `capacity` values while a receiver exists.
class broadcast_reference {
 public:
  static constexpr unsigned most = 3;
  static constexpr number lagged(number n) { return (number{1} << 62U) + n; }

  class receiver final : public hearing {
   public:
    bool is_here = false;
    number next = 0;
    broadcast_reference* of = nullptr;

    [[nodiscard]] number behind() const { return of->count - next; }
    number receive() {
      if (behind() == 0) return of->is_closed ? closed : empty;
      if (behind() > of->capacity) {
        const number lost = behind() - of->capacity;
        next += lost;
        return lagged(lost);
      }
      const number at = behind();
      ++next;
      return of->kept[of->kept.size() - at];
    }
    [[nodiscard]] bool must(player /*waiter*/) const override { return of->is_closed || behind() != 0; }
    number take(player /*waiter*/) override { return receive(); }
  };

  explicit broadcast_reference(number room) : capacity(room) {
    for (receiver& each : receivers) each.of = this;
    receivers[0].is_here = true;
  }
  broadcast_reference(const broadcast_reference&) = delete;
  broadcast_reference& operator=(const broadcast_reference&) = delete;
  ~broadcast_reference() = default;

  number send(number value) {
    if (is_closed) return closed;
    if (!has_receivers()) return dropped;
    ++count;
    kept.push_back(value);
    if (kept.size() > capacity) kept.pop_front();
    return yes;
  }
  void drop_sender() {
    if (--senders == 0) is_closed = true;
  }
  void drop_receiver(unsigned i) {
    receivers[i].is_here = false;
    if (!has_receivers()) kept.clear();
  }
  void subscribe(unsigned i) {
    receivers[i].is_here = true;
    receivers[i].next = count;
  }
  [[nodiscard]] bool has_receivers() const {
    return std::any_of(receivers.begin(), receivers.end(), [](const receiver& r) { return r.is_here; });
  }

  number capacity;
  number count = 0;
  bool is_closed = false;
  number senders = 1;
  std::deque<number> kept;
  std::array<receiver, most> receivers;
};

}  // namespace fuzz
