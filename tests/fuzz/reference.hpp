// Shared by the plain models of things to wait for. Neither this file nor those models use the library: they
// follow its documentation, with deques and counters, and are told what happens, one thing at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace fuzz {

using player = unsigned;        // one waiter, by its number
using players = std::uint32_t;  // one bit each
using number = std::uint64_t;   // what a wait wants, and what it yields

inline constexpr player thread = 30;  // one that has no time, and is through at once or not at all
inline constexpr player nobody = 31;

constexpr players bit(player who) { return players{1} << who; }

// The results of waits. Numbers of items begin at first_item.
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

  /// A task starts that will wait; has made its wait; is destroyed without a wait; has ended.
  virtual void starts(player /*waiter*/, number /*how*/) {}
  virtual void prepares(player /*waiter*/) {}
  virtual void never_came(player /*waiter*/) {}
  virtual void ends(player /*waiter*/) {}

  /// Would it have at once what it wants?
  [[nodiscard]] virtual bool is_there(player who, number how) const = 0;
  /// It waits from now on; or it need not wait, and take() comes next.
  virtual void arrive(player who, number how) = 0;
  /// Must it go on now, and may it? `awake`: those with tasks that are about to run.
  [[nodiscard]] virtual bool must(player who) const = 0;
  [[nodiscard]] virtual bool may(player who, players /*awake*/) const { return must(who); }
  /// It goes on, with this.
  virtual number take(player who) = 0;
  /// It is cancelled or late, or another case won. Returns false if it must wait on until must() holds.
  virtual bool give_up(player who) = 0;
  /// After give_up(): the result of a late wait; and its end. `unwound`: with the frames of its task.
  [[nodiscard]] virtual number late_end(player /*waiter*/) const { return late; }
  virtual void gone(player /*waiter*/, bool /*unwound*/) {}
  /// It was woken, and waits on, while other tasks are about to run. Returns whether that may happen.
  virtual void looked(player /*waiter*/, players /*awake*/) {}
  [[nodiscard]] virtual bool may_look_in_vain() const { return false; }
};

/// The longest waiter comes first.
template <class Waiting>
class line_of {
 public:
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
  [[nodiscard]] Waiting& front() { return all_.front(); }
  [[nodiscard]] const Waiting& front() const { return all_.front(); }
  [[nodiscard]] bool is_first(player who) const { return !all_.empty() && all_.front().who == who; }
  [[nodiscard]] bool holds(player who) const { return find(who) != all_.size(); }
  /// Returns true if all that have waited longer than this one are among `these`.
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

/// Most models: the giver decides which waiter gets it.
class granting : public reference {
 public:
  [[nodiscard]] bool must(player who) const override { return (granted_ & bit(who)) != 0; }

 protected:
  void grant(player who) { granted_ |= bit(who); }
  /// Takes back a grant. Returns true if there was one.
  bool ungrant(player who) {
    const bool was = must(who);
    granted_ &= ~bit(who);
    return was;
  }

 private:
  players granted_ = 0;
};

}  // namespace fuzz
