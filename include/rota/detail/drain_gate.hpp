// What lets work in until it is closed, and says when the last of it has gone.
#pragma once

#include <cstdint>

#include <rota/sync/event.hpp>

namespace rota::sync {

// PROTOCOL: drain gate
//
//   63                                      1      0
//   +---------------------------------------+------+
//   |           pieces of work inside       |closed|
//   +---------------------------------------+------+
//
//   closed_    an event: close() has been called
//   drained_   an event: and nobody is inside
//
//   enter    one more by compare-exchange, while it is not closed. Else: no
//   leave    one less; closed, and it was the last: drained_ is set
//   close    the bit; whoever sets it sets closed_, and drained_ if nobody is inside
//   wait     for closed_, or for drained_: never for the word
//
//   D1  Of {somebody has entered, it was closed} at least one side sees the other: both are read-modify-writes of the word. So who was let in
//       is waited for.
//   D2  closed with nobody inside is seen by exactly one: the word goes there once, and never leaves. So drained_ is set once.
//   D3  Whoever was let pass by drained_, and knows that close() has returned, may destroy the gate: who leaves touches nothing after that. Who looked
//       at the word instead could be there before drained_ is set.
//   Checked: tests/model/drain_gate_model.cpp.
class drain_gate {
 public:
  drain_gate() noexcept = default;
  drain_gate(const drain_gate&) = delete;
  drain_gate& operator=(const drain_gate&) = delete;
  ~drain_gate() { ROTA_ASSERT(inside() == 0); }

  /// False: it is closed. True: leave() must follow.
  [[nodiscard]] bool enter() noexcept {
    // relaxed. A guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & closed_bit) != 0) return false;
      // relaxed. It says nothing but that one is inside. failure: relaxed. Again a guess.
    } while (!word_.compare_exchange_weak(seen, seen + one, base::order::relaxed, base::order::relaxed));
    return true;
  }

  void leave() noexcept {
    // acq_rel. release: what was done inside is seen by whoever waits for the end. acquire: by the last one, who tells it.
    const std::uint64_t before = word_.fetch_sub(one, base::order::acq_rel);
    ROTA_ASSERT(before >= one);
    if (before == (one | closed_bit)) drained_.set();
  }

  /// True: it was not closed before.
  bool close() noexcept {
    // acq_rel. release: nothing is told by it, the events do that. acquire: what all who have left did is seen, if nobody is inside.
    const std::uint64_t before = word_.fetch_or(closed_bit, base::order::acq_rel);
    if ((before & closed_bit) != 0) return false;
    closed_.set();
    if (before == 0) drained_.set();
    return true;
  }

  [[nodiscard]] bool is_closed() const noexcept { return closed_.is_set(); }
  /// A guess, unless nothing moves.
  [[nodiscard]] std::uint64_t inside() const noexcept {
    // relaxed. A guess.
    return word_.load(base::order::relaxed) / one;
  }
  [[nodiscard]] event& closed() noexcept { return closed_; }
  [[nodiscard]] event& drained() noexcept { return drained_; }

 private:
  static constexpr std::uint64_t closed_bit = 1;
  static constexpr std::uint64_t one = 2;

  base::atomic<std::uint64_t> word_{0};
  event closed_;
  event drained_;
};

}  // namespace rota::sync
