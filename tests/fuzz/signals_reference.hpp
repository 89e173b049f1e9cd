// A semaphore, a notify, an event, a latch, a barrier and a once_cell, modelled after their documentation.
#pragma once

#include <array>
#include <utility>

#include "reference.hpp"

namespace fuzz {

/// `how`: number of permits. The first in line keeps the free permits as a part of what it wants.
class semaphore_reference final : public granting {
 public:
  explicit semaphore_reference(number permits) : permits_(permits) {}
  [[nodiscard]] number available() const { return permits_; }
  [[nodiscard]] bool is_closed() const { return closed_; }

  number try_acquire(number n) {
    if (!is_there(nobody, n)) return empty;
    if (closed_) return closed;
    permits_ -= n;
    return yes;
  }
  void release(number n) {
    permits_ += n;
    serve();
  }
  number forget(number n) {
    const number forgotten = std::min(n, permits_);
    permits_ -= forgotten;
    return forgotten;
  }
  void close() {
    closed_ = true;
    while (!line_.is_empty()) {
      const one next = line_.pop();
      permits_ += next.got;
      tell_end(next.who);
    }
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number how) const override {
    return closed_ || (line_.is_empty() && permits_ >= how);
  }
  void arrive(player who, number how) override {
    wanted_[who] = how;
    ended_ &= ~bit(who);
    if (closed_) return tell_end(who);
    line_.add({who, how, 0});
    serve();
  }
  number take(player who) override {
    ungrant(who);
    return (ended_ & bit(who)) != 0 ? closed : yes;
  }
  bool give_up(player who) override {
    if (ungrant(who)) {
      if ((ended_ & bit(who)) == 0) release(wanted_[who]);
    } else {
      release(line_.remove(who).got);
    }
    return true;
  }

 private:
  struct one {
    player who = nobody;
    number wanted = 0;
    number got = 0;
  };
  void tell_end(player who) {
    ended_ |= bit(who);
    grant(who);
  }
  void serve() {
    while (!line_.is_empty()) {
      one& first = line_.front();
      const number part = std::min(permits_, first.wanted - first.got);
      permits_ -= part;
      first.got += part;
      if (first.got != first.wanted) return;
      grant(line_.pop().who);
    }
  }

  number permits_;
  bool closed_ = false;
  players ended_ = 0;
  std::array<number, nobody> wanted_{};
  line_of<one> line_;
};

/// One permit is kept, and a wait that was made before a call of notify_all passes.
class notify_reference final : public granting {
 public:
  bool try_wait() { return std::exchange(permit_, false); }
  void notify_one() {
    if (line_.is_empty()) {
      permit_ = true;
    } else {
      pass_by_one(line_.pop().who);
    }
  }
  void notify_all() {
    ++calls_;
    while (!line_.is_empty()) grant(line_.pop().who);
  }

  void prepares(player who) override { since_[who] = calls_; }
  [[nodiscard]] bool is_there(player who, number /*how*/) const override {
    return since_[who] != calls_ || permit_;
  }
  void arrive(player who, number /*how*/) override {
    by_one_ &= ~bit(who);
    if (since_[who] != calls_) {
      grant(who);
    } else if (try_wait()) {
      pass_by_one(who);
    } else {
      line_.add({who});
    }
  }
  number take(player who) override {
    ungrant(who);
    return yes;
  }
  bool give_up(player who) override {
    if (!ungrant(who)) {
      line_.remove(who);
    } else if ((by_one_ & bit(who)) != 0) {
      notify_one();
    }
    return true;
  }

 private:
  void pass_by_one(player who) {
    by_one_ |= bit(who);
    grant(who);
  }

  bool permit_ = false;
  number calls_ = 0;
  players by_one_ = 0;
  std::array<number, nobody> since_{};
  line_of<waiting> line_;
};

class event_reference final : public granting {
 public:
  event_reference(bool is_automatic, bool is_set) : is_automatic_(is_automatic), is_set_(is_set) {}
  [[nodiscard]] bool is_set() const { return is_set_; }

  bool try_wait() {
    const bool was = is_set_;
    if (is_automatic_) is_set_ = false;
    return was;
  }
  void set() {
    if (is_automatic_ && !line_.is_empty()) return grant(line_.pop().who);
    is_set_ = true;
    while (!line_.is_empty()) grant(line_.pop().who);
  }
  void reset() { is_set_ = false; }

  [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override { return is_set_; }
  void arrive(player who, number /*how*/) override {
    if (try_wait()) {
      grant(who);
    } else {
      line_.add({who});
    }
  }
  number take(player who) override {
    ungrant(who);
    return yes;
  }
  bool give_up(player who) override {
    if (!ungrant(who)) {
      line_.remove(who);
    } else if (is_automatic_) {
      set();
    }
    return true;
  }

 private:
  bool is_automatic_;
  bool is_set_;
  line_of<waiting> line_;
};

class latch_reference final : public granting {
 public:
  explicit latch_reference(number things) : left_(things) {}
  [[nodiscard]] number left() const { return left_; }
  /// Returns false if fewer than `n` are left.
  bool count_down(number n) {
    if (n > left_) return false;
    left_ -= n;
    while (left_ == 0 && !line_.is_empty()) grant(line_.pop().who);
    return true;
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override { return left_ == 0; }
  void arrive(player who, number /*how*/) override {
    line_.add({who});
    count_down(0);
  }
  number take(player who) override {
    ungrant(who);
    return yes;
  }
  bool give_up(player who) override {
    if (!ungrant(who)) line_.remove(who);
    return true;
  }

 private:
  number left_;
  line_of<waiting> line_;
};

/// A wait yields the generation, and whether it leads.
class barrier_reference final : public granting {
 public:
  static constexpr number passage(number generation, bool leads) {
    return first_item + generation * 2 + (leads ? 1 : 0);
  }

  explicit barrier_reference(number participants) : participants_(participants) {}
  [[nodiscard]] number participants() const { return participants_; }
  [[nodiscard]] number arrived() const { return arrived_; }
  [[nodiscard]] number generation() const { return generation_; }

  void drop() {
    --participants_;
    if (arrived_ == participants_) pass(line_.is_empty() ? nobody : line_.front().who);
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override {
    return arrived_ + 1 == participants_;
  }
  void arrive(player who, number /*how*/) override {
    ++arrived_;
    line_.add({who});
    if (arrived_ == participants_) pass(who);
  }
  number take(player who) override {
    ungrant(who);
    return yields_[who];
  }
  bool give_up(player who) override {
    if (ungrant(who)) return true;
    line_.remove(who);
    --arrived_;
    return true;
  }

 private:
  void pass(player leader) {
    while (!line_.is_empty()) {
      const player who = line_.pop().who;
      yields_[who] = passage(generation_, who == leader);
      grant(who);
    }
    ++generation_;
    arrived_ = 0;
  }

  number participants_;
  number arrived_ = 0;
  number generation_ = 0;
  std::array<number, nobody> yields_{};
  line_of<waiting> line_;
};

/// `how`: whether the waiter would make the value. After `claimed` it makes it, or abandons it.
class once_reference final : public granting {
 public:
  static constexpr number looks = 0;
  static constexpr number makes = 1;

  [[nodiscard]] bool is_busy() const { return is_busy_; }
  [[nodiscard]] number value() const { return value_; }

  /// Begins to make it, without a wait.
  number try_claim() {
    if (value_ != 0) return refused;
    return std::exchange(is_busy_, true) ? empty : yes;
  }
  void fill(number value) {
    is_busy_ = false;
    maker_ = nobody;
    value_ = value;
    while (!line_.is_empty()) grant(line_.pop().who);
  }
  void abandon() {
    is_busy_ = false;
    maker_ = nobody;
    player next = nobody;
    line_.for_each([&](const one& each) {
      if (next == nobody && each.makes) next = each.who;
    });
    if (next == nobody) return;
    line_.remove(next);
    give_claim(next);
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number how) const override {
    return value_ != 0 || (how == makes && !is_busy_);
  }
  void arrive(player who, number how) override {
    claims_ &= ~bit(who);
    if (value_ != 0) return grant(who);
    if (how == makes && !is_busy_) return give_claim(who);
    line_.add({who, how == makes});
  }
  number take(player who) override {
    ungrant(who);
    if ((claims_ & bit(who)) == 0) return value_;
    maker_ = who;
    return claimed;
  }
  bool give_up(player who) override {
    if (!ungrant(who)) {
      line_.remove(who);
    } else if ((claims_ & bit(who)) != 0) {
      abandon();
    }
    return true;
  }
  /// While it made the value, perhaps.
  void gone(player who, bool /*unwound*/) override {
    if (maker_ == who) abandon();
  }

 private:
  struct one {
    player who = nobody;
    bool makes = false;
  };
  void give_claim(player who) {
    is_busy_ = true;
    claims_ |= bit(who);
    grant(who);
  }

  bool is_busy_ = false;
  player maker_ = nobody;
  number value_ = 0;
  players claims_ = 0;
  line_of<one> line_;
};

}  // namespace fuzz
