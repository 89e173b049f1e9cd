// Every rule of a work's word, on every word: each status with each set of flags.
#include "pool/work_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace rota::pool::detail::work_rules_test {
namespace {

using enum work_status;

constexpr std::uint64_t all_flags = ((std::uint64_t{1} << 52U) - 1) & ~((std::uint64_t{1} << 36U) - 1);
constexpr std::uint64_t stop_flags = stop_asked | force_asked | timed_out | ending;
constexpr std::array final_ones{
    succeeded, failed, cancelled, stopped, force_stopped, abandoned, discarded, rejected};

/// The invariant of every word of a work.
constexpr bool valid(word w) {
  return (!w.has(over) || is_final(w.status())) && (!w.has(fetched) || w.has(over)) &&
         (!w.has(came_back) || w.is(abandoned)) && (!w.has(taken) || w.has(reserved)) &&
         (!w.is(paused) || w.has(begun));
}

template <class F>
void for_each_word(F f) {
  for (unsigned status = 0; status <= static_cast<unsigned>(rejected); ++status) {
    for (std::uint64_t flags = 0; flags <= all_flags; flags += std::uint64_t{1} << 36U) {
      const word w{(std::uint64_t{status} << word::status_shift) | flags | 3};
      if (valid(w)) f(w);
    }
  }
}

struct promise {
  std::vector<work_status> from;  // applies only to these statuses; a flag may refuse it
  std::uint64_t sets = 0;         // no other flag changes
  std::uint64_t clears = 0;
};

bool is_in(const std::vector<work_status>& all, work_status one) {
  for (const work_status each : all) {
    if (each == one) return true;
  }
  return false;
}

/// Checks one rule. `to`: the status that it leads to if `leads`.
template <class Rule>
void expect_rule(const char* name, const promise& p, work_status to, bool leads, Rule rule) {
  std::uint64_t wrong = 0;
  std::uint64_t taken_from = 0;
  for_each_word([&](word w) {
    const step made = rule(w);
    if (!made.applies) return;
    taken_from |= std::uint64_t{1} << static_cast<unsigned>(w.status());
    const word next = made.next;
    const std::uint64_t before = w.bits & all_flags;
    const std::uint64_t after = next.bits & all_flags;
    const bool status_is_right = leads ? next.is(to) : next.status() == w.status();
    const bool flags_are_right = (after & ~before & ~p.sets) == 0 && (before & ~after & ~p.clears) == 0;
    const bool w1 = !is_final(w.status()) || next.status() == w.status();  // W1
    const bool w2 = !w.has(over) || next.has(over);                        // W2: never taken back
    const bool w4 = next.refs() == w.refs();                               // W4: rules move no reference
    if (!is_in(p.from, w.status()) || !status_is_right || !flags_are_right || !w1 || !w2 || !w4 ||
        !valid(next))
      ++wrong;
  });
  EXPECT_EQ(wrong, 0U) << name;
  for (const work_status each : p.from)
    EXPECT_TRUE((taken_from >> static_cast<unsigned>(each) & 1U) != 0) << name << " from " << to_string(each);
}

const std::vector<work_status> early{created, blocked, suspended};
const std::vector<work_status> waits{blocked, suspended, queued};
const std::vector<work_status> runs{running, paused};
const std::vector<work_status> not_final{created, blocked, suspended, queued, running, paused};
const std::vector<work_status> any{created,
                                   blocked,
                                   suspended,
                                   queued,
                                   running,
                                   paused,
                                   succeeded,
                                   failed,
                                   cancelled,
                                   stopped,
                                   force_stopped,
                                   abandoned,
                                   discarded,
                                   rejected};

TEST(work_rules, place_and_hold_apply_only_to_jobs_that_do_not_run) {
  for (const work_status to : waits)
    expect_rule("place", {.from = early}, to, true, [to](word w) { return rule::place(w, to); });
  expect_rule("hold", {.from = {queued}}, suspended, true, rule::hold);
}

// W3: one thread enters `running`, from `queued`, from `blocked` (to fail), or from `paused`.
TEST(work_rules, claim_rules_lead_to_running_from_one_status_each) {
  expect_rule("claim", {.from = {queued}, .sets = begun}, running, true, rule::claim);
  expect_rule("claim_to_fail", {.from = {blocked}}, running, true, rule::claim_to_fail);
  expect_rule("go_on", {.from = {paused}}, running, true, rule::go_on);
  for_each_word([](word w) {
    const step made = rule::claim(w);
    if (made.applies) {
      ASSERT_TRUE(made.next.has(begun));
    }
    // A work that was asked to stop before it was queued does not begin, but can be taken back.
    if (w.is(queued) && made.applies == w.has(stop_asked)) ADD_FAILURE();
  });
}

TEST(work_rules, runner_rules_apply_only_to_running_or_paused_jobs) {
  std::uint64_t wrong = 0;
  for_each_word([&](word w) {
    // A work that was claimed to fail has not begun: no function runs that could pause.
    const step made = rule::pause_here(w);
    if (made.applies != w.is(running)) ++wrong;
    if (made.applies && !made.next.is(paused)) ++wrong;
    if (rule::again(w, suspended).applies && w.has(stop_asked)) ++wrong;
    // Such a work can neither be given up nor asked to stop: it is about to end.
    if (rule::give_up(w).applies != (w.is_running() && w.has(begun))) ++wrong;
    if (rule::ask(w, stop_flags).applies != (w.is_running() && w.has(begun))) ++wrong;
  });
  EXPECT_EQ(wrong, 0U);
  expect_rule(
      "again", {.from = {running}}, suspended, true, [](word w) { return rule::again(w, suspended); });
  for (const work_status to : final_ones)
    expect_rule("end", {.from = runs}, to, true, [to](word w) { return rule::end(w, to); });
}

// Drops the runner's reference in the same step. Applies only without waiters and without a request to undo.
TEST(work_rules, end_at_once_applies_only_without_waiters_force_stop_or_hold) {
  expect_rule("end_at_once", {.from = runs, .sets = over}, succeeded, true, [](word w) {
    return rule::end_at_once(w, succeeded, 0);
  });
  std::uint64_t wrong = 0;
  for_each_word([&](word w) {
    const step made = rule::end_at_once(w, succeeded, 1);
    if (made.applies && (w.has(slept_on) || w.has(listed) || w.has(force_asked) || w.has(held))) ++wrong;
    if (made.next.refs() + 1 != w.refs() || made.next.has(over) < made.applies) ++wrong;
  });
  EXPECT_EQ(wrong, 0U);
}

// A work is taken back only before its next attempt begins.
TEST(work_rules, take_back_applies_only_to_waiting_jobs) {
  for (const work_status to : {cancelled, discarded, rejected}) {
    expect_rule("take_back", {.from = waits, .sets = timed_out | ending}, to, true, [to](word w) {
      return rule::take_back(w, to, timed_out | ending);
    });
  }
}

TEST(work_rules, stop_request_rules_change_only_the_stop_flags) {
  const auto flags = stop_flags;
  expect_rule(
      "ask", {.from = runs, .sets = flags}, rejected, false, [](word w) { return rule::ask(w, stop_flags); });
  expect_rule("ask_early", {.from = {created}, .sets = flags}, rejected, false, [](word w) {
    return rule::ask_early(w, stop_flags);
  });
  expect_rule("forget_stop",
              {.from = runs, .clears = stop_asked | timed_out | ending},
              rejected,
              false,
              rule::forget_stop);
  for_each_word([](word w) {
    if (rule::forget_stop(w).applies) {
      ASSERT_FALSE(w.has(force_asked));
    }
  });
}

// W2: one rule sets `over`. After that no waiter enters a list or goes to sleep.
TEST(work_rules, waiters_are_refused_once_a_job_is_over) {
  std::uint64_t wrong = 0;
  for_each_word([&](word w) {
    const word last = rule::say_over(w).next;
    if (!last.has(over) || last.has(slept_on) || last.status() != w.status()) ++wrong;
    if (rule::list(last).applies || rule::sleep_on(last).applies || rule::nudge(last).applies) ++wrong;
    if (w.has(over) == rule::list(w).applies || w.has(over) == rule::sleep_on(w).applies) ++wrong;
    if (rule::fetch(w).applies != (w.has(over) && !w.has(fetched))) ++wrong;
    if (rule::fetch(rule::fetch(w).next).applies) ++wrong;
    // A nudge changes the upper half, on which waiters sleep.
    if (rule::nudge(w).applies && rule::nudge(w).next.upper() == w.upper()) ++wrong;
    // Two nudges do not cancel out, and they change nothing else.
    if (rule::nudge(w).applies && rule::nudge(rule::nudge(w).next).next.upper() == w.upper()) ++wrong;
    if (((rule::nudge(w).next.bits ^ w.bits) & (one_nudge - 1)) != 0) ++wrong;
  });
  EXPECT_EQ(wrong, 0U);
  expect_rule("list", {.from = any, .sets = listed}, rejected, false, rule::list);
  expect_rule("sleep_on", {.from = any, .sets = slept_on}, rejected, false, rule::sleep_on);
}

TEST(work_rules, come_back_applies_only_to_abandoned_jobs) {
  expect_rule("come_back", {.from = {abandoned}, .sets = came_back}, rejected, false, rule::come_back);
}

// A reserved id is submitted or given up: one of the two, once.
TEST(work_rules, reserved_id_is_either_taken_or_given_up_once) {
  std::uint64_t wrong = 0;
  for_each_word([&](word w) {
    const step take = rule::take(w);
    const step give_up = rule::give_up_reservation(w);
    if (take.applies != give_up.applies) ++wrong;
    if (take.applies && (rule::take(take.next).applies || rule::give_up_reservation(take.next).applies))
      ++wrong;
    if (give_up.applies && rule::take(give_up.next).applies) ++wrong;
  });
  EXPECT_EQ(wrong, 0U);
  expect_rule("take", {.from = {created}, .sets = taken}, rejected, false, rule::take);
  expect_rule("give_up", {.from = {created}, .sets = ending}, cancelled, true, rule::give_up_reservation);
}

TEST(work_rules, flags_are_set_and_cleared_only_before_the_end) {
  for (const flag each : {held, last_attempt, hooked}) {
    expect_rule("set", {.from = not_final, .sets = each}, rejected, false, [each](word w) {
      return rule::set(w, std::uint64_t{each});
    });
    expect_rule("clear", {.from = not_final, .clears = each}, rejected, false, [each](word w) {
      return rule::clear(w, std::uint64_t{each});
    });
  }
}

}  // namespace
}  // namespace rota::pool::detail::work_rules_test
