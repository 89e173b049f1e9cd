// Tells tasks and threads that something may have changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/plain_waits.hpp>

namespace rota::sync {

// PROTOCOL: notify
//   word_    63                                  2    1       0
//          +--------------------------------------+------+-------+
//          |          calls of notify_all         |permit|waiting|
//          +--------------------------------------+------+-------+
//
//   wait         a permit is taken by compare-exchange. Else, under the lock of the list: `waiting` is set by a compare-exchange that
//                has seen no permit, and the caller joins the list. Before either it looks whether `calls` is what it was when wait()
//                was called: if not, it is through.
//   notify_one   the permit is set by compare-exchange while nobody waits; again if it is set: what was done before must be seen by
//                whoever takes it. Else, under the lock of the list, the first in line is granted.
//   notify_all   one call more, by compare-exchange while nobody waits. Else the same under the lock of the list, where all who wait now
//                are granted.
//
//   N1  Under the lock, somebody is in the list exactly while `waiting` is set. Only the lock's holder changes that bit.
//   N2  `waiting` and `permit` are never both set.
//   N3  Each notify_one lets one wait pass, or sets the permit. A wait that was granted by one (`kind` of its node) and is given up is a
//       notify_one; one that was granted by notify_all is nothing.

/// One stored permit, and a line: a signal that is not lost if nobody waits for it yet.
///
///   rota::sync::notify changed;
///   changed.notify_one();                  // one wait passes, now or later
///   co_await changed.wait();               // in a task
///   changed.blocking_wait();               // in a thread, or a work of a pool
///
/// To wait until something holds that somebody changes before a notify_all, without losing a call in between:
///
///   for (;;) {
///     auto next = changed.wait();          // notices each notify_all from here on
///     if (holds()) break;
///     co_await next;
///   }
///
/// A named wait that has passed and is awaited again notices those from then on.
///
/// **For notify_all alone**: a wait that was made notices no notify_one before it is awaited. Two that have both looked, and then wait,
/// share one permit if notify_one came twice in between: what is counted is a sync::semaphore's, or a channel's.
///
/// Threads       Any.
/// Ownership     Destroying a notify for which somebody waits ends the program with a sentence; whoever was let pass may destroy it.
/// Ordering      First come, first served. What was done before a notify_one happens before the return of the wait that it lets pass, also
///               if the permit was there already. What was done before a notify_all happens before the return of all waits that were
///               called before it.
/// Failure       Never, but for the timed forms. A cancelled wait takes nothing: a notify_one that had reached it goes to the next in line,
///               or is stored.
/// Cost          A permit that is set or taken: one read-modify-write. No allocation. A wait: one wake, and the list's lock twice.
/// Example       examples/notify.cpp
class ROTA_API notify : public core::plain_waits<notify> {
 public:
  notify() noexcept = default;
  notify(const notify&) = delete;
  notify& operator=(const notify&) = delete;
  ~notify() { list_.end("a sync::notify was destroyed while somebody waits for it"); }

  /// Lets one wait pass: the first in line, or else the next that comes. Two calls before anybody comes are one.
  void notify_one() noexcept {
    // relaxed. A guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return wake_one();
      // release. Pairs with the acquire of who takes it. failure: relaxed. Again a guess.
    } while (!word_.compare_exchange_weak(seen, seen | permit, base::order::release, base::order::relaxed));
  }
  /// Lets all waits pass that were called before, and none that come later. Stores nothing.
  void notify_all() noexcept {
    // relaxed. A guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return wake_all();
      // release. Pairs with the acquire of who sees the call. failure: relaxed. Again a guess.
    } while (!word_.compare_exchange_weak(seen, seen + one_call, base::order::release, base::order::relaxed));
  }
  /// How many tasks and threads are in line. A snapshot for reports: it may have changed when this returns. A waiter that has been let pass
  /// and has not run yet is not counted. Takes the lock of the line, for a moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  friend class core::plain_waits<notify>;

  static constexpr std::uint64_t waiting = 1;
  static constexpr std::uint64_t permit = 2;
  static constexpr std::uint64_t one_call = 4;
  static constexpr unsigned char by_one = 1;  // `kind` of a node
  static const core::wait_rules rules;

  /// The calls so far.
  [[nodiscard]] std::uint64_t since() const noexcept {
    // acquire. Pairs with notify_all(): who has seen the call sees what was done before it when it looks now. A call that is not seen
    // lets the wait pass.
    return word_.load(base::order::acquire) / one_call;
  }
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }
  bool try_now(core::wait_node& me) noexcept {
    me.kind = 0;
    // acquire. Pairs with notify_all(): a call that is seen has been made. For the permit a guess.
    std::uint64_t seen = word_.load(base::order::acquire);
    do {
      if (seen / one_call != me.wanted) return true;
      if ((seen & permit) == 0) return false;
      // acquire. Pairs with notify_one(). failure: acquire. As above.
    } while (!word_.compare_exchange_weak(seen, seen & ~permit, base::order::acquire, base::order::acquire));
    me.kind = by_one;
    return true;
  }
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void leave(const core::wait_section& section) noexcept;
  void wake_one() noexcept;
  void wake_all() noexcept;

  base::atomic<std::uint64_t> word_{0};
  mutable core::wait_list list_;
};

}  // namespace rota::sync
