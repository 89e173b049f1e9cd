// The flags of a gate: one of the producers that push to a queue publishes it; one consumer at a time runs
// it.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::gate {

// PROTOCOL: gate (the "scheduled" bit of an actor's queue, as Vyukov has it)
//
//   flags              IDLE 0     SCHEDULED 1     EXECUTING 2     both 3: pushed to while it was executed
//
//   call                 RMW on the flags                          then
//   schedule             fetch_or(SCHEDULED), always               from IDLE: publish
//   begin                exchange(EXECUTING)                       only now the queue is read
//   finish               fetch_and(~EXECUTING)                     SCHEDULED was set: publish
//   finish_or_continue   CAS EXECUTING -> IDLE                     it failed: exchange(EXECUTING),
//                                                                  and read the queue again
//   finish_and_schedule  exchange(SCHEDULED)                       publish
//
// The caller decides what it means to publish: to set a bit, or to put the queue into a list of ready queues.
// That step releases. The consumer that takes the gate from there, and begins, acquires.
//
// Why no item is lost: the push is sequenced before the producer's RMW on the flags. In the modification
// order of the flags there are two cases.
//   - The producer's RMW comes before the consumer's begin. Then begin reads from it, and this round sees the
//     item.
//   - It comes after. Then the producer found EXECUTING, and finish publishes; or it found IDLE, and
//     publishes itself.
// All changes are RMWs, so what a schedule or a finish has released stays in the release sequence until a
// begin, or the next publisher, acquires it. They need no order but these two, and no fence.
//
// Two bad interleavings, each a mutant in tests/mutants:
//   - schedule loads the flags first, and does nothing if SCHEDULED is set. Its push may still be in the
//     store buffer when the consumer begins and drains (also on x86). The item stays in the queue, and no bit
//     says so (lost wakeup).
//   - begin stores EXECUTING instead of exchanging it. The first read of the drain may be older than the
//     store, and a schedule in between is overwritten.
//
// Invariants (tests/unit/gate, tests/model/gate_model.cpp, src/gate/models/gate.pml):
//   G1  a published gate is SCHEDULED and not EXECUTING until it is begun; until then it is published only
//       once.
//   G2  if no thread is inside a push or a schedule, and the queue is not empty, the flags are not IDLE.
//   G3  for each change from IDLE one schedule returns `publish`; a gate is begun as often as it was
//       published.
//   G4  between begin and finish there is only one consumer, and what one round did happens before the next
//       round.

/// What a schedule has found in the flags.
enum class [[nodiscard]] on_schedule : std::uint32_t {
  publish = 0,       // idle: the caller publishes
  published = 1,     // published already: the round that begins sees the push
  executing = 2,     // a round runs; it sees the push, or publishes at its end
  executing_on = 3,  // the same, and another schedule came before this one
};

/// Threads       schedule: any. The others: only the thread that took the published gate, until its finish.
/// Ordering      What happened before schedule() happens before what follows the next begin(). What happened
///               in one round happens before the next round.
/// Failure       Misuse ends the program, in every build. `number` identifies the gate in the message.
/// Cost          One read-modify-write each; finish_or_continue two, if it continues.
class gate_flags {
 public:
  on_schedule schedule() noexcept {
    // acq_rel: release: pairs with begin(), which sees what the caller pushed. acquire: pairs with finish():
    // a caller that found IDLE may write what publishing needs, such as a link in a list, after the last
    // round that used it.
    return on_schedule{flags_.fetch_or(scheduled, base::order::acq_rel)};
  }

  void begin(std::uint64_t number) noexcept {
    // acquire: pairs with schedule(): every push that was scheduled before is seen. Also pairs with finish():
    // earlier rounds are seen.
    const std::uint32_t before = flags_.exchange(executing, base::order::acquire);
    if (before != scheduled) [[unlikely]]
      misused((before & executing) != 0 ? "a gate is executed twice at a time: number"
                                        : "begin of a gate that is not scheduled: number",
              number);
  }

  /// Ends the round. Returns true if the caller has to publish the gate.
  [[nodiscard]] bool finish(std::uint64_t number) noexcept {
    // release: pairs with begin(): the next round sees what this one did.
    const std::uint32_t before = flags_.fetch_and(~executing, base::order::release);
    if ((before & executing) == 0) [[unlikely]]
      misused(not_begun, number);
    return before != executing;
  }

  /// Ends the round, if no schedule came meanwhile. Returns true if one came; then the round goes on, as
  /// after begin().
  [[nodiscard]] bool finish_or_continue(std::uint64_t number) noexcept {
    std::uint32_t seen = executing;
    // release: same reason as in finish(). failure: relaxed: the exchange below reads again, and acquires.
    if (flags_.compare_exchange_strong(seen, idle, base::order::release, base::order::relaxed)) return false;
    // acquire: same reason as in begin().
    const std::uint32_t before = flags_.exchange(executing, base::order::acquire);
    if (before != (scheduled | executing)) [[unlikely]]
      misused(not_begun, number);
    return true;
  }

  /// Ends the round and leaves the gate SCHEDULED; the caller has to publish it.
  void finish_and_schedule(std::uint64_t number) noexcept {
    // acq_rel: release: as in finish(). This is an RMW, not a store, so the next begin() also sees the pushes
    // that were scheduled before this. acquire: so does the caller, which may read orders before it
    // publishes.
    const std::uint32_t before = flags_.exchange(scheduled, base::order::acq_rel);
    if ((before & executing) == 0) [[unlikely]]
      misused(not_begun, number);
  }

  /// Returns true if the gate is not published and no round runs; then what the last round did is seen. Only
  /// a hint while another thread may schedule.
  [[nodiscard]] bool is_idle() const noexcept {
    // acquire: pairs with finish().
    return flags_.load(base::order::acquire) == idle;
  }

 private:
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t scheduled = 1;
  static constexpr std::uint32_t executing = 2;
  static constexpr const char* not_begun = "finish of a gate that was not begun: number";

  [[noreturn, gnu::cold]] static void misused(const char* what, std::uint64_t number) noexcept {
    ROTA_FATAL(what, number);
  }

  base::atomic<std::uint32_t> flags_{idle};
};

}  // namespace rota::gate
