// The gate of one queue. One of the producers that push makes the queue runnable, and one consumer runs it.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/bitmap_word.hpp>
#include <rota/detail/gate_flags.hpp>
#include <rota/gate/signal_waker.hpp>
#include <rota/gate/signal_word.hpp>

namespace rota::gate {

// PROTOCOL: signal gate: the gate of <rota/detail/gate_flags.hpp>, published in two levels
//
//   publish   the word: fetch_or(bit)      it was 0: the waker's mark(), which wakes the consumer
//
//   producer: push(item); schedule() --> bit --> (word was empty) waker --> (consumer sleeps) wake
//   consumer: wait(), take() --> begin() --> drain some --> empty: finish, finish_or_continue
//                                                            not empty: finish_and_schedule
//
// A bad interleaving, a mutant in tests/mutants: finish() sets the bit but does not mark the waker. The queue
// is ready, and the consumer never checks it (lost wakeup). So all callers use one publish(), which does both
// steps.

/// The ready flag of one queue and its bit in a signal_word.
///
/// Threads       schedule: any. The others: only the thread that took the bit, until its finish.
/// Ownership     Refers to its word and its waker, which must outlive it. No thread may be inside schedule()
///               when it is destroyed.
/// Ordering      What happened before schedule() happens before what follows the next begin(). What happened
///               in one round happens before the next round.
/// Failure       In every build the program ends at a begin() of a gate that is not scheduled or is already
///               executed, and at a finish without a begin. The message has the gate's number: 64 * the
///               word's index + the bit. In a forked child: works, see signal_waker. A gate is never
///               published there if at the fork another thread of the parent was inside its round or its
///               schedule().
/// Cost          24 bytes, to be embedded in the queue. schedule: one read-modify-write; from IDLE two, and
///               three if no other gate of its word is ready. A round: begin and finish, one each.
/// Example       examples/signal_gate.cpp
class signal_gate {
 public:
  /// `bit` of `word`, 0 to 63, belongs to this gate alone.
  signal_gate(unsigned bit, signal_word& word, signal_waker& waker) noexcept
      : bit_(static_cast<std::uint8_t>(bit)), word_(&word), waker_(&waker) {
    if (bit >= signal_word::bits) ROTA_FATAL("a signal's bit is 0 to 63", bit);
  }
  signal_gate(const signal_gate&) = delete;
  signal_gate& operator=(const signal_gate&) = delete;
  ~signal_gate() = default;

  /// Makes the queue runnable; the producer calls it after each push. Returns true if this call published the
  /// gate. Returns false if the gate was scheduled or executed already; then the item is seen by that round
  /// or by the next.
  bool schedule() noexcept {
    if (flags_.schedule() != on_schedule::publish) return false;
    publish();
    return true;
  }

  /// Begins a round. Only the consumer that has taken this gate's bit calls it, and reads the queue only
  /// afterwards.
  void begin() noexcept { flags_.begin(number()); }

  /// Ends the round; the consumer has seen the queue empty since begin(). Returns true if a producer
  /// scheduled the gate meanwhile; then this call has published it again.
  bool finish() noexcept {
    if (!flags_.finish(number())) return false;
    publish();
    return true;
  }

  /// Ends the round; the consumer has seen the queue empty since begin(). Returns true if a producer
  /// scheduled the gate meanwhile; then the round goes on, as after begin().
  [[nodiscard]] bool finish_or_continue() noexcept { return flags_.finish_or_continue(number()); }

  /// Ends the round while the queue still has items, and publishes the gate again, so that other queues are
  /// served in between.
  void finish_and_schedule() noexcept {
    flags_.finish_and_schedule(number());
    publish();
  }

  /// An approximate value, for reports.
  [[nodiscard]] bool is_idle() const noexcept { return flags_.is_idle(); }

 private:
  void publish() noexcept {
    queue::set_in_two_levels(word_->word_, std::uint64_t{1} << bit_, *waker_, word_->index());
  }
  [[nodiscard]] std::uint64_t number() const noexcept {
    return std::uint64_t{word_->index()} * signal_word::bits + bit_;
  }

  gate_flags flags_;
  std::uint8_t bit_;
  signal_word* word_;
  signal_waker* waker_;
};
static_assert(ROTA_MODEL != 0 || sizeof(signal_gate) <= 24);

}  // namespace rota::gate
