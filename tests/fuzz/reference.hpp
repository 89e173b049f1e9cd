// What the plain models of things to wait for have in common. Nothing here knows the library, nor does what the models include:
// they are written after its documentation, with deques and counters, and are told what happens, one thing at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace fuzz {

using player = unsigned;        // one who waits, by its number
using players = std::uint32_t;  // one bit each
using number = std::uint64_t;   // what a wait wants, and what it yields

inline constexpr player thread = 30;  // one that has no time, and is through at once or not at all
inline constexpr player nobody = 31;

constexpr players bit(player who) { return players{1} << who; }

// What is yielded. Numbers of items begin at first_item.
inline constexpr number yes = 1;
inline constexpr number refused = 2;
inline constexpr number dropped = 3;
inline constexpr number closed = 4;
inline constexpr number late = 5;
inline constexpr number empty = 6;
inline constexpr number claimed = 7;
inline constexpr number thrown = 8;
inline constexpr number first_item = 100;

/// One way to wait for one thing.
class reference {
 public:
  reference() = default;
  reference(const reference&) = delete;
  reference& operator=(const reference&) = delete;
  virtual ~reference() = default;

  /// A task begins that will come to wait; it has made the wait; it goes, and has never waited; it has gone.
  virtual void starts(player /*who*/, number /*how*/) {}
  virtual void prepares(player /*who*/) {}
  virtual void never_came(player /*who*/) {}
  virtual void ends(player /*who*/) {}

  /// Would it have at once what it wants?
  [[nodiscard]] virtual bool is_there(player who, number how) const = 0;
  /// It waits from now on; or it is there, and take() comes next.
  virtual void arrive(player who, number how) = 0;
  /// It is asked: must it go on now, and may it? `awake`: those whose tasks are about to run.
  [[nodiscard]] virtual bool must(player who) const = 0;
  [[nodiscard]] virtual bool may(player who, players /*awake*/) const { return must(who); }
  /// It goes on, with this.
  virtual number take(player who) = 0;
  /// It is cancelled or late, or another case has won. False: it must wait for something all the same, and must() says when that is over.
  virtual bool give_up(player who) = 0;
  /// After that: how a late one ends; and it is over; `unwound`: with the frames of its task.
  [[nodiscard]] virtual number late_end(player /*who*/) const { return late; }
  virtual void gone(player /*who*/, bool /*unwound*/) {}
  /// It was asked, and waits on, while the tasks of others are about to run. May that happen?
  virtual void looked(player /*who*/, players /*awake*/) {}
  [[nodiscard]] virtual bool may_look_in_vain() const { return false; }
};

/// Who has waited longest comes first.
template <class Waiting>
class line_of {
 public:
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
  [[nodiscard]] Waiting& front() { return all_.front(); }
  [[nodiscard]] const Waiting& front() const { return all_.front(); }
  [[nodiscard]] bool is_first(player who) const { return !all_.empty() && all_.front().who == who; }
  [[nodiscard]] bool holds(player who) const { return find(who) != all_.size(); }
  /// All that have waited longer than this one are among these.
  [[nodiscard]] bool is_led_by(player who, players these) const {
    for (const Waiting& each : all_) {
      if (each.who == who) return true;
      if ((these & bit(each.who)) == 0) return false;
    }
    return false;
  }

  void add(const Waiting& one) { all_.push_back(one); }
  Waiting pop() {
    const Waiting first = all_.front();
    all_.pop_front();
    return first;
  }
  Waiting remove(player who) {
    const std::size_t at = find(who);
    if (at == all_.size()) return Waiting{};
    const Waiting found = all_[at];
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(at));
    return found;
  }
  template <class F>
  void for_each(F f) const {
    for (const Waiting& each : all_) f(each);
  }

 private:
  [[nodiscard]] std::size_t find(player who) const {
    std::size_t at = 0;
    while (at < all_.size() && all_[at].who != who) ++at;
    return at;
  }
  std::deque<Waiting> all_;
};

struct waiting {
  player who = nobody;
};

/// What most have in common: who gives decides who has it.
class granting : public reference {
 public:
  [[nodiscard]] bool must(player who) const override { return (granted_ & bit(who)) != 0; }

 protected:
  void grant(player who) { granted_ |= bit(who); }
  /// True: it was granted, and is not any more.
  bool ungrant(player who) {
    const bool was = must(who);
    granted_ &= ~bit(who);
    return was;
  }

 private:
  players granted_ = 0;
};

}  // namespace fuzz
