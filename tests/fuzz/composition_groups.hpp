// The nodes of when_all, when_all_settled, when_any and when_any_success. Their children are given as tasks,
// as a range, as handles, as names of handles, or as a job of a pool.
#pragma once

#include "fuzz/composition_books.hpp"

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace compositions {

// The result of each when_*, and its check. The values are those of the children in their order.

template <std::size_t... I, class Each, class F>
void each_of(std::index_sequence<I...> /*positions*/, Each& all, F f) {
  (f(I, std::get<I>(all)), ...);
}
template <class... T, class F>
void for_each(std::tuple<T...>& all, F f) {
  each_of(std::index_sequence_for<T...>(), all, f);
}
template <class T, class F>
void for_each(std::vector<T>& all, F f) {
  for (std::size_t i = 0; i < all.size(); ++i) f(i, all[i]);
}

struct by_all {
  template <class... A>
  static auto of(A&&... each) {
    return rota::when_all(std::forward<A>(each)...);
  }
  template <class All>
  static void check(books& b, const node& n, const place& /*p*/, All& all) {
    for_each(all, [&](std::size_t i, int value) { checked_value(b, b.of.child(n, i), value); });
  }
};
struct by_settled {
  template <class... A>
  static auto of(A&&... each) {
    return rota::when_all_settled(std::forward<A>(each)...);
  }
  template <class All>
  static void check(books& b, const node& n, const place& p, All& all) {
    for_each(all, [&](std::size_t i, rota::outcome<int>& end) {
      check_outcome(b, b.of.child(n, i), p, end, false);
    });
  }
};
struct by_any {
  template <class... A>
  static auto of(A&&... each) {
    return rota::when_any(std::forward<A>(each)...);
  }
  template <class... T>
  static void check(books& b, const node& n, const place& /*p*/, rota::any_result<T...>& first) {
    const int value = first.visit([](int each) { return each; });
    checked_value(b, b.of.child(n, first.index()), value);
  }
  static void check(books& b, const node& n, const place& /*p*/, rota::any_element<int>& first) {
    checked_value(b, b.of.child(n, first.index()), first.value());
  }
};
struct by_any_success : by_any {
  template <class... A>
  static auto of(A&&... each) {
    return rota::when_any_success(std::forward<A>(each)...);
  }
};

template <class When>
task<int> of_tasks(books& b, const node& n, place p) {
  const node& x = b.of.child(n, 0);
  const node& y = b.of.child(n, 1);
  if (n.children.size() == 2) {
    auto end = co_await When::of(run(b, x, p), run(b, y, p));
    When::check(b, n, p, end);
  } else {
    auto end = co_await When::of(run(b, x, p), run(b, y, p), run(b, b.of.child(n, 2), p));
    When::check(b, n, p, end);
  }
  co_return static_cast<int>(n.id);
}
template <class When>
task<int> of_a_range(books& b, const node& n, place p) {
  std::vector<task<int>> all;
  for (const unsigned each : n.children) all.push_back(run(b, b.of.nodes[each], p));
  auto end = co_await When::of(std::move(all));
  When::check(b, n, p, end);
  co_return static_cast<int>(n.id);
}
inline std::vector<rota::join_handle<int>> spawn_all(books& b, const node& n, const place& p) {
  std::vector<rota::join_handle<int>> all;
  for (const unsigned each : n.children) all.push_back(rota::spawn(run(b, b.of.nodes[each], p)));
  return all;
}
template <class When>
task<int> of_handles(books& b, const node& n, place p) {
  auto all = spawn_all(b, n, p);
  hold_up(n);
  if (all.size() == 2) {
    auto end = co_await When::of(std::move(all[0]), std::move(all[1]));
    When::check(b, n, p, end);
  } else {
    auto end = co_await When::of(std::move(all[0]), std::move(all[1]), std::move(all[2]));
    When::check(b, n, p, end);
  }
  co_return static_cast<int>(n.id);
}
template <class When>
task<int> of_task_and_name(books& b, const node& n, place p) {
  auto work = rota::spawn(run(b, b.of.child(n, 1), p));
  if (n.children.size() == 2) {
    auto end = co_await When::of(run(b, b.of.child(n, 0), p), work);
    When::check(b, n, p, end);
  } else {
    auto end = co_await When::of(run(b, b.of.child(n, 0), p), work, run(b, b.of.child(n, 2), p));
    When::check(b, n, p, end);
  }
  co_return static_cast<int>(n.id);
}
template <class When>
task<int> of_names(books& b, const node& n, place p) {
  auto all = spawn_all(b, n, p);
  hold_up(n);
  auto end = co_await When::of(all);
  When::check(b, n, p, end);
  co_return static_cast<int>(n.id);
}
template <class When>
task<int> of_task_and_job(books& b, const node& n, place p) {
  auto job = b.pool->submit(run(b, b.of.child(n, 1), p));
  if (n.children.size() == 2) {
    auto end = co_await When::of(run(b, b.of.child(n, 0), p), job);
    When::check(b, n, p, end);
  } else {
    auto end = co_await When::of(run(b, b.of.child(n, 0), p), job, run(b, b.of.child(n, 2), p));
    When::check(b, n, p, end);
  }
  co_return static_cast<int>(n.id);
}

template <class When>
task<int> group_of(books& b, const node& n, place p) {
  const bool is_for_the_pool = b.pool != nullptr && b.of.child(n, 1).what <= construct::throws_late;
  switch (n.as) {
    case given::range: return of_a_range<When>(b, n, p);
    case given::handles: return of_handles<When>(b, n, p);
    case given::task_and_name: return of_task_and_name<When>(b, n, p);
    case given::names: return of_names<When>(b, n, p);
    case given::task_and_job:
      if (is_for_the_pool) return of_task_and_job<When>(b, n, p);
      [[fallthrough]];
    default: return of_tasks<When>(b, n, p);
  }
}
/// All children of a when_* have ended when it ends.
template <class When>
task<int> groups(books& b, const node& n, place p) {
  const ended_before last(b, n);
  const int value = co_await group_of<When>(b, n, p);
  last.check();
  co_return value;
}

}  // namespace compositions
