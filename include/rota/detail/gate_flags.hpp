// The flags of a gate: of all who push to a queue one publishes it, and one at a time runs it.
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
//   finish_or_continue   CAS EXECUTING -> IDLE                     it failed: exchange(EXECUTING), and read the queue again
//   finish_and_schedule  exchange(SCHEDULED)                       publish
//
// To publish is the caller's business: a bit, or a place in a list of what is ready. Whatever it is, it releases, and whoever
// takes the gate from there, and begins, acquires.
//
// Why nothing is lost: the push is sequenced before the producer's RMW. If that comes before the consumer's begin in the order
// of the flags' changes, begin reads from it and the item is seen in this round. If it comes after, the producer found EXECUTING,
// and finish will publish, or IDLE, and it publishes itself. All changes are RMWs, so what a schedule or a finish has released
// stays in the chain (release sequence) until a begin, or the next publisher, acquires it: they need no order but these two, and
// no fence.
//
// Two bad interleavings, each a broken variant in tests/mutants:
//   - schedule looks first, and does nothing where SCHEDULED is set: its push may still be in the store buffer when the consumer
//     begins and drains (also on x86). The item stays, and no bit says so.
//   - begin stores EXECUTING: the drain's first read may be older than the store, and a schedule in between is overwritten.
//
// Invariants (tests/unit/gate, tests/model/gate_model.cpp, src/gate/models/gate.pml):
//   G1  a published gate is SCHEDULED and not EXECUTING, until it is begun; it is published once until then.
//   G2  nobody is inside push or schedule, and the queue is not empty: the flags are not IDLE.
//   G3  one schedule returns true for each change from IDLE; as many begins as it was published.
//   G4  between begin and finish there is one consumer only, and what one round did happens before the next.

/// What a schedule has found.
enum class [[nodiscard]] on_schedule : std::uint32_t {
  publish = 0,       // nothing: the caller publishes
  published = 1,     // it is published already: the round that begins sees the push
  executing = 2,     // a round, which will see the push, or publish at its end
  executing_on = 3,  // the same, and somebody else was here
};

/// Threads       schedule: any. The others: whoever took the published gate, until it finishes.
/// Ordering      What happened before schedule() happens before what follows the begin() that comes after it; what happened in
///               one round happens before the next.
/// Failure       Misuse ends the program, in every build; `number` says which gate it was.
/// Cost          One read-modify-write each; finish_or_continue two, if it continues.
class gate_flags {
 public:
  on_schedule schedule() noexcept {
    // acq_rel. release: pairs with begin(), which sees what we pushed; acquire: pairs with finish(). From IDLE what publishing
    // writes, a link in a list say, is ours, and the round that used it last comes before.
    return on_schedule{flags_.fetch_or(scheduled, base::order::acq_rel)};
  }

  void begin(std::uint64_t number) noexcept {
    // acquire. Pairs with schedule(): all pushes whose schedule came before are seen; and with finish(): so are earlier rounds.
    const std::uint32_t before = flags_.exchange(executing, base::order::acquire);
    if (before != scheduled) [[unlikely]]
      misused((before & executing) != 0 ? "a gate is executed twice at a time: number"
                                        : "begin of a gate that is not scheduled: number",
              number);
  }

  /// True: publish.
  [[nodiscard]] bool finish(std::uint64_t number) noexcept {
    // release. Pairs with begin(): the next round sees what this one did.
    const std::uint32_t before = flags_.fetch_and(~executing, base::order::release);
    if ((before & executing) == 0) [[unlikely]]
      misused(not_begun, number);
    return before != executing;
  }

  /// True: the caller goes on, as after begin().
  [[nodiscard]] bool finish_or_continue(std::uint64_t number) noexcept {
    std::uint32_t seen = executing;
    // release. As finish(). failure: relaxed. The exchange below reads again, and acquires.
    if (flags_.compare_exchange_strong(seen, idle, base::order::release, base::order::relaxed)) return false;
    // acquire. As begin().
    const std::uint32_t before = flags_.exchange(executing, base::order::acquire);
    if (before != (scheduled | executing)) [[unlikely]]
      misused(not_begun, number);
    return true;
  }

  /// Then publish.
  void finish_and_schedule(std::uint64_t number) noexcept {
    // acq_rel. release: as finish(), and an RMW, not a store: the next begin() also sees the pushes whose schedule came before this;
    // acquire: so does the caller, who may look around before it publishes.
    const std::uint32_t before = flags_.exchange(scheduled, base::order::acq_rel);
    if ((before & executing) == 0) [[unlikely]]
      misused(not_begun, number);
  }

  /// Nothing is published, and no round runs: what the last one did is seen. A guess, if somebody may schedule.
  [[nodiscard]] bool is_idle() const noexcept {
    // acquire. Pairs with finish().
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
