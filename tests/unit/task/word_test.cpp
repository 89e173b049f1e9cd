// The rules of the task word, checked on every legal word while this file compiles. The expectations are
// written a second time, from the specification's table and in plain fields, so that a slip in either shows.
#include "task/word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace rota::core::word_test {
namespace {

constexpr std::array lifecycles{
    lifecycle::idle, lifecycle::scheduled, lifecycle::running, lifecycle::complete};
constexpr std::array<unsigned, 5> shield_depths{0, 1, 2, 254, 255};
constexpr unsigned flag_sets = 128;  // without `forced`: see forced_changes_nothing_else
constexpr unsigned reference_counts = 5;

/// A word, field by field.
struct word {
  lifecycle at = lifecycle::idle;
  unsigned refs = 0;
  unsigned shields = 0;
  bool notified = false;
  bool cancelled = false;
  bool join_interest = false;
  bool detached = false;
  bool queued = false;
  bool overridden = false;
  bool unwinding = false;
  bool forced = false;

  friend constexpr bool operator==(const word&, const word&) = default;

  [[nodiscard]] constexpr bool idle() const { return at == lifecycle::idle; }
  [[nodiscard]] constexpr bool scheduled() const { return at == lifecycle::scheduled; }
  [[nodiscard]] constexpr bool running() const { return at == lifecycle::running; }
  [[nodiscard]] constexpr bool complete() const { return at == lifecycle::complete; }
  /// "shield 0" of the table.
  [[nodiscard]] constexpr bool shield_0() const { return (shields == 0 || overridden) && !unwinding; }
  /// A handle still exists: it owns a reference beside those of the scheduler and of the entry.
  [[nodiscard]] constexpr bool has_handle() const {
    return !detached && refs >= 1U + (queued ? 1U : 0U) + (complete() ? 0U : 1U);
  }
};

constexpr word read(snapshot s) {
  const std::uint64_t b = s.bits;
  return {static_cast<lifecycle>((b >> 8U) & 0xFFU),
          static_cast<unsigned>(b >> 32U),
          static_cast<unsigned>((b >> 24U) & 0xFFU),
          ((b >> 16U) & 1U) != 0,
          ((b >> 17U) & 1U) != 0,
          ((b >> 18U) & 1U) != 0,
          ((b >> 19U) & 1U) != 0,
          ((b >> 20U) & 1U) != 0,
          ((b >> 21U) & 1U) != 0,
          ((b >> 22U) & 1U) != 0,
          ((b >> 23U) & 1U) != 0};
}

constexpr snapshot make(lifecycle at, unsigned refs, unsigned shields, unsigned flags) {
  return {(std::uint64_t{refs} << 32U) | (std::uint64_t{shields} << 24U) | (std::uint64_t{flags} << 16U) |
          (static_cast<std::uint64_t>(at) << 8U)};
}

/// Written from the specification's invariants: valid() must agree with it on every word.
constexpr bool is_legal(const word& w) {
  if (w.scheduled() && !w.queued) return false;
  if (w.notified && !w.running()) return false;
  if (w.overridden && w.shields == 0) return false;
  if (w.complete() && (w.unwinding || w.shields != 0)) return false;
  const unsigned scheduler = w.complete() ? 0 : 1;
  const unsigned entry = w.queued ? 1 : 0;
  return w.refs >= scheduler + entry;
}

// Compilers bound the steps of one evaluation, so each lifecycle, depth and reference count has its own.

template <bool (*Holds)(snapshot, const word&), lifecycle At, unsigned Shields, unsigned Refs>
constexpr bool on_slice() {
  for (unsigned flags = 0; flags < flag_sets; ++flags) {
    const snapshot s = make(At, Refs, Shields, flags);
    if (valid(s) && !Holds(s, read(s))) return false;
  }
  return true;
}
template <bool (*Holds)(snapshot, const word&), lifecycle At, unsigned Shields, unsigned Refs>
constexpr bool slice_holds = on_slice<Holds, At, Shields, Refs>();

template <bool (*Holds)(snapshot, const word&), lifecycle At, unsigned Shields>
constexpr bool on_depth = slice_holds<Holds, At, Shields, 0> && slice_holds<Holds, At, Shields, 1> &&
                          slice_holds<Holds, At, Shields, 2> && slice_holds<Holds, At, Shields, 3> &&
                          slice_holds<Holds, At, Shields, 4>;

template <bool (*Holds)(snapshot, const word&), lifecycle At>
constexpr bool on_lifecycle = on_depth<Holds, At, 0> && on_depth<Holds, At, 1> && on_depth<Holds, At, 2> &&
                              on_depth<Holds, At, 254> && on_depth<Holds, At, 255>;

/// True if `Holds` is true on every legal word.
template <bool (*Holds)(snapshot, const word&)>
constexpr bool on_every_word =
    on_lifecycle<Holds, lifecycle::idle> && on_lifecycle<Holds, lifecycle::scheduled> &&
    on_lifecycle<Holds, lifecycle::running> && on_lifecycle<Holds, lifecycle::complete>;

static_assert(!valid(snapshot{make(lifecycle::idle, 1, 0, 0).bits | 1U}), "the lowest byte is 0");
static_assert(!valid(make(static_cast<lifecycle>(4), 1, 0, 0)), "there are four lifecycles");

constexpr bool fields_read_back(snapshot s, const word& w) {
  return s.phase() == w.at && s.refs() == w.refs && s.shields() == w.shields &&
         s.has(notified) == w.notified && s.has(cancelled) == w.cancelled &&
         s.has(join_interest) == w.join_interest && s.has(detached) == w.detached &&
         s.has(queued) == w.queued && s.has(overridden) == w.overridden && s.has(unwinding) == w.unwinding &&
         s.has(forced) == w.forced && s.cancel_due() == (w.cancelled && w.shield_0());
}
static_assert(on_every_word<fields_read_back>, "the accessors read the fields of the picture");

// --- the table, row by row. `expected` begins as the word itself: fields that a cell does not name stay.

/// Returns true if the step is exactly what the table says.
template <class Duty>
constexpr bool does(const step<Duty>& done, const word& expected, Duty duty) {
  return valid(done.next) && read(done.next) == expected && done.duty == duty;
}

/// "→ scheduled; unless queued: set queued, +1 reference for the entry, caller enqueues".
constexpr bool table_schedule(word& w) {
  w.at = lifecycle::scheduled;
  if (w.queued) return false;
  w.queued = true;
  ++w.refs;
  return true;
}

constexpr bool row_wake(snapshot s, const word& w) {
  word expected = w;
  auto duty = on_wake::nothing;
  switch (w.at) {
    case lifecycle::idle:
      if (table_schedule(expected)) duty = on_wake::submit;
      break;
    case lifecycle::scheduled: break;
    case lifecycle::running: expected.notified = true; break;
    case lifecycle::complete: break;
  }
  return does(rule::wake(s), expected, duty);
}
static_assert(on_every_word<row_wake>);

constexpr bool row_cancel(snapshot s, const word& w) {
  word expected = w;
  auto duty = on_cancel::requested;
  switch (w.at) {
    case lifecycle::idle:
      expected.cancelled = true;
      if (table_schedule(expected)) duty = on_cancel::submit;
      break;
    case lifecycle::scheduled: expected.cancelled = true; break;
    case lifecycle::running: expected.cancelled = expected.notified = true; break;
    case lifecycle::complete: duty = on_cancel::too_late; break;
  }
  return does(rule::cancel(s), expected, duty);
}
static_assert(on_every_word<row_cancel>);

constexpr bool row_force_end(snapshot s, const word& w) {
  if (w.complete()) return does(rule::force_end(s), w, on_cancel::too_late);
  word expected = w;
  expected.forced = expected.cancelled = true;
  expected.overridden = w.shields > 0;
  if (w.running()) expected.notified = true;
  const bool submits = w.idle() && table_schedule(expected);
  return does(rule::force_end(s), expected, submits ? on_cancel::submit : on_cancel::requested);
}
static_assert(on_every_word<row_force_end>);

constexpr bool row_override(snapshot s, const word& w) {
  word expected = w;
  auto duty = on_wake::nothing;
  // Without a shield there is nothing to override: "down to 0 clears overridden" must stay true.
  if (!w.complete() && w.shields > 0) {
    expected.overridden = true;
    if (w.running()) expected.notified = true;
    if (w.idle() && table_schedule(expected)) duty = on_wake::submit;
  }
  return does(rule::override_shield(s), expected, duty);
}
static_assert(on_every_word<row_override>);

constexpr bool row_pop(snapshot s, const word& w) {
  if (!w.queued) return true;
  word expected = w;
  expected.queued = false;
  --expected.refs;
  if (w.scheduled()) expected.at = lifecycle::running;
  const auto nothing = expected.refs == 0 ? on_pop::free : on_pop::nothing;
  return does(rule::pop(s), expected, w.scheduled() ? on_pop::run : nothing);
}
static_assert(on_every_word<row_pop>);

constexpr bool row_drop_entry(snapshot s, const word& w) {
  if (!w.queued) return true;
  if (w.scheduled()) return does(rule::drop_entry(s), w, on_drop_entry::keep);
  word expected = w;
  expected.queued = false;
  --expected.refs;
  return does(
      rule::drop_entry(s), expected, expected.refs == 0 ? on_drop_entry::free : on_drop_entry::dropped);
}
static_assert(on_every_word<row_drop_entry>);

constexpr bool row_claim(snapshot s, const word& w) {
  if (!w.scheduled()) return does(rule::claim(s), w, on_claim::refused);
  word expected = w;
  expected.at = lifecycle::running;
  return does(rule::claim(s), expected, on_claim::run);
}
static_assert(on_every_word<row_claim>);

constexpr bool row_suspend(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  auto duty = on_suspend::parked;
  expected.at = lifecycle::idle;
  if (w.notified || (w.cancelled && w.shield_0())) {
    expected.notified = false;
    duty = table_schedule(expected) ? on_suspend::resubmit : on_suspend::again;
  }
  return does(rule::suspend(s), expected, duty);
}
static_assert(on_every_word<row_suspend>);

constexpr bool row_yield(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  expected.notified = false;
  const auto duty = table_schedule(expected) ? on_suspend::resubmit : on_suspend::again;
  return does(rule::yield(s), expected, duty);
}
static_assert(on_every_word<row_yield>);

constexpr bool row_finish(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  expected.at = lifecycle::complete;
  expected.notified = expected.unwinding = expected.overridden = false;
  expected.shields = 0;
  const auto done = rule::finish(s);
  // "the old value decides joiner and detached; .. the scheduler's reference in a second write".
  return valid(done.next) && read(done.next) == expected && done.duty.wake_joiner == w.join_interest &&
         done.duty.destroy_result == w.detached && done.next.refs() == s.refs();
}
static_assert(on_every_word<row_finish>);

constexpr bool row_finish_in_place(snapshot s, const word& w) {
  if (!w.running() || s.refs() < 2) return true;
  const auto apart = rule::finish(s);
  const auto at_once = rule::finish_in_place(s);
  return valid(at_once.next) && at_once.next.bits == apart.next.minus_ref().bits &&
         at_once.duty.wake_joiner == apart.duty.wake_joiner &&
         at_once.duty.destroy_result == apart.duty.destroy_result;
}
static_assert(on_every_word<row_finish_in_place>);

constexpr bool row_shield_up(snapshot s, const word& w) {
  if (!w.running()) return true;
  if (w.shields == 255) return does(rule::shield_up(s), w, on_shield::overflow);
  word expected = w;
  ++expected.shields;
  expected.overridden = false;  // the new shield is not overridden
  return does(rule::shield_up(s), expected, w.overridden ? on_shield::older_overridden : on_shield::done);
}
static_assert(on_every_word<row_shield_up>);

constexpr bool row_shield_down(snapshot s, const word& w) {
  if (!w.running() || w.shields == 0) return true;
  word expected = w;
  if (--expected.shields == 0) expected.overridden = false;
  return does(rule::shield_down(s), expected, on_shield::done);
}
static_assert(on_every_word<row_shield_down>);

constexpr bool row_begin_unwind(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  expected.unwinding = true;
  return does(rule::begin_unwind(s), expected, on_shield::done);
}
static_assert(on_every_word<row_begin_unwind>);

constexpr bool row_end_unwind(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  expected.unwinding = false;
  return does(rule::end_unwind(s), expected, on_shield::done);
}
static_assert(on_every_word<row_end_unwind>);

constexpr bool row_pause_unwind(snapshot s, const word& w) {
  if (!w.running()) return true;
  word expected = w;
  expected.unwinding = false;
  if (w.shields == 255) return does(rule::pause_unwind(s), expected, on_shield::overflow);
  ++expected.shields;
  expected.overridden = false;
  return does(rule::pause_unwind(s), expected, w.overridden ? on_shield::older_overridden : on_shield::done);
}
static_assert(on_every_word<row_pause_unwind>);

// --- joining

constexpr bool row_join_register(snapshot s, const word& w) {
  if (w.complete()) return does(rule::join_register(s), w, on_register::complete);
  word expected = w;
  expected.join_interest = true;
  return does(rule::join_register(s), expected, on_register::registered);
}
static_assert(on_every_word<row_join_register>);

constexpr bool row_join_leave(snapshot s, const word& w) {
  if (w.complete()) return does(rule::join_leave(s), w, on_leave::complete);
  word expected = w;
  expected.join_interest = false;
  return does(rule::join_leave(s), expected, on_leave::left);
}
static_assert(on_every_word<row_join_leave>);

constexpr bool row_drop_handle(snapshot s, const word& w) {
  if (!w.has_handle()) return true;
  word expected = w;
  expected.detached = true;
  if (w.complete()) return does(rule::drop_handle(s), expected, on_drop_handle::destroy_result);
  --expected.refs;
  return does(rule::drop_handle(s), expected, on_drop_handle::nothing);
}
static_assert(on_every_word<row_drop_handle>);

// --- invariants of all rules together

/// Calls `f(next)` with the result of every rule that may be applied to the word.
template <class F>
constexpr bool every_step(snapshot s, const word& w, F f) {
  bool holds = f(rule::wake(s).next) && f(rule::cancel(s).next) && f(rule::override_shield(s).next) &&
               f(rule::claim(s).next) && f(rule::join_register(s).next) && f(rule::join_leave(s).next);
  if (w.queued) holds = holds && f(rule::pop(s).next) && f(rule::drop_entry(s).next);
  if (w.has_handle()) holds = holds && f(rule::drop_handle(s).next);
  if (!w.running()) return holds;
  holds = holds && f(rule::suspend(s).next) && f(rule::yield(s).next) && f(rule::finish(s).next) &&
          f(rule::shield_up(s).next) && f(rule::begin_unwind(s).next) && f(rule::pause_unwind(s).next) &&
          f(rule::end_unwind(s).next);
  return holds && (w.shields == 0 || f(rule::shield_down(s).next));
}

constexpr bool every_rule_keeps_validity(snapshot s, const word& w) {
  return every_step(s, w, [](snapshot next) { return valid(next); });
}
static_assert(on_every_word<every_rule_keeps_validity>, "no rule leads from a legal word to an illegal one");

constexpr bool complete_is_final(snapshot s, const word& w) {
  if (!w.complete()) return true;
  return every_step(s, w, [w](snapshot next) {
    word after = read(next);
    after.refs = w.refs;
    after.queued = w.queued;
    after.detached = w.detached;
    return after == w;
  });
}
static_assert(on_every_word<complete_is_final>, "only references, queued and detached change after the end");

/// The check that builds with asserts apply to each change.
constexpr bool only_these_may_change_after_the_end() {
  constexpr std::uint64_t may = (~std::uint64_t{0} << 32U) | (1U << 20U) | (1U << 19U);
  const snapshot over = make(lifecycle::complete, 3, 0, 0);
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    if (keeps_the_end(over, {over.bits ^ one}) != ((may & one) != 0)) return false;
  }
  return keeps_the_end(make(lifecycle::running, 3, 1, 0xFF), over);
}
static_assert(only_these_may_change_after_the_end());

constexpr bool requests_stay(snapshot s, const word& w) {
  return every_step(s, w, [w](snapshot next) {
    return (!w.cancelled || next.has(cancelled)) && (!w.detached || next.has(detached));
  });
}
static_assert(on_every_word<requests_stay>, "cancelled and detached are never taken back");

constexpr bool forced_changes_nothing_else(snapshot s, const word& w) {
  std::array<snapshot, 20> after{};
  std::size_t count = 0;
  static_cast<void>(every_step(s, w, [&](snapshot next) {
    after[count++] = next;
    return true;
  }));
  const snapshot again = s.with(forced);
  count = 0;
  const bool same =
      every_step(again, w, [&](snapshot next) { return next.bits == after[count++].with(forced).bits; });
  return same && (w.complete() || rule::force_end(again).next.bits == again.bits);
}
static_assert(on_every_word<forced_changes_nothing_else>,
              "only force_end() sets it and asks for it; nothing takes it back");

constexpr bool entries_and_references_agree(snapshot s, const word& w) {
  return every_step(s, w, [w](snapshot next) {
    const word after = read(next);
    const bool gained = !w.queued && after.queued;
    const bool lost = w.queued && !after.queued;
    if (gained) return after.refs == w.refs + 1;
    // Beside the entry's reference, a rule gives back only the handle's.
    return lost ? after.refs + 1 == w.refs : after.refs == w.refs || (!w.detached && after.detached);
  });
}
static_assert(on_every_word<entries_and_references_agree>,
              "an entry and its reference come and go in one write");

/// A duty to queue the task comes with a new entry and only then: never two entries, never an unqueued one.
constexpr bool an_entry_per_submit(snapshot s, const word& w) {
  const auto fits = [w](snapshot next, bool submit) { return submit == (!w.queued && read(next).queued); };
  const auto woken = rule::wake(s);
  const auto asked = rule::cancel(s);
  const auto overrides = rule::override_shield(s);
  const auto forces = rule::force_end(s);
  bool holds = fits(woken.next, woken.duty == on_wake::submit) &&
               fits(asked.next, asked.duty == on_cancel::submit) &&
               fits(overrides.next, overrides.duty == on_wake::submit) &&
               fits(forces.next, forces.duty == on_cancel::submit);
  if (!w.running()) return holds;
  const auto suspended = rule::suspend(s);
  const auto yielded = rule::yield(s);
  return holds && fits(suspended.next, suspended.duty == on_suspend::resubmit) &&
         fits(yielded.next, yielded.duty == on_suspend::resubmit);
}
static_assert(on_every_word<an_entry_per_submit>);

/// No lost wakeup or cancel: the task is complete, or it will be polled again.
constexpr bool a_wake_leads_to_a_look(snapshot s, const word& w) {
  if (w.complete()) return true;
  const auto leads = [](snapshot next) {
    return next.is(lifecycle::scheduled) ||
           (next.is(lifecycle::running) && rule::suspend(next).next.is(lifecycle::scheduled));
  };
  return leads(rule::wake(s).next) && leads(rule::cancel(s).next) && leads(rule::force_end(s).next);
}
static_assert(on_every_word<a_wake_leads_to_a_look>);

/// A due cancellation keeps a task from going idle, also if `notified` was consumed under a shield.
constexpr bool a_due_cancel_never_idles(snapshot s, const word& w) {
  if (!w.running() || !w.cancelled) return true;
  const bool idles = rule::suspend(s).next.is(lifecycle::idle);
  if (s.cancel_due()) return !idles;
  if (w.shields != 1 || w.unwinding) return true;
  return !rule::suspend(rule::shield_down(s).next).next.is(lifecycle::idle);
}
static_assert(on_every_word<a_due_cancel_never_idles>);

/// The forced end of a task that is not unwinding is due at once, whatever shields are up.
constexpr bool a_forced_end_is_due(snapshot s, const word& w) {
  return w.complete() || w.unwinding || rule::force_end(s).next.cancel_due();
}
static_assert(on_every_word<a_forced_end_is_due>);

constexpr bool one_owner_at_a_time(snapshot s, const word& w) {
  const bool popped = w.queued && rule::pop(s).duty == on_pop::run;
  const bool claimed = rule::claim(s).duty == on_claim::run;
  return popped == w.scheduled() && claimed == w.scheduled();
}
static_assert(on_every_word<one_owner_at_a_time>, "only a scheduled task can be started");

constexpr bool shields_balance(snapshot s, const word& w) {
  if (!w.running() || w.shields == 255 || w.overridden) return true;
  return rule::shield_down(rule::shield_up(s).next).next.bits == s.bits;
}
static_assert(on_every_word<shields_balance>, "up and down is nothing");

constexpr bool a_registration_can_be_taken_back(snapshot s, const word& w) {
  if (w.join_interest) return true;
  return rule::join_leave(rule::join_register(s).next).next.bits == s.bits;
}
static_assert(on_every_word<a_registration_can_be_taken_back>);

// --- the initial words of tasks

static_assert(read(spawned_word) == word{.at = lifecycle::scheduled, .refs = 3, .queued = true});
static_assert(read(entered_word) == word{.at = lifecycle::running, .refs = 2});
static_assert(valid(spawned_word) && valid(entered_word));

/// The shortest life of a spawned task: popped, finished, its handle dropped. All references are given back.
constexpr snapshot shortest_life() {
  const auto popped = rule::pop(spawned_word);
  const auto finished = rule::finish(popped.next);
  const snapshot released = finished.next.minus_ref();
  return rule::drop_handle(released).next.minus_ref();
}
static_assert(read(shortest_life()) == word{.at = lifecycle::complete, .refs = 0, .detached = true});

/// Claimed by its joiner, woken while its stale entry is queued: no second entry; its reference is the last.
constexpr bool claimed_life_ends_with_the_entry() {
  const auto claimed = rule::claim(spawned_word);
  const auto suspended = rule::suspend(claimed.next);
  const auto woken = rule::wake(suspended.next);
  if (woken.duty != on_wake::nothing || woken.next.refs() != 3) return false;
  const auto again = rule::claim(woken.next);
  const auto finished = rule::finish(again.next);
  const snapshot without_handle = rule::drop_handle(finished.next.minus_ref()).next.minus_ref();
  return rule::pop(without_handle).duty == on_pop::free &&
         rule::drop_entry(without_handle).duty == on_drop_entry::free;
}
static_assert(claimed_life_ends_with_the_entry());

// The enumeration itself is counted at run time, so that a gap in it would show.

struct tally {
  unsigned words = 0;
  unsigned legal = 0;
  unsigned disputed = 0;
};

tally count_words() {
  tally t;
  for (const lifecycle at : lifecycles) {
    for (const unsigned shields : shield_depths) {
      for (unsigned flags = 0; flags < flag_sets; ++flags) {
        for (unsigned refs = 0; refs < reference_counts; ++refs) {
          ++t.words;
          const snapshot s = make(at, refs, shields, flags);
          if (valid(s)) ++t.legal;
          if (valid(s) != is_legal(read(s))) ++t.disputed;
          if (valid(s) != is_legal(s)) ++t.disputed;
        }
      }
    }
  }
  return t;
}

TEST(task_word, every_rule_was_tried_on_every_legal_word) {
  const tally t = count_words();
  EXPECT_EQ(t.disputed, 0U) << "valid() says what the invariants say";
  EXPECT_EQ(t.words, 4U * 5U * 128U * 5U);
  // By hand, flags that a lifecycle leaves free times the counts of references that it allows:
  // idle       2^3 x queued{4,3} x unwinding 2 x (1 depth without override + 4 x 2) = 8 x 7 x 2 x 9  = 1008
  // scheduled  2^3 x queued{3} x unwinding 2 x 9                                    = 8 x 3 x 2 x 9  =  432
  // running    2^4 x queued{4,3} x unwinding 2 x 9                                  = 16 x 7 x 2 x 9 = 2016
  // complete   2^3 x queued{5,4}                                                    = 8 x 9          =   72
  EXPECT_EQ(t.legal, 1008U + 432U + 2016U + 72U);
}

}  // namespace
}  // namespace rota::core::word_test
