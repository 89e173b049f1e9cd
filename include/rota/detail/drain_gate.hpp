// Admits work until it is closed, and signals when the last admitted piece has left.
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
//   drained_   an event: closed, and no work is inside
//
//   enter    compare-exchange: one more inside, if it is not closed; otherwise refused
//   leave    one less inside; if it is closed and this was the last, sets drained_
//   close    sets the bit. The thread that sets it also sets closed_, and drained_ if no work is inside
//   wait     waits for closed_ or drained_, never for the word
//
//   D1  enter and close are both read-modify-writes of one word, so at least one of them sees the other. So
//       every piece of work that was admitted is waited for.
//   D2  The word reaches the state "closed, nothing inside" once and never leaves it. Exactly one call sees
//       that change, so drained_ is set once.
//   D3  A thread that has passed drained_ and knows that close() has returned may destroy the gate: leave()
//       touches nothing after drained_.set(). A thread that polled the word instead could destroy the gate
//       before drained_ is set (use after free).
//   Checked: tests/model/drain_gate_model.cpp.
class drain_gate {
 public:
  drain_gate() noexcept = default;
  drain_gate(const drain_gate&) = delete;
  drain_gate& operator=(const drain_gate&) = delete;
  ~drain_gate() { ROTA_ASSERT(inside() == 0); }

  /// Admits one piece of work. Returns false if the gate is closed. After true, leave() must follow.
  [[nodiscard]] bool enter() noexcept {
    // relaxed: a hint; the compare-exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & closed_bit) != 0) return false;
      // relaxed: it says only that one more is inside. failure: relaxed: again a hint.
    } while (!word_.compare_exchange_weak(seen, seen + one, base::order::relaxed, base::order::relaxed));
    return true;
  }

  void leave() noexcept {
    // acq_rel: release: what was done inside is seen by a thread that waits for the end. acquire: the last
    // one to leave sees it too, and passes it on by drained_.
    const std::uint64_t before = word_.fetch_sub(one, base::order::acq_rel);
    ROTA_ASSERT(before >= one);
    if (before == (one | closed_bit)) drained_.set();
  }

  /// Closes the gate. Returns true if it was not closed before.
  bool close() noexcept {
    // acq_rel: release: publishes nothing by itself; the events do that. acquire: if no work is inside, what
    // all that have left did is seen.
    const std::uint64_t before = word_.fetch_or(closed_bit, base::order::acq_rel);
    if ((before & closed_bit) != 0) return false;
    closed_.set();
    if (before == 0) drained_.set();
    return true;
  }

  [[nodiscard]] bool is_closed() const noexcept { return closed_.is_set(); }
  /// A hint, unless the gate is quiescent.
  [[nodiscard]] std::uint64_t inside() const noexcept {
    // relaxed: a hint only.
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
