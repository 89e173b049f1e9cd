// Nodes with children, and what all nodes have in common.
#pragma once

#include "fuzz/composition_books.hpp"
#include "fuzz/composition_groups.hpp"
#include "fuzz/composition_shared.hpp"

#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/sync/event.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace compositions {

// ---- one child

inline task<int> catches(books& b, const node& n, place p) {
  try {
    static_cast<void>(co_await run(b, b.of.child(n, 0), p));
  } catch (const failure&) {
  } catch (const rota::cancelled_error&) {
  }
  co_return static_cast<int>(n.id);
}
inline task<int> spawned(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const node& child = b.of.child(n, 0);
  auto work = rota::spawn(run(b, child, p));
  hold_up(n);
  const int value = co_await work;
  checked_value(b, child, value);
  last.check();
  co_return static_cast<int>(n.id);
}
inline task<int> takes_result(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const node& child = b.of.child(n, 0);
  auto work = rota::spawn(run(b, child, p));
  const auto end = co_await work.result();
  check_outcome(b, child, p, end, false);
  last.check();
  co_return pass_on(n, end);
}
/// Exceptions of the child go on; a cancellation is the expected end.
inline void ends_as_cancelled(books& b, const node& n, const place& p, const rota::outcome<int>& end) {
  const node& child = b.of.child(n, 0);
  check_outcome(b, child, p, end, true);
  try {
    static_cast<void>(end.value());
  } catch (const rota::cancelled_error&) {
  }
}
/// Cancels a task by its handle. A scope around it also ends that task if this one is cancelled first.
inline task<int> cancels_a_handle(books& b, const node& n, place p) {
  const ended_before last(b, n);
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    auto work = s.spawn(run(b, b.of.child(n, 0), p));
    co_await pause(n);
    work.cancel();
    const auto end = co_await work.result();
    last.check();
    const bool is_told_why =
        !end.is_cancelled() || end.reason() == rota::cancel_reason::user || p.may_be_refused;
    b.demand(is_told_why, "the reason is not that of the handle", n);
    ends_as_cancelled(b, n, p, end);
  });
  co_return static_cast<int>(n.id);
}
inline task<int> joins_a_cancelled_one(books& b, const node& n, place p) {
  const ended_before last(b, n);
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    auto work = s.spawn(run(b, b.of.child(n, 0), p));
    co_await pause(n);
    work.cancel();
    const int value = co_await work;
    checked_value(b, b.of.child(n, 0), value);
  });
  co_return static_cast<int>(n.id);
}
inline task<int> linked_to(books& b, const node& child, place p, std::stop_token token) {
  const auto here = rota::link(std::move(token));
  const int value = co_await run(b, child, p);
  co_return value;
}
inline task<int> links(books& b, const node& n, place p) {
  const ended_before last(b, n);
  std::stop_source source;
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    auto work = s.spawn(linked_to(b, b.of.child(n, 0), p, source.get_token()));
    co_await pause(n);
    source.request_stop();
    const auto end = co_await work.result();
    last.check();
    ends_as_cancelled(b, n, p, end);
  });
  co_return static_cast<int>(n.id);
}

/// The first line of a body under a limit: its deadline is no later than `limit` from here.
inline task<int> under(books& b, const node& child, place p, std::chrono::nanoseconds limit) {
  p.outer = std::min(p.outer, now() + limit);
  co_return co_await run(b, child, p);
}
/// A limit reports when it has passed, and only if it is the first one to pass of those around the child.
inline void check_report(books& b, const node& n, const place& p, time_point at) {
  b.demand(now() >= at, "a limit reports before it has passed", n);
  b.demand(at < p.outer, "a limit reports, and one around it passes no later", n);
}
inline task<int> limits(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const node& child = b.of.child(n, 0);
  const std::chrono::nanoseconds limit = n.lasts ? std::chrono::nanoseconds(1h) : span_of(n);
  const auto at = n.as == given::range && p.outer != time_point::max() ? p.outer : now() + limit;
  std::optional<int> value;
  if (n.as == given::tasks) {
    const auto end = co_await rota::timeout(limit, under(b, child, p, limit));
    if (end.has_value()) value = *end;
  } else {
    place inside = p;
    inside.outer = std::min(p.outer, at);
    const auto end = co_await rota::with_deadline(at, run(b, child, inside));
    if (end.has_value()) value = *end;
  }
  last.check();
  if (value.has_value()) {
    checked_value(b, child, *value);
  } else {
    check_report(b, n, p, at);
  }
  co_return static_cast<int>(n.id);
}
inline task<int> limits_a_handle(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const node& child = b.of.child(n, 0);
  const std::chrono::nanoseconds limit = n.lasts ? std::chrono::nanoseconds(1h) : span_of(n);
  auto work = rota::spawn(run(b, child, p));
  const auto at = now() + limit;
  const auto value = co_await rota::timeout(limit, work);
  last.check();
  if (value.has_value()) {
    checked_value(b, child, *value);
    co_return static_cast<int>(n.id);
  }
  check_report(b, n, p, at);
  b.demand(work.is_done(), "the task of a handle runs on after its limit", n);
  const auto end = co_await work.result();
  check_outcome(b, child, p, end, true);
  co_return static_cast<int>(n.id);
}

inline place inside_a_shield(const books& b) { return {.may_be_refused = b.of.refuses()}; }
inline task<int> shields(books& b, const node& n, bool briefly) {
  const auto guard =
      rota::shield(briefly ? std::chrono::nanoseconds(span_of(n)) : std::chrono::nanoseconds(1h));
  place inside = inside_a_shield(b);
  static_cast<void>(co_await run(b, b.of.child(n, 0), inside));
  co_return static_cast<int>(n.id);
}

/// The clean-up is called once if the body has begun.
struct cleaned_up {
  books& b;
  const node& n;
  bool has_begun = false;
  int cleaned = 0;

  cleaned_up(books& by, const node& of) : b(by), n(of) {}
  cleaned_up(const cleaned_up&) = delete;
  ~cleaned_up() { b.demand(cleaned == (has_begun ? 1 : 0), "a clean-up was not called once", n); }
};
inline task<int> begins(books& b, const node& child, place p, bool& has_begun) {
  has_begun = true;
  co_return co_await run(b, child, p);
}
inline task<> cleans(cleaned_up& c, const rota::outcome<int>& end, place p) {
  ++c.cleaned;
  check_outcome(c.b, c.b.of.child(c.n, 0), p, end, true);
  c.b.demand(!c.b.is_running(c.b.of.child(c.n, 0)), "a clean-up before the end of its body", c.n);
  try {
    static_cast<void>(co_await run(c.b, c.b.of.child(c.n, 1), inside_a_shield(c.b)));
  } catch (const failure&) {
  } catch (const rota::cancelled_error&) {
  }
}
inline task<int> cleans_up(books& b, const node& n, place p) {
  const ended_before last(b, n);
  cleaned_up c(b, n);
  auto body = begins(b, b.of.child(n, 0), p, c.has_begun);
  const auto clean = [&c, &p](const rota::outcome<int>& end) { return cleans(c, end, p); };
  static_cast<void>(co_await rota::finally(std::move(body), clean, 1h));
  b.demand(c.cleaned == 1, "finally returns, and its clean-up was not called", n);
  co_return static_cast<int>(n.id);
}

inline rota::async_generator<int> gives(books& b, const node& n, const node& child, place p) {
  const visit here(b, n);
  const int value = co_await run(b, child, p);
  co_yield value;
  co_await pause(n);
  co_yield value;
}
inline task<int> generates(books& b, const node& n, place p) {
  const ended_before last(b, n);
  auto all = gives(b, n, b.of.child(n, 0), p);
  int given = 0;
  for (;;) {
    const auto one = co_await all.next();
    if (!one.has_value()) break;
    checked_value(b, b.of.child(n, 0), *one);
    ++given;
  }
  b.demand(given == 2, "a generator has ended before its last value", n);
  co_return static_cast<int>(n.id);
}

/// Sets an event when it is destroyed: with its frame, or with the argument of a task that never began.
class sets_at_end {
 public:
  explicit sets_at_end(std::shared_ptr<rota::sync::event> e) : of_(std::move(e)) {}
  sets_at_end(sets_at_end&&) noexcept = default;
  sets_at_end& operator=(sets_at_end&&) = delete;
  ~sets_at_end() {
    if (of_ != nullptr) of_->set();
  }

 private:
  std::shared_ptr<rota::sync::event> of_;
};
inline task<int> sets_an_event(books& b, const node& child, place p, sets_at_end e) {
  const sets_at_end last(std::move(e));
  co_return co_await run(b, child, p);
}
/// The child goes on alone if this task is cancelled by a cause that does not hold for the child.
inline task<int> waits_for_data(books& b, const node& n, place p) {
  const node& child = b.of.child(n, 0);
  auto e = std::make_shared<rota::sync::event>();
  auto work = rota::spawn(sets_an_event(b, child, p, sets_at_end(e)));
  co_await e->wait();
  b.demand(p.may_be_refused || b.has_ended(child), "the end of a cancelled task arrives as an event", n);
  const auto end = co_await work.result();
  check_outcome(b, child, p, end, false);
  co_return static_cast<int>(n.id);
}
inline task<int> sends_once(books& b, const node& child, place p, rota::channel::oneshot_sender<int> to) {
  const int value = co_await run(b, child, p);
  static_cast<void>(std::move(to).send(value));
  co_return 0;
}
inline task<int> receives_once(books& b, const node& n, place p) {
  const node& child = b.of.child(n, 0);
  auto [to, from] = rota::channel::oneshot<int>();
  auto work = rota::spawn(sends_once(b, child, p, std::move(to)));
  const auto value = co_await from.recv();
  if (value.has_value()) {
    checked_value(b, child, *value);
  } else {
    const bool may_have_none = child.may.throws != 0 || child.may.cancelled;
    b.demand(p.may_be_refused || (b.has_ended(child) && may_have_none), "a oneshot ends without its item", n);
  }
  static_cast<void>(co_await work.result());
  co_return static_cast<int>(n.id);
}

inline task<int> repeats(books& b, const node& n, place p) {
  for (int i = 0; n.lasts || i < 4; ++i) {
    static_cast<void>(co_await run(b, b.of.child(n, 0), p));
    co_await rota::yield();
  }
  co_return static_cast<int>(n.id);
}

// ---- several

inline task<int> chains(books& b, const node& n, place p) {
  for (std::size_t i = 0; i < n.children.size(); ++i) static_cast<void>(co_await run(b, b.of.child(n, i), p));
  co_return static_cast<int>(n.id);
}

inline task<int> scopes(books& b, const node& n, place p, bool cancels) {
  const ended_before last(b, n);
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    for (const unsigned each : n.children) s.fork(run(b, b.of.nodes[each], p));
    co_await pause(n);
    if (cancels) s.cancel();
  });
  last.check();
  co_return static_cast<int>(n.id);
}
inline task<int> awaits_a_handle(books& b, const node& child, const node& n, rota::join_handle<int> work) {
  const visit here(b, n);
  const int value = co_await work;
  co_return checked_value(b, child, value);
}
inline task<int> awaits_in_scope(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const node& child = b.of.child(n, 0);
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    auto first = s.spawn(run(b, child, p));
    auto second = s.spawn(awaits_a_handle(b, child, n, std::move(first)));
    if (n.lasts) co_await pause(n);
    const int value = co_await second;
    checked_value(b, child, value);
  });
  last.check();
  co_return static_cast<int>(n.id);
}
/// Its children inherit no deadline.
inline task<int> scopes_loosely(books& b, const node& n, place p, bool cancels) {
  const ended_before last(b, n);
  p.outer = time_point::max();
  rota::async_scope s;
  for (const unsigned each : n.children) s.fork(run(b, b.of.nodes[each], p));
  if (cancels) s.cancel();
  co_await s.close();
  last.check();
  co_return static_cast<int>(n.id);
}

inline void check_one_of(books& b, const node& n, const place& p, const rota::outcome<int>& end, bool cut) {
  if (end.has_value()) {
    const int value = end.value();
    const auto is_that = [value](unsigned each) { return static_cast<int>(each) == value; };
    b.demand(std::ranges::any_of(n.children, is_that), "next() gives a value of no child", n);
    return;
  }
  node anyone = n;
  anyone.may = {.throws = 0};
  for (const unsigned each : n.children) {
    anyone.may.throws |= b.of.nodes[each].may.throws;
    anyone.may.cancelled = anyone.may.cancelled || b.of.nodes[each].may.cancelled;
  }
  check_outcome(b, anyone, p, end, cut);
}
inline task<int> sets(books& b, const node& n, place p, bool closes) {
  rota::join_set<int> works;
  for (const unsigned each : n.children) works.spawn(run(b, b.of.nodes[each], p));
  std::size_t given = 0;
  if (closes) {
    co_await pause(n);
    co_await works.close();
    ended_before(b, n).check();
    co_return static_cast<int>(n.id);
  }
  for (;;) {
    const auto end = co_await works.next();
    if (!end.has_value()) break;
    check_one_of(b, n, p, *end, false);
    ++given;
  }
  b.demand(given == n.children.size(), "next() has not given each end once", n);
  co_return static_cast<int>(n.id);
}

inline task<int> selects(books& b, const node& n, place p) {
  const ended_before last(b, n);
  auto x = rota::spawn(run(b, b.of.child(n, 0), p));
  auto y = rota::spawn(run(b, b.of.child(n, 1), p));
  std::optional<rota::outcome<int>> end;
  std::size_t winner = 2;
  {
    auto first = co_await rota::channel::select(x.result(), y.result());
    winner = first.index();
    end = winner == 0 ? std::move(first).template get<0>() : std::move(first).template get<1>();
  }
  check_outcome(b, b.of.child(n, winner), p, *end, false);
  auto& loser = winner == 0 ? y : x;
  loser.cancel();
  const auto other = co_await loser.result();
  check_outcome(b, b.of.child(n, 1 - winner), p, other, true);
  co_return pass_on(n, *end);
}

// ---- all

inline task<int> body_of_shared(books& b, const node& n, place p) {
  switch (n.what) {
    case construct::yields: return yields(n);
    case construct::sleeps: return sleeps(n);
    case construct::hour: return waits_an_hour(n);
    case construct::throws: return throws(n, false);
    case construct::throws_late: return throws(n, true);
    case construct::closure: return calls_a_closure(b, n);
    case construct::job: return awaits_a_job(b, n);
    case construct::items: return receives_items(b, n, p);
    case construct::news: return hears_news(b, n, p);
    case construct::latest: return watches(b, n, p);
    case construct::locks: return shares_a_lock(b, n);
    case construct::permits: return shares_permits(b, n);
    case construct::gave_up: return shares_a_signal(b, n, false);
    case construct::notified: return shares_a_signal(b, n, true);
    case construct::meets: return meets(b, n);
    default: return [](const node& me) -> task<int> { co_return static_cast<int>(me.id); }(n);
  }
}
inline task<int> body_of(books& b, const node& n, place p) {
  switch (n.what) {
    case construct::catches: return catches(b, n, p);
    case construct::spawned: return spawned(b, n, p);
    case construct::result: return takes_result(b, n, p);
    case construct::cancelled_handle: return cancels_a_handle(b, n, p);
    case construct::cancelled_join: return joins_a_cancelled_one(b, n, p);
    case construct::linked: return links(b, n, p);
    case construct::limit: return limits(b, n, p);
    case construct::limit_of_handle: return limits_a_handle(b, n, p);
    case construct::shielded: return shields(b, n, false);
    case construct::shielded_briefly: return shields(b, n, true);
    case construct::clean_up: return cleans_up(b, n, p);
    case construct::generator: return generates(b, n, p);
    case construct::end_as_data: return waits_for_data(b, n, p);
    case construct::sent_once: return receives_once(b, n, p);
    case construct::repeats: return repeats(b, n, p);
    case construct::chain: return chains(b, n, p);
    case construct::all: return groups<by_all>(b, n, p);
    case construct::settled: return groups<by_settled>(b, n, p);
    case construct::any: return groups<by_any>(b, n, p);
    case construct::any_success: return groups<by_any_success>(b, n, p);
    case construct::in_scope: return scopes(b, n, p, false);
    case construct::in_cancelled_scope: return scopes(b, n, p, true);
    case construct::awaited_in_scope: return awaits_in_scope(b, n, p);
    case construct::in_async_scope: return scopes_loosely(b, n, p, false);
    case construct::in_cancelled_async_scope: return scopes_loosely(b, n, p, true);
    case construct::in_set: return sets(b, n, p, false);
    case construct::in_closed_set: return sets(b, n, p, true);
    case construct::selected: return selects(b, n, p);
    default: return body_of_shared(b, n, p);
  }
}

inline task<int> run(books& b, const node& n, place p) {
  const visit here(b, n);
  try {
    const int value = co_await body_of(b, n, p);
    checked_value(b, n, value);
    b.note_end(n);
    co_return value;
  } catch (const failure& f) {
    b.demand((n.may.throws >> f.id & 1U) != 0, "an exception that is no descendant's", n);
    b.note_end(n);
    throw;
  } catch (const rota::cancelled_error&) {
    b.demand(n.may.cancelled || p.may_be_refused, "cancelled_error is thrown for a cause from outside", n);
    b.note_end(n);
    throw;
  } catch (...) {
    b.demand(false, "an exception that no node has thrown", n);
    throw;
  }
}

}  // namespace compositions
