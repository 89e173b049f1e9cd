// The word of a work as a value, and the rules that make the next word of it. No atomics here.
#pragma once

#include <rota/pool/work_status.hpp>

#include <cstdint>

namespace rota::pool::detail {

// PROTOCOL: work word
//
//   63                 36 35   32 31                 0
//   +--------------------+-------+--------------------+
//   |       flags        | status|     references     |
//   +--------------------+-------+--------------------+
//
//   status     from                    to                            by
//   created    -                       blocked, suspended, queued    submit
//   blocked    created                 suspended, queued;            the last of `after` to end
//                                      running (a failure)
//   suspended  created, blocked,       queued                        start, resume, a place in the group,
//              queued, running                                       the timer of a back-off
//              (a later attempt)
//   queued     see above               running, suspended (paused)   the thread that took it out of its queue
//   running    queued, paused          paused, queued, suspended     the runner
//   paused     running                 running                       the runner
//   final      blocked to queued       cancelled, discarded          the thread that cancels or discards it
//              created                 rejected                      submit, which throws
//              created                 cancelled                     the pool's end, if it is only reserved
//              running, paused         succeeded, failed, stopped,   the runner
//                                      ...
//              running, paused         abandoned                     the thread that waited out the grace
//
//   flag           means
//   begun          an attempt has begun: the work can no longer be cancelled while it runs
//   stop           asked to stop; force: at every blocking point; timed_out, ending: why
//   held           paused by itself, independent of its group and its pool
//   last_attempt   no other attempt follows
//   over           final, and all that the end requires has happened: callback, dependents. Waiters go on
//   slept_on       threads sleep on the upper half of this word
//   listed         there is a list of waiters: see work.hpp
//   hooked         there is a hook that must be called for a stop
//   reserved       its id came from reserve(), before the work was submitted; taken: the work is being made
//   came_back      it was abandoned, and its runner has returned after all
//   fetched        its outcome belongs to the caller that set this flag, and that may clear it again
//   nudges         above the flags: counted up by a thread that resumes something, so that threads that
//                  sleep on the word check again
//
//   W1  A final status never changes. It is entered once: by the compare-exchange that replaces a status that
//       is not final.
//   W2  The thread that gives a work its final status does everything that the end requires, and then sets
//       `over`, once. If the end requires nothing, both are one step, and the runner's reference may be
//       dropped in the same step.
//   W3  `running` and `paused` belong to one thread, the runner. Only the runner uses the function and writes
//       the outcome. So the outcome is written before `succeeded` or `failed` appears. A thread that sees one
//       of these and `over` may read it. No thread may read the outcome of an abandoned work: its runner
//       destroys it when it returns.
//   W4  References. One travels with the work: through its queue, to the runner. In `blocked` and `suspended`
//       it is kept for the thread that will place the work. Each handle and each waiter has one. The thread
//       that drops the last one returns the slot.

enum flag : std::uint64_t {
  begun = std::uint64_t{1} << 36U,
  stop_asked = std::uint64_t{1} << 37U,
  force_asked = std::uint64_t{1} << 38U,
  timed_out = std::uint64_t{1} << 39U,
  ending = std::uint64_t{1} << 40U,  // the pool ends
  held = std::uint64_t{1} << 41U,
  last_attempt = std::uint64_t{1} << 42U,
  over = std::uint64_t{1} << 43U,
  slept_on = std::uint64_t{1} << 44U,
  listed = std::uint64_t{1} << 45U,
  hooked = std::uint64_t{1} << 46U,
  taken = std::uint64_t{1} << 47U,
  reserved = std::uint64_t{1} << 49U,
  came_back = std::uint64_t{1} << 50U,
  fetched = std::uint64_t{1} << 51U,
};

// up to the end of the word, and wraps around
inline constexpr std::uint64_t one_nudge = std::uint64_t{1} << 52U;

struct word {
  static constexpr unsigned status_shift = 32;
  static constexpr std::uint64_t status_mask = std::uint64_t{0xF} << status_shift;
  static constexpr std::uint64_t refs_mask = 0xFFFF'FFFFU;
  static constexpr std::uint64_t max_refs = 0xFFFF'0000U;

  std::uint64_t bits;

  [[nodiscard]] constexpr work_status status() const noexcept {
    return static_cast<work_status>((bits & status_mask) >> status_shift);
  }
  [[nodiscard]] constexpr bool is(work_status s) const noexcept { return status() == s; }
  [[nodiscard]] constexpr bool has(flag f) const noexcept { return (bits & f) != 0; }
  [[nodiscard]] constexpr std::uint64_t refs() const noexcept { return bits & refs_mask; }
  [[nodiscard]] constexpr std::uint32_t upper() const noexcept {
    return static_cast<std::uint32_t>(bits >> 32U);
  }
  [[nodiscard]] constexpr bool is_running() const noexcept {
    return is(work_status::running) || is(work_status::paused);
  }
  [[nodiscard]] constexpr bool waits_to_begin() const noexcept {
    return is(work_status::blocked) || is(work_status::suspended) || is(work_status::queued);
  }

  [[nodiscard]] constexpr word to(work_status s) const noexcept {
    return {(bits & ~status_mask) | (static_cast<std::uint64_t>(s) << status_shift)};
  }
  [[nodiscard]] constexpr word with(std::uint64_t flags) const noexcept { return {bits | flags}; }
  [[nodiscard]] constexpr word without(std::uint64_t flags) const noexcept { return {bits & ~flags}; }
};

/// The result of a rule: the next word, and whether the rule applies.
struct step {
  word next;
  bool applies;
};

namespace rule {

/// Places a work in a queue, or in another list.
constexpr step place(word w, work_status to) noexcept {
  const bool from = w.is(work_status::created) || w.is(work_status::blocked) || w.is(work_status::suspended);
  return {w.to(to), from};
}
/// Moves a work from its queue to a list of held works.
constexpr step hold(word w) noexcept { return {w.to(work_status::suspended), w.is(work_status::queued)}; }
/// Begins a work. Does not apply to a work that was asked to stop while it was submitted: it never begins.
/// See ask_early().
constexpr step claim(word w) noexcept {
  return {w.to(work_status::running).with(begun), w.is(work_status::queued) && !w.has(stop_asked)};
}
/// A work in `after` has failed: this work becomes `running`, but nothing has begun.
constexpr step claim_to_fail(word w) noexcept {
  return {w.to(work_status::running), w.is(work_status::blocked)};
}
constexpr step take_back(word w, work_status to, std::uint64_t why) noexcept {
  return {w.to(to).with(why), w.waits_to_begin()};
}
/// Rejects a work that could already be found. A work with a reserved id stays reserved instead.
constexpr step reject(word w, std::uint64_t why) noexcept {
  return {w.to(work_status::rejected).with(why), w.is(work_status::created) && !w.has(reserved)};
}
/// Asks a running work to stop. Does not apply to a work that is about to fail because of another one: that
/// has not begun, and its end is on its way.
constexpr step ask(word w, std::uint64_t flags) noexcept {
  return {w.with(flags), w.is_running() && w.has(begun)};
}
/// Asks a work to stop that is being submitted. The submitting thread cancels it, once it is in a queue or
/// list. A thread that takes it out before finds that it cannot be claimed, and leaves it alone.
constexpr step ask_early(word w, std::uint64_t flags) noexcept {
  return {w.with(flags), w.is(work_status::created) && (!w.has(reserved) || w.has(taken))};
}
constexpr step forget_stop(word w) noexcept {
  return {w.without(stop_asked | timed_out | ending), w.is_running() && !w.has(force_asked)};
}
constexpr step pause_here(word w) noexcept { return {w.to(work_status::paused), w.is(work_status::running)}; }
constexpr step go_on(word w) noexcept { return {w.to(work_status::running), w.is(work_status::paused)}; }
/// Another attempt will be made, by the thread that takes the work out of a queue.
constexpr step again(word w, work_status to) noexcept {
  return {w.to(to), w.is(work_status::running) && !w.has(stop_asked)};
}
constexpr step end(word w, work_status to) noexcept { return {w.to(to), w.is_running()}; }
/// Ends a work and makes it `over` in one step: if no thread waits for it, and no request must be undone.
/// `owned`: the number of the runner's references, which are dropped in the same step.
constexpr step end_at_once(word w, work_status to, std::uint64_t owned) noexcept {
  return {{w.to(to).with(over).bits - owned},
          w.is_running() && (w.bits & (slept_on | listed | force_asked | held)) == 0};
}
constexpr step give_up(word w) noexcept {
  return {w.to(work_status::abandoned), w.is_running() && w.has(begun)};
}
constexpr step say_over(word w) noexcept { return {w.with(over).without(slept_on), true}; }
constexpr step come_back(word w) noexcept { return {w.with(came_back), w.is(work_status::abandoned)}; }
constexpr step fetch(word w) noexcept { return {w.with(fetched), w.has(over) && !w.has(fetched)}; }
/// Undoes fetch(), by the caller that has fetched the work and left the outcome in place.
constexpr step unfetch(word w) noexcept { return {w.without(fetched), w.has(fetched)}; }
constexpr step list(word w) noexcept { return {w.with(listed), !w.has(over)}; }
constexpr step sleep_on(word w) noexcept { return {w.with(slept_on), !w.has(over)}; }
/// For a thread that must not continue before the function has returned, even if the work was abandoned.
constexpr step sleep_until_back(word w) noexcept {
  return {w.with(slept_on), !w.has(over) || (w.is(work_status::abandoned) && !w.has(came_back))};
}
/// Adds one, so that two nudges do not cancel each other.
constexpr step nudge(word w) noexcept { return {{w.bits + one_nudge}, !w.has(over)}; }
constexpr step take(word w) noexcept {
  return {w.with(taken), w.is(work_status::created) && w.has(reserved) && !w.has(taken)};
}
constexpr step give_up_reservation(word w) noexcept {
  return {w.to(work_status::cancelled).with(ending),
          w.is(work_status::created) && w.has(reserved) && !w.has(taken)};
}
constexpr step set(word w, std::uint64_t flags) noexcept { return {w.with(flags), !is_final(w.status())}; }
constexpr step clear(word w, std::uint64_t flags) noexcept {
  return {w.without(flags), !is_final(w.status())};
}

}  // namespace rule

}  // namespace rota::pool::detail
