// The gate of one queue: of all who push, one makes the queue runnable; of all who might run it, one does.
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
//   consumer: wait(), take() --> begin() --> drain some --> empty: finish or finish_or_continue; not: finish_and_schedule
//
// A bad interleaving, a broken variant in tests/mutants: finish sets the bit but does not mark the waker. The queue is ready, and
// nobody will look. So there is one publish() for all.

/// The ready flag of one queue and its bit in a signal_word.
///
/// Threads       schedule: any. The others: whoever took the bit, until it finishes.
/// Ownership     Refers to its word and its waker, which outlive it. Nobody may be in schedule() when it is destroyed.
/// Ordering      What happened before schedule() happens before what follows the begin() that comes after it; what happened in
///               one round happens before the next.
/// Failure       begin() of what is not scheduled, or is executed already, and a finish without a begin end the program, in
///               every build, with the gate's number: 64 * the word's index + the bit. In a forked child: it works, see signal_waker. A gate
///               whose round, or schedule, another thread of the parent was inside of is never published there.
/// Cost          24 bytes, to be embedded in the queue. schedule: one read-modify-write; from IDLE two, and three when no other
///               gate of its word is ready. A round: begin and finish, one each.
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

  /// After a push. True: this call has made the queue runnable; false: somebody else had, and this item will be seen as well.
  bool schedule() noexcept {
    if (flags_.schedule() != on_schedule::publish) return false;
    publish();
    return true;
  }

  /// The consumer, which has taken this gate's bit. Reads the queue only after it.
  void begin() noexcept { flags_.begin(number()); }

  /// The queue was seen empty since begin(). True: somebody has pushed meanwhile, and the gate is published again.
  bool finish() noexcept {
    if (!flags_.finish(number())) return false;
    publish();
    return true;
  }

  /// The queue was seen empty since begin(). True: somebody has pushed meanwhile; the caller goes on, as after begin().
  [[nodiscard]] bool finish_or_continue() noexcept { return flags_.finish_or_continue(number()); }

  /// There is more in the queue, and it is the others' turn.
  void finish_and_schedule() noexcept {
    flags_.finish_and_schedule(number());
    publish();
  }

  /// A guess, for reports.
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
