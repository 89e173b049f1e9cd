// One tree, run on a runtime of its own until a cause from outside, or its own end, ends it.
#pragma once

#include "fuzz/composition_nodes.hpp"

#include <rota/runtime.hpp>

#include <chrono>
#include <memory>
#include <thread>

namespace compositions {

/// How the root ended, as its boundary reports it.
enum class report : unsigned char { value, exception, cancelled, by_cause };

/// Runs the root and returns its end. Callers add the report of the boundary of the cause.
inline task<int> root_of(books& b) {
  const place outermost;
  const int value = co_await run(b, b.of.root(), outermost);
  co_return value;
}
inline task<int> root_under_a_limit(books& b, std::chrono::nanoseconds limit) {
  place p;
  p.outer = now() + limit;
  const int value = co_await run(b, b.of.root(), p);
  co_return value;
}
inline task<int> takes_a_while(std::chrono::nanoseconds span) {
  co_await rota::sleep_for(span);
  co_return -1;
}
inline task<int> fails_after(std::chrono::nanoseconds span) {
  co_await rota::sleep_for(span);
  throw failure{63};
}
inline constexpr unsigned id_of_outside = 63;  // no node has it

inline task<report> ends_alone(books& b) {
  static_cast<void>(co_await root_of(b));
  co_return report::value;
}
inline task<report> ends_by_timeout(books& b, std::chrono::nanoseconds span) {
  const auto end = co_await rota::timeout(span, root_under_a_limit(b, span));
  co_return end.has_value() ? report::value : report::by_cause;
}
inline task<report> ends_by_scope(books& b, std::chrono::nanoseconds span) {
  co_await rota::with_scope([&](rota::scope& s) -> task<> {
    s.fork(root_of(b));
    co_await rota::sleep_for(span);
    s.cancel();
  });
  co_return report::by_cause;
}
inline task<report> ends_by_winner(books& b, std::chrono::nanoseconds span) {
  const auto first = co_await rota::when_any(root_of(b), takes_a_while(span));
  co_return first.index() == 0 ? report::value : report::by_cause;
}
inline task<report> ends_by_sibling(books& b, std::chrono::nanoseconds span) {
  static_cast<void>(co_await rota::when_all(root_of(b), fails_after(span)));
  co_return report::value;
}
inline task<report> ends_by_handle(books& b, std::chrono::nanoseconds span) {
  auto work = rota::spawn(root_of(b));
  co_await rota::sleep_for(span);
  work.cancel();
  const auto end = co_await work.result();
  if (end.is_cancelled()) {
    const bool is_told_why = end.reason() == rota::cancel_reason::user;
    b.demand(is_told_why, "the root's handle does not say the reason", b.of.root());
    co_return report::by_cause;
  }
  static_cast<void>(end.value());
  co_return report::value;
}
inline task<report> ends_by_token(books& b, std::chrono::nanoseconds span) {
  std::stop_source source;
  const place outermost;
  auto work = rota::spawn(linked_to(b, b.of.root(), outermost, source.get_token()));
  co_await rota::sleep_for(span);
  source.request_stop();
  const auto end = co_await work.result();
  if (end.is_cancelled()) co_return report::by_cause;
  static_cast<void>(end.value());
  co_return report::value;
}

/// The task that triggers the cause. For a shutdown, which comes from a thread, only the root.
inline task<report> boundary(books& b) {
  const std::chrono::nanoseconds span = std::chrono::microseconds(b.of.micros);
  switch (b.of.from_outside) {
    case cause::timeout: return ends_by_timeout(b, span);
    case cause::handle: return ends_by_handle(b, span);
    case cause::scope: return ends_by_scope(b, span);
    case cause::sibling_wins: return ends_by_winner(b, span);
    case cause::sibling_fails: return ends_by_sibling(b, span);
    case cause::stop_token: return ends_by_token(b, span);
    default: return ends_alone(b);
  }
}

/// The reports that the table has for the root of this tree.
inline void check_report_of_root(books& b, report r) {
  const node& root = b.of.root();
  if (r == report::value)
    b.demand(root.may.value, "the boundary reports a value of a root that has none", root);
  if (r == report::by_cause)
    b.demand(b.of.from_outside != cause::none, "the report of a cause that is not there", root);
}
inline task<report> guarded(books& b) {
  const node& root = b.of.root();
  report end = report::value;
  try {
    end = co_await boundary(b);
    check_report_of_root(b, end);
  } catch (const failure& f) {
    const bool is_outside = f.id == id_of_outside && b.of.from_outside == cause::sibling_fails;
    b.demand(is_outside || (root.may.throws >> f.id & 1U) != 0,
             "the boundary throws what no node has thrown",
             root);
    end = report::exception;
  } catch (const rota::cancelled_error&) {
    b.demand(root.may.cancelled, "cancelled_error comes out of the boundary of the cause", root);
    end = report::cancelled;
  }
  b.demand(!b.is_running(root), "the root runs on after the report of its end", root);
  co_return end;
}

}  // namespace compositions
