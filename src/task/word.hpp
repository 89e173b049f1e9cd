// The task state word as a value, and the rules that lead from one word to the next. No atomics here.
#pragma once

#include <cstdint>

namespace rota::core {

// PROTOCOL: task state word
//
//   63                    32 31        24 23        16 15         8 7         0
//   +-----------------------+------------+------------+------------+-----------+
//   |      references       |   shield   |   flags    | lifecycle  | must be 0 |
//   +-----------------------+------------+------------+------------+-----------+
//
//   field          means                               set by               cleared by
//   idle           suspended, until a wake             suspend              wake, cancel, override, force_end
//   scheduled      runnable                            wake, suspend, yield pop, claim
//   running        one thread owns the frames          pop, claim           suspend, yield, finish
//   complete       the outcome is published; final     finish               never
//   notified       woken while running: check the leaf wake                 pop, claim, suspend, finish
//   cancelled      cancellation was requested          cancel, force_end    never
//   join_interest  the join slot holds a waker         join_register        join_leave
//   detached       the outcome will not be taken       drop_handle          never
//   queued         a queue holds an entry for this     wake, suspend, yield pop, drop_entry
//   overridden     the shields no longer count         override, force_end  shield_up, last shield_down
//   unwinding      its frames are being destroyed      begin_unwind         pause_unwind, end_unwind, finish
//   forced         the forced end has reached it       force_end            never
//   shield         number of shields that are up       shield_up            shield_down
//
// Access to the frames, the leaf and every other plain field: the thread that made the word `running`, until
// it leaves that state. Access to the outcome: a thread that has seen `complete`. Access to the join slot:
// the handle's owner until join_register, then the completer, unless join_leave gave the slot back.
//
// References: one of the scheduler until after finish, one of the handle, one of the queue's entry, one per
// waker, one per abort_handle. The thread that drops the last reference frees the task.
//
// Invariants (valid(), keeps_the_end(); every rule keeps them, tried on every word at compile time in
// tests/unit/task/word_test.cpp):
//   I1  scheduled implies queued: a runnable task can always be found.
//   I2  every entry owns a reference, and so does the scheduler until the task is complete.
//   I3  notified implies running; overridden implies a shield; unwinding implies not complete.
//   I4  complete is final: after it only references, queued and detached change.
//
// Every change is a read-modify-write of the one word, even if the word keeps its value. So all changes have
// one total order, and a redundant wake still publishes what its caller did before. The exception is the last
// reference of a complete task: no other thread can find the word any more, so its holder reads it, and
// counts down by a plain store.

enum class lifecycle : std::uint8_t { idle, scheduled, running, complete };

enum flag : std::uint64_t {
  notified = 1U << 16U,
  cancelled = 1U << 17U,
  join_interest = 1U << 18U,
  detached = 1U << 19U,
  queued = 1U << 20U,
  overridden = 1U << 21U,
  unwinding = 1U << 22U,
  forced = 1U << 23U,
};

/// A value read from the word. Plain data.
struct snapshot {
  static constexpr std::uint64_t one_ref = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t one_shield = std::uint64_t{1} << 24U;
  static constexpr std::uint64_t shield_mask = std::uint64_t{0xFF} << 24U;
  static constexpr std::uint64_t lifecycle_mask = std::uint64_t{0xFF} << 8U;
  static constexpr unsigned max_shields = 255;
  /// Counting ends the program here, 65536 before the count would wrap.
  static constexpr std::uint64_t max_refs = 0xFFFF'0000U;

  std::uint64_t bits;

  [[nodiscard]] constexpr bool has(flag f) const noexcept { return (bits & f) != 0; }
  [[nodiscard]] constexpr bool has_one_of(flag f, flag g) const noexcept { return (bits & (f | g)) != 0; }
  [[nodiscard]] constexpr lifecycle phase() const noexcept {
    return static_cast<lifecycle>((bits >> 8U) & 0xFFU);
  }
  [[nodiscard]] constexpr bool is(lifecycle l) const noexcept { return phase() == l; }
  [[nodiscard]] constexpr std::uint64_t refs() const noexcept { return bits >> 32U; }
  [[nodiscard]] constexpr unsigned shields() const noexcept {
    return static_cast<unsigned>((bits >> 24U) & 0xFFU);
  }
  [[nodiscard]] constexpr bool exposed() const noexcept { return shields() == 0 || has(overridden); }
  /// Returns true if cancellation was requested, no shield holds it off, and it has not begun.
  [[nodiscard]] constexpr bool cancel_due() const noexcept {
    return has(cancelled) && exposed() && !has(unwinding);
  }

  [[nodiscard]] constexpr snapshot with(flag f) const noexcept { return {bits | f}; }
  [[nodiscard]] constexpr snapshot without(flag f) const noexcept { return {bits & ~std::uint64_t{f}}; }
  [[nodiscard]] constexpr snapshot to(lifecycle l) const noexcept {
    return {(bits & ~lifecycle_mask) | (static_cast<std::uint64_t>(l) << 8U)};
  }
  [[nodiscard]] constexpr snapshot plus_ref() const noexcept { return {bits + one_ref}; }
  [[nodiscard]] constexpr snapshot minus_ref() const noexcept { return {bits - one_ref}; }
  [[nodiscard]] constexpr snapshot plus_shield() const noexcept { return {bits + one_shield}; }
  [[nodiscard]] constexpr snapshot minus_shield() const noexcept { return {bits - one_shield}; }
  [[nodiscard]] constexpr snapshot no_shields() const noexcept { return {bits & ~shield_mask}; }
};

// NOT IN A MODEL: a word that is not valid ends the execution
[[nodiscard]] constexpr bool valid(snapshot s) noexcept {
  const bool lifecycle_known = (s.bits & snapshot::lifecycle_mask) <= (std::uint64_t{3} << 8U);
  const bool reserved_zero = (s.bits & 0xFFU) == 0;
  const bool complete = s.is(lifecycle::complete);
  const std::uint64_t owed = (s.has(queued) ? 1U : 0U) + (complete ? 0U : 1U);
  return lifecycle_known && reserved_zero                            //
         && (!s.is(lifecycle::scheduled) || s.has(queued))           // I1
         && s.refs() >= owed                                         // I2
         && (!s.has(notified) || s.is(lifecycle::running))           // I3
         && (!s.has(overridden) || s.shields() > 0)                  // I3
         && (!complete || (!s.has(unwinding) && s.shields() == 0));  // I3, I4
}

namespace words {

/// What valid() requires of a word, by its lifecycle, its flags and whether it has shields: the least number
/// of references; below zero if the word is not valid. Any word may be `forced`, or not.
struct legality {
  static constexpr unsigned entries = 1024;
  std::int16_t owed[entries];

  static constexpr unsigned index_of(snapshot s) noexcept {
    const auto phase_bits = static_cast<unsigned>(s.bits >> 8U) & 3U;
    const auto flag_bits = static_cast<unsigned>(s.bits >> 16U) & 0x7FU;
    return phase_bits | (flag_bits << 2U) | (s.shields() != 0 ? 512U : 0U);
  }
  static constexpr legality make() noexcept {
    legality made{};
    for (std::uint64_t i = 0; i < entries; ++i) {
      const snapshot without_refs{((i & 3U) << 8U) | ((i >> 2U & 0x7FU) << 16U) |
                                  ((i & 512U) != 0 ? snapshot::one_shield : 0)};
      std::int16_t owed = 0;
      while (owed < 3 && !valid({without_refs.bits + snapshot::one_ref * static_cast<unsigned>(owed)}))
        ++owed;
      made.owed[i] = owed == 3 ? std::int16_t{-1} : owed;
    }
    return made;
  }
};
inline constexpr legality legal_words = legality::make();

}  // namespace words

/// Returns what valid() returns, by a table lookup: called at every transition, in every build.
// NOT IN A MODEL: as valid()
[[nodiscard]] constexpr bool is_legal(snapshot s) noexcept {
  constexpr std::uint64_t must_be_zero = 0xFCFFU;
  const std::int64_t owed = words::legal_words.owed[words::legality::index_of(s)];
  return (s.bits & must_be_zero) == 0 && s.refs() >= static_cast<std::uint64_t>(owed);
}

/// Returns true if the change keeps invariant I4.
// NOT IN A MODEL: as valid()
[[nodiscard]] constexpr bool keeps_the_end(snapshot from, snapshot to) noexcept {
  constexpr std::uint64_t may_change = ~(snapshot::one_ref - 1) | queued | detached;
  return !from.is(lifecycle::complete) || ((from.bits ^ to.bits) & ~may_change) == 0;
}

/// A new task after spawn: runnable, with an entry. References: scheduler, entry, handle.
inline constexpr snapshot spawned_word =
    snapshot{3 * snapshot::one_ref}.to(lifecycle::scheduled).with(queued);
/// The root of block_on: it runs at once, on the caller's thread. References: scheduler, handle.
inline constexpr snapshot entered_word = snapshot{2 * snapshot::one_ref}.to(lifecycle::running);

// What the caller of each transition must do. [[nodiscard]]: an ignored duty is a lost task.
enum class [[nodiscard]] on_wake { nothing, submit };  // submit: call schedule()
enum class [[nodiscard]] on_cancel { too_late, requested, submit };
enum class [[nodiscard]] on_pop { nothing, run, free };          // free: the entry held the last reference
enum class [[nodiscard]] on_drop_entry { keep, dropped, free };  // keep: still runnable, the entry moves on
enum class [[nodiscard]] on_claim { refused, run };
enum class [[nodiscard]] on_suspend { parked, again, resubmit };  // again: runnable, and its old entry serves
enum class [[nodiscard]] on_register { registered, complete };
enum class [[nodiscard]] on_leave { left, complete };
enum class [[nodiscard]] on_drop_handle {
  nothing,
  destroy_result
};  // destroy_result: then drop the reference
enum class [[nodiscard]] on_shield {
  done,
  older_overridden,
  overflow
};  // older_overridden: done, and the older shields do not count
enum class [[nodiscard]] on_release { kept, free };

/// What the finisher must do. It has published the outcome.
struct [[nodiscard]] on_finish {
  bool wake_joiner;     // the join slot belongs to the finisher, and holds a waker
  bool destroy_result;  // the handle was given up before
};

template <class Duty>
struct step {
  snapshot next;
  Duty duty;
};

/// The rules: pure functions from one word to the next. A test tries them on every word.
namespace rule {

/// Makes an idle task runnable. `Duty::submit` if it needs a new entry, which takes a reference of its own.
template <class Duty>
constexpr auto enqueue(snapshot s, Duty submit, Duty old_entry_serves) noexcept -> step<Duty> {
  const auto next = s.to(lifecycle::scheduled);
  if (s.has(queued)) return {next, old_entry_serves};
  return {next.with(queued).plus_ref(), submit};
}

constexpr auto wake(snapshot s) noexcept -> step<on_wake> {
  switch (s.phase()) {
    case lifecycle::idle: return enqueue(s, on_wake::submit, on_wake::nothing);
    case lifecycle::running: return {s.with(notified), on_wake::nothing};
    default: return {s, on_wake::nothing};
  }
}

/// A cancelled idle task is woken: otherwise it would never complete.
constexpr auto cancel(snapshot s) noexcept -> step<on_cancel> {
  if (s.is(lifecycle::complete)) return {s, on_cancel::too_late};
  const auto [next, duty] = wake(s.with(cancelled));
  return {next, duty == on_wake::submit ? on_cancel::submit : on_cancel::requested};
}

/// The forced end of a scheduler that waits no longer: cancels, and overrides the shields that are up, in one
/// step. So a clean-up that this cancellation begins is protected by its own, later shield. Only the first
/// call counts, by the scheduler's sweep or by the worker that is about to run the task.
constexpr auto force_end(snapshot s) noexcept -> step<on_cancel> {
  if (s.is(lifecycle::complete)) return {s, on_cancel::too_late};
  if (s.has(forced)) return {s, on_cancel::requested};
  return cancel(s.shields() == 0 ? s.with(forced) : s.with(forced).with(overridden));
}

/// Overrides the shields when a shield's limit has passed. Does nothing without a shield.
constexpr auto override_shield(snapshot s) noexcept -> step<on_wake> {
  if (s.is(lifecycle::complete) || s.shields() == 0) return {s, on_wake::nothing};
  return wake(s.with(overridden));
}

/// Drops the entry's reference together with the entry, in one write. The scheduler's reference holds a
/// running task.
constexpr auto pop(snapshot s) noexcept -> step<on_pop> {
  const auto next = s.without(queued).minus_ref();
  if (s.is(lifecycle::scheduled)) return {next.to(lifecycle::running), on_pop::run};
  return {next, next.refs() == 0 ? on_pop::free : on_pop::nothing};
}

constexpr auto drop_entry(snapshot s) noexcept -> step<on_drop_entry> {
  if (s.is(lifecycle::scheduled)) return {s, on_drop_entry::keep};
  const auto next = s.without(queued).minus_ref();
  return {next, next.refs() == 0 ? on_drop_entry::free : on_drop_entry::dropped};
}

/// Claims a scheduled task to run it, and leaves its entry in the queue.
constexpr auto claim(snapshot s) noexcept -> step<on_claim> {
  if (!s.is(lifecycle::scheduled)) return {s, on_claim::refused};
  return {s.to(lifecycle::running), on_claim::run};
}

constexpr auto yield(snapshot s) noexcept -> step<on_suspend> {
  return enqueue(s.without(notified), on_suspend::resubmit, on_suspend::again);
}

/// One write: if the word were idle in between, another thread could run, complete and free the task.
constexpr auto suspend(snapshot s) noexcept -> step<on_suspend> {
  if (s.has(notified) || s.cancel_due()) return yield(s);
  return {s.to(lifecycle::idle), on_suspend::parked};
}

constexpr auto finish(snapshot s) noexcept -> step<on_finish> {
  const auto next =
      s.to(lifecycle::complete).without(notified).without(unwinding).without(overridden).no_shields();
  return {next, {s.has(join_interest), s.has(detached)}};
}

/// The end of a task that never left the thread of the task that awaits it. No other thread can be waiting
/// for it, and the handle lives until that thread goes on. So the scheduler's reference is dropped in the
/// same write.
constexpr auto finish_in_place(snapshot s) noexcept -> step<on_finish> {
  const auto [next, duty] = finish(s);
  return {next.minus_ref(), duty};
}

constexpr auto join_register(snapshot s) noexcept -> step<on_register> {
  if (s.is(lifecycle::complete)) return {s, on_register::complete};
  return {s.with(join_interest), on_register::registered};
}

constexpr auto join_leave(snapshot s) noexcept -> step<on_leave> {
  if (s.is(lifecycle::complete)) return {s, on_leave::complete};
  return {s.without(join_interest), on_leave::left};
}

/// Before completion the scheduler holds a reference, so the handle's reference is dropped in the same write.
constexpr auto drop_handle(snapshot s) noexcept -> step<on_drop_handle> {
  if (s.is(lifecycle::complete)) return {s.with(detached), on_drop_handle::destroy_result};
  return {s.with(detached).minus_ref(), on_drop_handle::nothing};
}

/// A new shield has a limit of its own. Only the older shields were overridden: the caller notes that in
/// their regions.
constexpr auto shield_up(snapshot s) noexcept -> step<on_shield> {
  // NOT IN A MODEL: 255 of them
  if (s.shields() == snapshot::max_shields) return {s, on_shield::overflow};
  return {s.without(overridden).plus_shield(),
          s.has(overridden) ? on_shield::older_overridden : on_shield::done};
}

constexpr auto shield_down(snapshot s) noexcept -> step<on_shield> {
  const auto next = s.minus_shield();
  return {next.shields() == 0 ? next.without(overridden) : next, on_shield::done};
}

constexpr auto begin_unwind(snapshot s) noexcept -> step<on_shield> {
  return {s.with(unwinding), on_shield::done};
}

/// Pauses the unwinding for a clean-up, which runs as ordinary code under a shield.
constexpr auto pause_unwind(snapshot s) noexcept -> step<on_shield> {
  const auto [next, duty] = shield_up(s.without(unwinding));
  return {next, duty};
}

constexpr auto end_unwind(snapshot s) noexcept -> step<on_shield> {
  return {s.without(unwinding), on_shield::done};
}

}  // namespace rule

}  // namespace rota::core
