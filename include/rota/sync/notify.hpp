// Signals tasks and threads that something may have changed.
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
//   wait         takes a permit by compare-exchange. Otherwise, under the list's lock: a compare-exchange
//                that has seen no permit sets `waiting`, and the caller joins the list. Before either it
//                compares the calls of notify_all with their number when wait() was called. If that has
//                changed, the wait has passed.
//   notify_one   a compare-exchange sets the permit while there is no waiter. It also writes if the permit is
//                set already: the thread that takes it must see what was done before. Otherwise, under the
//                list's lock: the first in line is granted.
//   notify_all   a compare-exchange counts one call more while there is no waiter. Otherwise it does so under
//                the list's lock, and all waiters are granted.
//
//   N1  Under the lock, the list has waiters exactly while `waiting` is set. Only the lock's holder changes
//       that bit.
//   N2  `waiting` and `permit` are never both set.
//   N3  Each notify_one lets one wait pass, or sets the permit. A wait that was granted by notify_one (`kind`
//       of its node) and is given up counts as a notify_one. One that was granted by notify_all and is given
//       up has no effect.

/// One stored permit, and a line of waiters: a signal is not lost if there is no waiter yet.
///
///   rota::sync::notify changed;
///   changed.notify_one();                  // one wait passes, now or later
///   co_await changed.wait();               // in a task
///   changed.blocking_wait();               // in a thread, or a work of a pool
///
/// To wait until a condition holds that another task changes before a notify_all, without a lost wakeup:
///
///   for (;;) {
///     auto next = changed.wait();          // notices each notify_all from here on
///     if (holds()) break;
///     co_await next;
///   }
///
/// A named wait that has passed and is awaited again notices the calls from then on.
///
/// **For notify_all alone**: a wait that was made notices no notify_one before it is awaited. Two tasks that
/// have both checked, and then wait, share one permit if notify_one was called twice in between. To count,
/// use a sync::semaphore or a channel.
///
/// Threads       Any.
/// Ownership     Destroying a notify that has waiters ends the program with a sentence. A wait that has
///               passed may destroy it.
/// Ordering      First come, first served. What was done before a notify_one happens before the return of the
///               wait that it lets pass, also if the permit was there already. What was done before a
///               notify_all happens before the return of all waits that were called before it.
/// Failure       None, except for the timed forms. A cancelled wait takes nothing: a notify_one that had
///               reached it goes to the next in line, or is stored.
/// Cost          A permit that is set or taken: one read-modify-write. No allocation. A wait: one wake, and
///               the list's lock twice.
/// Example       examples/notify.cpp
class ROTA_API notify : public core::plain_waits<notify> {
 public:
  notify() noexcept = default;
  notify(const notify&) = delete;
  notify& operator=(const notify&) = delete;
  ~notify() { list_.end("a sync::notify was destroyed while a task or a thread waits for it"); }

  /// Lets one wait pass: the first in line, or else the next that comes. Two calls before a wait comes count
  /// as one.
  void notify_one() noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return wake_one();
      // release: pairs with the acquire of the thread that takes the permit. failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, seen | permit, base::order::release, base::order::relaxed));
  }
  /// Lets all waits pass that were called before, and none that come later. Stores nothing.
  void notify_all() noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0) [[unlikely]]
        return wake_all();
      // release: pairs with the acquire of the thread that sees the call. failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, seen + one_call, base::order::release, base::order::relaxed));
  }
  /// Returns how many tasks and threads are in line. A snapshot for reports: it may have changed when this
  /// returns. A waiter that was granted and has not run yet is not counted. Takes the lock of the line for a
  /// moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  friend class core::plain_waits<notify>;

  static constexpr std::uint64_t waiting = 1;
  static constexpr std::uint64_t permit = 2;
  static constexpr std::uint64_t one_call = 4;
  static constexpr unsigned char by_one = 1;  // `kind` of a node
  static const core::wait_rules rules;

  /// Returns the number of notify_all calls so far.
  [[nodiscard]] std::uint64_t since() const noexcept {
    // acquire: pairs with the release in notify_all(). A caller that has seen the call also sees what was
    // done before it when it checks. A call that is not seen lets the wait pass.
    return word_.load(base::order::acquire) / one_call;
  }
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }
  bool try_now(core::wait_node& me) noexcept {
    me.kind = 0;
    // acquire: pairs with the release in notify_all(): a call that is seen has been made. For the permit it
    // is a guess.
    std::uint64_t seen = word_.load(base::order::acquire);
    do {
      if (seen / one_call != me.wanted) return true;
      if ((seen & permit) == 0) return false;
      // acquire: pairs with the release in notify_one(). failure: acquire: same reason as for the load above.
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
