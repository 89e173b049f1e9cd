// What the tasks of a scene do: one wait, and what it yields as a number.
//
// A `Kind` says what is awaited: leaf(), the wait; timed(span), the same with a limit; got(x), its result as
// a number, or no_value.
#pragma once

#include <expected>
#include <type_traits>
#include <utility>

#include "scene.hpp"

#include <rota/channel/select.hpp>
#include <rota/channel/status.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

namespace fuzz {

using rota::channel::no_value;

inline number code_of(rota::channel::send_status how) {
  switch (how) {
    case rota::channel::send_status::sent: return yes;
    case rota::channel::send_status::full: return refused;
    case rota::channel::send_status::dropped: return dropped;
    case rota::channel::send_status::closed: return closed;
    case rota::channel::send_status::timed_out: return late;
    case rota::channel::send_status::forked: break;
  }
  return 0;
}
inline number code_of(rota::channel::recv_status why) {
  switch (why) {
    case rota::channel::recv_status::empty: return empty;
    case rota::channel::recv_status::closed: return closed;
    case rota::channel::recv_status::timed_out: return late;
    case rota::channel::recv_status::lagged:
    case rota::channel::recv_status::forked: break;
  }
  return 0;
}
inline number code_of(std::error_code why) {
  if (why == make_error_code(rota::errc::closed)) return closed;
  return why == make_error_code(rota::errc::timed_out) ? late : 0;
}

/// `late`, or what the kind makes of it.
template <class Kind, class T>
number timed_code(Kind& kind, std::expected<T, rota::timed_out>& got) {
  if (!got.has_value()) {
    if constexpr (requires { kind.came_late(); }) kind.came_late();
    return late;
  }
  if constexpr (std::is_void_v<T>) {
    return kind.got(no_value());
  } else {
    return kind.got(*std::move(got));
  }
}
template <class Kind, class T>
number timed_code(Kind& kind, T& got) {
  return kind.got(std::move(got));
}

template <class Kind>
rota::task<void> waits(scene::seat me, Kind kind) {
  auto leaf = kind.leaf();
  me.made();
  if (me.how().hesitates) co_await rota::yield();
  me.begin();
  if constexpr (std::is_void_v<decltype(leaf.await_resume())>) {
    co_await leaf;
    me.end(0, kind.got(no_value()));
  } else {
    decltype(auto) got = co_await leaf;
    me.end(0, kind.got(std::forward<decltype(got)>(got)));
  }
}

template <class Kind>
rota::task<void> waits_in_time(scene::seat me, Kind kind) {
  auto leaf = kind.timed(me.limit());
  me.made();
  if (me.how().hesitates) co_await rota::yield();
  me.begin();
  auto got = co_await leaf;
  const number code = timed_code(kind, got);
  code == late ? me.end_late() : me.end(0, code);
}

template <class Selected, class A, class B>
number selected_code(Selected& first, A& a, B& b) {
  switch (first.index()) {
    case 0: return a.got(std::move(first).template get<0>());
    case 1: return b.got(std::move(first).template get<1>());
    default: return yes;
  }
}

template <class A, class B>
rota::task<void> selects(scene::seat me, A a, B b) {
  auto one = a.leaf();
  auto two = b.leaf();
  auto nap = rota::sleep_for(me.nap());
  const bool naps = me.how().nap != plan::never;
  me.made();
  if (me.how().hesitates) co_await rota::yield();
  me.begin();
  if (me.how().in_order) {
    auto first = co_await rota::channel::select_in_order(one, two, rota::channel::when(naps, nap));
    me.end(first.index(), selected_code(first, a, b));
  } else {
    auto first = co_await rota::channel::select(one, two, rota::channel::when(naps, nap));
    me.end(first.index(), selected_code(first, a, b));
  }
}

/// Starts one of the first two, as the plan says.
template <class Kind>
void start_wait(scene& in, const plan& how, Kind kind) {
  in.start(how, [&](scene::seat me) {
    return how.limit == plan::never ? waits(std::move(me), std::move(kind))
                                    : waits_in_time(std::move(me), std::move(kind));
  });
}
template <class A, class B>
void start_select(scene& in, const plan& how, A a, B b) {
  in.start(how, [&](scene::seat me) { return selects(std::move(me), std::move(a), std::move(b)); });
}

}  // namespace fuzz
