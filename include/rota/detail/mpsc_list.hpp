// A list that anybody appends to and one consumer takes from: unbounded, in order, without a lock.
#pragma once

#include <rota/detail/base.hpp>

namespace rota::queue {

// PROTOCOL: MPSC list (Vyukov, "Non-intrusive MPSC node-based queue", 2010)
//
//   head (consumer's)                              tail (word)
//     |                                              |
//   [served] --> [item] --> [item] --> ... --> [newest] --> null
//
//   append   last.next = null; tail: exchange(last); the one before: next = first
//   front    head.next: the oldest item, or null
//   pop      head = the item that front() gave; the link that head was is nobody's any more
//
// The link that was served last stays as the head, so the list is never without one, and neither side writes to a word of the
// other's. Between the exchange and the store of `next` a producer leaves a gap: front() finds null there, although others have
// appended behind it. He who stands in the gap makes the queue runnable afterwards (push, then schedule), so nothing is lost;
// those behind him wait as long as he does.
//
// Orders: the exchange releases the new link's `next` and acquires that of the one before, which the store then overwrites; the
// store of `next` releases the item, and front() acquires it. A link that pop() gives back was left by its appender and by the one
// after it: both stores to it came before front() saw the next item.
//
// Invariants (tests/unit/gate/mpsc_list_test.cpp, tests/model/mpsc_list_model.cpp):
//   L1  every item is given out once, in the order of the exchanges.     L2  a link that was given back is touched by nobody.

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

  /// The oldest item, or null: there is none, or its predecessor's append is not done.
  [[nodiscard]] mpsc_link* front() const noexcept {
    // acquire. Pairs with append().
    return head_.get()->next.load(base::order::acquire);
  }

  /// `front` was served. Returns a link that is not needed any more, or null: it was the list's own.
  mpsc_link* pop(mpsc_link& front) noexcept {
    mpsc_link* const served = head_.get();
    head_.set(&front);
    return served == &own_ ? nullptr : served;
  }

  /// At the end, when nobody appends: the last link that was served, or null.
  [[nodiscard]] mpsc_link* last_served() const noexcept {
    return head_.get() == &own_ ? nullptr : head_.get();
  }

 private:
  friend class mpsc_appender;
  base::cell<mpsc_link*> head_;
  mpsc_link own_;
};

/// The producers' end, which lies where they touch other words as well: on a cache line that is not the consumer's.
class mpsc_appender {
 public:
  explicit mpsc_appender(mpsc_taker& other_end) noexcept : tail_(&other_end.own_) {}
  mpsc_appender(const mpsc_appender&) = delete;
  mpsc_appender& operator=(const mpsc_appender&) = delete;
  ~mpsc_appender() = default;

  /// Anybody: a chain, linked from first to last, whose last `next` is null.
  void append(mpsc_link& first, mpsc_link& last) noexcept {
    // acq_rel. release: the last one's null; acquire: that of the one before, which comes before the store below.
    mpsc_link* const before = tail_.exchange(&last, base::order::acq_rel);
    // release. Pairs with front(): who sees the item sees what it holds.
    before->next.store(&first, base::order::release);
  }

 private:
  base::atomic<mpsc_link*> tail_;
};

}  // namespace rota::queue
