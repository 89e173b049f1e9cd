// A list that any thread appends to and one consumer takes from: unbounded, in order, without a lock.
#pragma once

#include <rota/detail/base.hpp>

namespace rota::queue {

// PROTOCOL: MPSC list (Vyukov, "Non-intrusive MPSC node-based queue", 2010)
//
//   head (consumer's)                              tail (word)
//     |                                              |
//   [served] --> [item] --> [item] --> ... --> [newest] --> null
//
//   append   last.next = null; tail: exchange(last); the link that was the tail before: next = first
//   front    head.next: the oldest item, or null
//   pop      head = the item that front() gave; neither side refers to the old head any more
//
// The link that was served last stays as the head. So the list always has a link, and neither side writes to
// a word of the other side. Between its exchange and its store of `next` a producer leaves a gap: front()
// finds null there, although other producers have appended behind it. No item is lost: the producer of the
// gap makes the queue runnable afterwards (push, then schedule). The items behind the gap wait until that
// producer has stored `next`.
//
// Orders: the exchange releases the `next` of the new link, and acquires that of the link before, which the
// store then overwrites. The store of `next` releases the item, and front() acquires it. Two producers have
// written to a link that pop() gives back: the one that appended it and the next one. Both stores came before
// front() saw the next item.
//
// Invariants (tests/unit/gate/mpsc_list_test.cpp, tests/model/mpsc_list_model.cpp):
//   L1  every item is given out once, in the order of the exchanges.
//   L2  no thread touches a link that was given back.

struct mpsc_link {
  base::atomic<mpsc_link*> next{nullptr};
};

/// The consumer's end.
class mpsc_taker {
 public:
  mpsc_taker() noexcept : head_(&own_) {}
  mpsc_taker(const mpsc_taker&) = delete;
  mpsc_taker& operator=(const mpsc_taker&) = delete;
  ~mpsc_taker() = default;

  /// Returns the oldest item, or null if there is none or if the append of its predecessor is not complete.
  [[nodiscard]] mpsc_link* front() const noexcept {
    // acquire: pairs with the release in append().
    return head_.get()->next.load(base::order::acquire);
  }

  /// Notes that `front` was served. Returns a link that the list needs no more, or null if that link was the
  /// list's own.
  mpsc_link* pop(mpsc_link& front) noexcept {
    mpsc_link* const served = head_.get();
    head_.set(&front);
    return served == &own_ ? nullptr : served;
  }

  /// For the end, when no thread appends: returns the last link that was served, or null.
  [[nodiscard]] mpsc_link* last_served() const noexcept {
    return head_.get() == &own_ ? nullptr : head_.get();
  }

 private:
  friend class mpsc_appender;
  base::cell<mpsc_link*> head_;
  mpsc_link own_;
};

/// The producers' end. It lies beside other words that the producers touch, on a cache line that is not the
/// consumer's.
class mpsc_appender {
 public:
  explicit mpsc_appender(mpsc_taker& other_end) noexcept : tail_(&other_end.own_) {}
  mpsc_appender(const mpsc_appender&) = delete;
  mpsc_appender& operator=(const mpsc_appender&) = delete;
  ~mpsc_appender() = default;

  /// Appends a chain that is linked from first to last and ends with a null `next`. Any thread may call it.
  void append(mpsc_link& first, mpsc_link& last) noexcept {
    // acq_rel: release: the null in `last`. acquire: the null in the link before, so that it comes before the
    // store below.
    mpsc_link* const before = tail_.exchange(&last, base::order::acq_rel);
    // release: pairs with the acquire in front(): a consumer that sees the item sees its content.
    before->next.store(&first, base::order::release);
  }

 private:
  base::atomic<mpsc_link*> tail_;
};

}  // namespace rota::queue
