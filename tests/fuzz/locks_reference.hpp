// A mutex, a condition variable and a shared mutex, modelled after their documentation.
#pragma once

#include <array>
#include <utility>

#include "reference.hpp"

namespace fuzz {

/// While the first in line is being woken, another task may take the lock. After four such losses the next
/// unlock grants it to the task that is first then: the lock keeps the promise, not the task.
class mutex_reference final : public reference {
 public:
  [[nodiscard]] bool is_locked() const { return locked_; }
  bool try_lock() { return !std::exchange(locked_, true); }
  void unlock() {
    locked_ = false;
    wake_first();
  }
  /// Out of a condition variable.
  void move_in(player who) {
    losses_[who] = 0;
    line_.add({who});
    wake_first();
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number /*how*/) const override { return !locked_; }
  void arrive(player who, number /*how*/) override {
    losses_[who] = 0;
    if (try_lock()) {
      granted_ = who;
    } else {
      line_.add({who});
    }
  }
  [[nodiscard]] bool must(player who) const override {
    return granted_ == who || (!locked_ && line_.is_first(who));
  }
  number take(player who) override {
    if (granted_ == who) {
      granted_ = nobody;
    } else {
      remove(who);
      locked_ = true;
    }
    return yes;
  }
  bool give_up(player who) override {
    if (granted_ == who) {
      granted_ = nobody;
      unlock();
    } else {
      remove(who);
      wake_first();
    }
    return true;
  }
  void looked(player who, players /*awake*/) override {
    if (woken_ != who) return;
    woken_ = nobody;
    if (++losses_[who] == 4) somebody_starves_ = true;
    wake_first();
  }
  [[nodiscard]] bool may_look_in_vain() const override { return true; }

 private:
  void remove(player who) {
    line_.remove(who);
    if (woken_ == who) woken_ = nobody;
    if (line_.is_empty()) somebody_starves_ = false;
  }
  void wake_first() {
    if (locked_ || line_.is_empty() || woken_ != nobody) return;
    woken_ = line_.front().who;
    if (!std::exchange(somebody_starves_, false)) return;
    granted_ = std::exchange(woken_, nobody);
    line_.pop();
    locked_ = true;
  }

  bool locked_ = false;
  bool somebody_starves_ = false;
  player granted_ = nobody;
  player woken_ = nobody;
  std::array<unsigned, nobody> losses_{};
  line_of<waiting> line_;
};

/// A waiter gives the mutex away, and has it again however the wait ends. `how`: wait until something has
/// this value; `whatever`: until a notification. A query for a value throws if the value cannot be told.
class condition_reference final : public reference {
 public:
  static constexpr number whatever = 0;
  static constexpr number cannot_be_told = 99;

  explicit condition_reference(mutex_reference& of) : of_(&of) {}

  number value = 1;

  void notify_one() {
    if (line_.is_empty()) return;
    const player first = line_.pop().who;
    notified_ |= bit(first);
    of_->move_in(first);
  }
  void notify_all() {
    while (!line_.is_empty()) of_->move_in(line_.pop().who);
  }

  void never_came(player /*waiter*/) override { of_->unlock(); }
  [[nodiscard]] bool is_there(player /*waiter*/, number how) const override {
    return how != whatever && is_met(how);
  }
  void arrive(player who, number how) override {
    wants_[who] = how;
    gives_up_ &= ~bit(who);
    if (is_there(who, how)) {
      keeps_ = bit(who);
    } else {
      give_mutex_away(who);
    }
  }
  [[nodiscard]] bool must(player who) const override {
    const bool goes = wants_[who] == whatever || is_met(wants_[who]) || (gives_up_ & bit(who)) != 0;
    return goes && has_mutex(who);
  }
  number take(player who) override {
    if (std::exchange(keeps_, 0) != bit(who)) of_->take(who);
    return late_end(who) == thrown ? thrown : yes;
  }
  bool give_up(player who) override {
    if (line_.holds(who)) {
      line_.remove(who);
      of_->arrive(who, 0);
    } else if ((notified_ & bit(who)) != 0) {
      notified_ &= ~bit(who);
      notify_one();
    }
    gives_up_ |= bit(who);
    return has_mutex(who);
  }
  [[nodiscard]] number late_end(player who) const override {
    if (wants_[who] == whatever) return late;
    if (value == cannot_be_told) return thrown;
    return is_met(wants_[who]) ? yes : late;
  }
  void gone(player who, bool unwound) override {
    gives_up_ &= ~bit(who);
    of_->take(who);
    if (unwound) of_->unlock();
  }
  void looked(player who, players awake) override {
    if (!has_mutex(who)) return of_->looked(who, awake);
    of_->take(who);
    give_mutex_away(who);
  }
  [[nodiscard]] bool may_look_in_vain() const override { return true; }

 private:
  [[nodiscard]] bool is_met(number how) const { return value == how || value == cannot_be_told; }
  [[nodiscard]] bool has_mutex(player who) const { return !line_.holds(who) && of_->must(who); }
  void give_mutex_away(player who) {
    notified_ &= ~bit(who);
    line_.add({who});
    of_->unlock();
  }

  mutex_reference* of_;
  players notified_ = 0;  // by notify_one
  players keeps_ = 0;     // it need not wait
  players gives_up_ = 0;
  std::array<number, nobody> wants_{};
  line_of<waiting> line_;
};

/// First come, first served; neighbouring readers come in together. `how`: 1 for a writer.
class shared_mutex_reference final : public granting {
 public:
  static constexpr number reads = 0;
  static constexpr number writes = 1;

  [[nodiscard]] bool is_locked() const { return writer_; }
  [[nodiscard]] number readers() const { return readers_; }
  bool try_lock() {
    const bool can = is_there(nobody, writes);
    if (can) writer_ = true;
    return can;
  }
  bool try_lock_shared() {
    const bool can = is_there(nobody, reads);
    if (can) ++readers_;
    return can;
  }
  void unlock() {
    writer_ = false;
    let_in();
  }
  void unlock_shared() {
    --readers_;
    let_in();
  }
  void downgrade() {
    readers_ = 1;
    unlock();
  }

  [[nodiscard]] bool is_there(player /*waiter*/, number how) const override {
    return !writer_ && line_.is_empty() && (how == reads || readers_ == 0);
  }
  void arrive(player who, number how) override {
    line_.add({who, how == writes});
    writes_[who] = how == writes;
    let_in();
  }
  number take(player who) override {
    ungrant(who);
    return yes;
  }
  bool give_up(player who) override {
    if (!ungrant(who)) {
      line_.remove(who);
      let_in();
    } else {
      writes_[who] ? unlock() : unlock_shared();
    }
    return true;
  }

 private:
  struct one {
    player who = nobody;
    bool is_writer = false;
  };
  void let_in() {
    while (!line_.is_empty() && !writer_ && (!line_.front().is_writer || readers_ == 0)) {
      const one next = line_.pop();
      next.is_writer ? static_cast<void>(writer_ = true) : static_cast<void>(++readers_);
      grant(next.who);
    }
  }

  bool writer_ = false;
  number readers_ = 0;
  std::array<bool, nobody> writes_{};
  line_of<one> line_;
};

}  // namespace fuzz
