// The comparisons of a scene.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "scene.hpp"

namespace fuzz {

inline void scene::check(bool good, const char* what) const {
  if (good) return;
  for (const step& each : trace_) {
    std::fprintf(stderr,
                 "  %s %llu %llu\n",
                 each.what,
                 static_cast<unsigned long long>(each.a),
                 static_cast<unsigned long long>(each.b));
  }
  fuzz::check(false, what);
}

// ---- what tasks tell

inline void scene::begin(guest& g, bool may_yield) {
  check(g.is == state::spawned && !g.cancelled, "a cancelled task has run");
  g.due = after(now(), g.how.limit);
  if (g.how.is_tired && may_yield) {
    rota::core::current_task()->budget = 1;
    g.is = state::tired;
  } else {
    arrive(g);
  }
}

inline void scene::arrive(guest& g) {
  g.may = 0;
  for_stakes(g, [&](const stake& s, std::size_t i) {
    if (s.at->is_there(g.who, s.how)) g.may |= players{1} << i;
  });
  g.nap_ends = after(now(), g.how.nap);
  g.must = g.may;
  g.is = g.may != 0 ? state::there : state::waits;
  note(g.may != 0 ? "is there for" : "waits", g.who, g.may);
  if (g.is == state::waits) for_stakes(g, [&](const stake& s, std::size_t) { s.at->arrive(g.who, s.how); });
}

inline void scene::end(guest& g, std::size_t which, number got) {
  if (g.is == state::leaves) return end_late(g, got);
  check(g.is == state::there || g.is == state::waits, "a wait ends that has not begun, or was given up");
  check((g.may >> which & 1U) != 0, "a wait ends without what it was for, or overtakes one that sleeps");
  if (g.is == state::waits) {
    for_stakes(g, [&](const stake& s, std::size_t i) {
      if (i != which) s.at->give_up(g.who);
    });
  } else if (which != nap_case) {
    g.how.stakes[which].at->arrive(g.who, g.how.stakes[which].how);
  }
  const number expected = which == nap_case ? yes : g.how.stakes[which].at->take(g.who);
  note("yields, and should have", got, expected);
  check(got == expected, "a wait yields what it should");
  g.is = state::over;
}

inline void scene::end_late(guest& g, number got) {
  check(now() >= g.due, "a limit passes too early");
  if (g.is == state::waits) {
    check(g.must == 0, "a wait is late that has what it was for");
    give_up(g);
  }
  check(g.is == state::leaves && g.has_let_go, "a wait is late, and goes on without what it needs");
  for_stakes(g, [&](const stake& s, std::size_t) {
    check(got == s.at->late_end(g.who), "a late wait yields what it should");
    s.at->gone(g.who, false);
  });
  g.is = state::over;
}

/// All of its frames are gone.
inline void scene::leave(player who) {
  guest& g = guests_[who];
  const bool unwound = g.is != state::over;
  check(!unwound || g.cancelled, "a task is unwound that nobody has cancelled");
  if (g.is == state::spawned || g.is == state::tired) {
    for_stakes(g, [&](const stake& s, std::size_t) { s.at->never_came(who); });
  } else if (unwound) {
    check(g.is == state::acts || (g.is == state::leaves && g.has_let_go), "a task is unwound too early");
    for_stakes(g, [&](const stake& s, std::size_t) { s.at->gone(who, true); });
  }
  for_stakes(g, [&](const stake& s, std::size_t) { s.at->ends(who); });
  g.cancelled = unwound;
  g.is = state::idle;
}

// ---- a run

inline players scene::awake() const {
  players all = 0;
  for (std::size_t i = 0; i < scheduler_.queued(); ++i) {
    for (const guest& each : guests_) {
      if (each.is != state::idle && each.id == scheduler_.queued_id(i)) all |= bit(each.who);
    }
  }
  return all;
}

/// Has it what it waits for?
inline void scene::ask(guest& g) {
  const players others = awake();
  g.must = g.may = 0;
  for_stakes(g, [&](const stake& s, std::size_t i) {
    if (s.at->must(g.who)) g.must |= players{1} << i;
    if (s.at->may(g.who, others)) g.may |= players{1} << i;
  });
  if (now() < g.nap_ends) return;
  g.must |= players{1} << nap_case;
  g.may |= players{1} << nap_case;
}

/// A cancellation comes first, then the awaited event, then the limit.
inline void scene::before(guest& g) {
  if (g.is == state::tired && !g.cancelled) arrive(g);
  if (g.is == state::waits) {
    ask(g);
    const bool is_late = now() >= g.due && g.may == 0;
    if (is_late && !g.cancelled)
      for_stakes(g, [&](const stake& s, std::size_t) { s.at->looked(g.who, awake()); });
    if (is_late || g.cancelled) give_up(g);
  } else if (g.is == state::leaves) {
    ask(g);
    g.has_let_go = g.must != 0;
  }
}

inline void scene::give_up(guest& g) {
  g.is = state::leaves;
  g.has_let_go = true;
  for_stakes(g, [&](const stake& s, std::size_t) { g.has_let_go &= s.at->give_up(g.who); });
}

inline void scene::after(guest& g, state was) {
  check(g.is != state::there, "a task waits for what is there");
  check(g.is != state::over, "a wait has ended, and its task goes on");
  check(g.is != state::waits || was == state::spawned || g.must == 0,
        "a task has run that must go on, and waits");
  if (g.is == state::waits && was == state::waits) {
    bool may_be_in_vain = g.how.nap == 0;
    for_stakes(g, [&](const stake& s, std::size_t) { may_be_in_vain |= s.at->may_look_in_vain(); });
    check(may_be_in_vain, "a task is woken for nothing");
    ++in_vain_;
    for_stakes(g, [&](const stake& s, std::size_t) { s.at->looked(g.who, awake()); });
  }
  if (g.is == state::waits && now() >= g.due) {
    give_up(g);
    check(!g.has_let_go, "a task waits on that is late");
  } else if (g.is == state::leaves) {
    check(!g.has_let_go, "a task that is cancelled or late waits on, and has all that it needs");
    for_stakes(g, [&](const stake& s, std::size_t) { s.at->looked(g.who, awake()); });
  }
}

/// It has ended: does its handle say so?
inline void scene::settle(guest& g) const {
  if (!g.handle.has_value()) return;
  check(g.handle->is_done(), "a task whose frames are gone has ended");
  const auto outcome = g.handle->wait_for(std::chrono::nanoseconds(0));
  check(outcome.has_value() && outcome->is_cancelled() == g.cancelled, "who was unwound was cancelled");
  g.handle.reset();
}

inline bool scene::run(std::size_t i) {
  if (scheduler_.queued() == 0) return false;
  i %= scheduler_.queued();
  guest* const g = owner_of(scheduler_.queued_id(i));
  check(g != nullptr, "a task is queued that has ended");
  note("runs", g->who, static_cast<number>(g->is));
  const state was = g->is;
  before(*g);
  scheduler_.run_queued(i);
  g->is == state::idle ? settle(*g) : after(*g, was);
  return true;
}

inline void scene::run_all() {
  while (run(0)) {
  }
}

inline void scene::run_all_newest_first() {
  while (scheduler_.queued() != 0) run(scheduler_.queued() - 1);
}

// ---- at rest

inline void scene::check_quiet() const {
  if (!is_quiet()) return;
  for (const guest& g : guests_) {
    if (g.is == state::idle || g.is == state::acts) continue;
    check(g.is == state::waits || g.is == state::leaves, "a task is forgotten that would wait");
    check(g.is == state::leaves || !g.cancelled, "a cancelled task is forgotten");
    check(g.is == state::leaves || (now() < g.due && now() < g.nap_ends),
          "a limit, or a sleep, is forgotten");
    for_stakes(g, [&](const stake& s, std::size_t) {
      check(!s.at->must(g.who), "a task sleeps that has what it waits for");
    });
  }
}

inline bool scene::is_empty() const {
  bool all = true;
  for (const guest& g : guests_) all = all && g.is == state::idle;
  return all;
}

inline bool scene::is_staked(const reference& at) const {
  bool any = false;
  for (const guest& g : guests_) {
    if (g.is == state::idle) continue;
    for_stakes(g, [&](const stake& s, std::size_t) { any = any || s.at == &at; });
  }
  return any;
}

inline bool scene::acts() const {
  bool any = false;
  for (const guest& g : guests_) any = any || g.is == state::acts;
  return any;
}

inline number scene::state_of_all() const {
  const players queued = awake();
  number waiting = 0;
  number woken = 0;
  number leaving = 0;
  number coming = 0;
  for (const guest& g : guests_) {
    waiting += g.is == state::waits ? 1 : 0;
    woken += g.is == state::waits && (queued & bit(g.who)) != 0 ? 1 : 0;
    leaving |= g.is == state::leaves || g.is == state::acts ? 1U : 0U;
    coming |= g.is == state::tired ? 1U : 0U;
  }
  return few(waiting) | few(woken) << 2U | few(in_vain_) << 4U | leaving << 6U | coming << 7U;
}

/// After all waits have been ended.
inline void scene::end() {
  run_all();
  check(is_empty(), "a wait does not end");
  check(scheduler_.shard.earliest() == rota::base::never, "a timer is left");
  check(scheduler_.live == 0 && scheduler_.enrolled == 0, "a task is left");
  check(scheduler_.unhandled_count == 0, "an exception was not observed");
}

}  // namespace fuzz
