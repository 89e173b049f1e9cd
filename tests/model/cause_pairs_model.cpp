// Each boundary of a cause around each way to wait, in every order of delivery: the part of the matrix of
// causes (tests/api/cause_matrix.hpp) that runs on a model scheduler. The boundary reports its cause, and no
// task runs a line after the wait that the cause has ended.
#include "model/parent_and_children.hpp"

#include <rota/async_generator.hpp>
#include <rota/async_scope.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/finally.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace rota::model {
namespace {

using namespace std::chrono_literals;

constexpr base::time_point start_of_time{1'000s};
constexpr base::nanoseconds limit = 10ms;

struct pair_world : household {
  /// A line runs after a wait that the cause has ended.
  void go_on() {
    // acquire: pairs with reports(). A detached task goes on after the end of the boundary.
    if (is_over.load(base::order::acquire) == 0) ++went_on;
  }
  sync::event ended;
  base::atomic<int> is_over{0};
  int went_on = 0;
};

// ---- ways to wait: each for something that ends only with the cause

task<void> for_ever(pair_world& x) {
  const guard here(&x.guards);
  co_await x.event();
}
template <class Kept>
task<void> keeps(pair_world& x, Kept what) {
  const auto kept = std::move(what);
  co_await x.event();
}

task<void> a_handle(pair_world& x) {
  auto work = spawn(for_ever(x));
  co_await work;
  x.go_on();
}
task<void> a_result(pair_world& x) {
  auto work = spawn(for_ever(x));
  static_cast<void>(co_await work.result());
  x.go_on();
}
task<void> a_chain(pair_world& x) {
  auto work = spawn(a_handle(x));
  static_cast<void>(co_await work.result());
  x.go_on();
}
task<void> children_of_when_all(pair_world& x) {
  static_cast<void>(co_await when_all(a_handle(x), ends(x)));
  x.go_on();
}
task<void> a_child_of_a_scope(pair_world& x) {
  const auto body = [&x](scope& children) -> task<> {
    auto first = children.spawn(for_ever(x));
    static_cast<void>(co_await first.result());
    x.go_on();
  };
  co_await with_scope(body);
  x.go_on();
}
task<void> next_of_a_join_set(pair_world& x) {
  join_set<void> works;
  works.spawn(for_ever(x));
  static_cast<void>(co_await works.next());
  x.go_on();
}
task<void> an_async_scope(pair_world& x) {
  async_scope works;
  works.fork(a_handle(x));
  co_await works.close();
  x.go_on();
}
task<void> a_receive(pair_world& x) {
  auto [to, from] = channel::bounded<int>(1);
  auto work = spawn(keeps(x, std::move(to)));
  static_cast<void>(co_await from.recv());
  x.go_on();
}
task<void> a_send(pair_world& x) {
  auto [to, from] = channel::bounded<int>(1);
  auto work = spawn(keeps(x, std::move(from)));
  static_cast<void>(to.try_send(1));
  static_cast<void>(co_await to.send(2));
  x.go_on();
}
task<void> a_oneshot(pair_world& x) {
  auto [to, from] = channel::oneshot<int>();
  auto work = spawn(keeps(x, std::move(to)));
  static_cast<void>(co_await from.recv());
  x.go_on();
}
task<void> a_select(pair_world& x) {
  auto [to, from] = channel::bounded<int>(1);
  auto work = spawn(keeps(x, std::move(to)));
  static_cast<void>(co_await channel::select(from.recv(), work));
  x.go_on();
}
task<void> a_sleep(pair_world& x) {
  co_await sleep_until(start_of_time + 1h);
  x.go_on();
}
async_generator<int> gives_nothing(pair_world& x) {
  auto work = spawn(for_ever(x));
  co_await work;
  x.go_on();
  co_yield 1;
}
task<void> a_generator(pair_world& x) {
  auto all = gives_nothing(x);
  static_cast<void>(co_await all.next());
  x.go_on();
}

/// Sets the event when its frame goes.
struct sets_at_end {
  explicit sets_at_end(sync::event& which) : of(which) {}
  sets_at_end(const sets_at_end&) = delete;
  sets_at_end& operator=(const sets_at_end&) = delete;
  ~sets_at_end() { of.set(); }
  sync::event& of;
};
task<void> sets_the_event(pair_world& x) {
  const sets_at_end last(x.ended);
  co_await x.event();
}
task<void> an_event(pair_world& x) {
  auto work = spawn(sets_the_event(x));
  co_await x.ended.wait();
  x.go_on();
}

struct way {
  const char* name;
  task<void> (*wait)(pair_world& x);
};
constexpr way ways[] = {
    {"handle", a_handle},
    {"result", a_result},
    {"chain", a_chain},
    {"when_all", children_of_when_all},
    {"scope", a_child_of_a_scope},
    {"join_set", next_of_a_join_set},
    {"async_scope", an_async_scope},
    {"receive", a_receive},
    {"send", a_send},
    {"oneshot", a_oneshot},
    {"select", a_select},
    {"sleep", a_sleep},
    {"generator", a_generator},
    {"event", an_event},
};

// ---- boundaries: 1 if the boundary has reported its cause

task<int> by_deadline(pair_world& x, way w) {
  const auto end = co_await with_deadline(start_of_time + limit, w.wait(x));
  co_return end.has_value() ? 0 : 1;
}
task<int> by_finally(pair_world& x, way w) {
  bool cleaned = false;
  const auto clean_up = [&cleaned](const outcome<void>& end) -> task<> {
    cleaned = end.is_cancelled();
    co_return;
  };
  const auto end = co_await with_deadline(start_of_time + limit, finally(w.wait(x), clean_up, 1h));
  co_return !end.has_value() && cleaned ? 1 : 0;
}
task<int> by_scope(pair_world& x, way w) {
  const auto body = [&x, w](scope& children) -> task<> {
    children.fork(w.wait(x));
    children.cancel();
    co_return;
  };
  co_await with_scope(body);
  co_return 1;
}
task<int> by_failed_body(pair_world& x, way w) {
  const auto body = [&x, w](scope& children) -> task<> {
    children.fork(w.wait(x));
    throw 7;
    co_return;
  };
  try {
    co_await with_scope(body);
  } catch (int) {
    co_return 1;
  }
  co_return 0;
}
task<int> by_handle(pair_world& x, way w) {
  auto work = spawn(w.wait(x));
  work.cancel();
  const auto end = co_await work.result();
  co_return end.is_cancelled() && end.reason() == cancel_reason::user ? 1 : 0;
}
task<int> by_winner(pair_world& x, way w) {
  const auto first = co_await when_any(w.wait(x), ends(x));
  co_return first.index() == 1 ? 1 : 0;
}
task<int> by_failed_sibling(pair_world& x, way w) {
  try {
    static_cast<void>(co_await when_all(w.wait(x), fails(x)));
  } catch (int) {
    co_return 1;
  }
  co_return 0;
}
task<int> by_join_set(pair_world& x, way w) {
  join_set<void> works;
  works.spawn(w.wait(x));
  co_await works.close();
  co_return 1;
}
task<int> by_async_scope(pair_world& x, way w) {
  async_scope works;
  works.fork(w.wait(x));
  works.cancel();
  co_await works.close();
  co_return 1;
}

struct boundary {
  const char* name;
  task<int> (*around)(pair_world& x, way w);
  bool needs_time;
  unsigned preemptions = 1;  // 0 where time passes: its thread makes many more
};
constexpr boundary boundaries[] = {
    {"deadline", by_deadline, true, 0},
    {"finally", by_finally, true, 0},
    {"scope", by_scope, false},
    {"failed_body", by_failed_body, false},
    {"handle", by_handle, false},
    {"winner", by_winner, false},
    {"failed_sibling", by_failed_sibling, false},
    {"join_set", by_join_set, false},
    {"async_scope", by_async_scope, false},
};

task<int> reports(pair_world& x, boundary of, way w) {
  const int end = co_await of.around(x, w);
  // release. Pairs with go_on() and let_the_limit_pass().
  x.is_over.store(1, base::order::release);
  // Ends the detached tasks: no cause reaches them.
  x.event.fire();
  co_return end;
}

/// Tasks that were spawned inside have inherited the deadline: their timers fire, too.
void let_the_limit_pass(pair_world& x) {
  x.s.let_time_pass(start_of_time + limit, [&x] {
    // acquire. Pairs with reports().
    return x.is_over.load(base::order::acquire) != 0 && x.s.ended == x.s.admitted;
  });
}

void run_pair(execution& e, const boundary& of, const way& w) {
  auto& x = e.make<pair_world>();
  x.s.have_timers(start_of_time);
  start(e, x, 2, reports(x, of, w));
  if (of.needs_time) e.thread("time", [&x] { let_the_limit_pass(x); });
  e.finally([&x] {
    check(end_of_parent(x) == 1, "the boundary reports its cause");
    check(x.went_on == 0, "no line after the wait has run");
  });
}

class cause_pairs_model : public ::testing::TestWithParam<std::tuple<boundary, way>> {};

std::string name_of(const std::tuple<boundary, way>& pair) {
  return std::string(std::get<boundary>(pair).name) + "_around_" + std::get<way>(pair).name;
}

TEST_P(cause_pairs_model, one_cause_has_one_report) {
  const auto of = std::get<boundary>(GetParam());
  const auto w = std::get<way>(GetParam());
  const std::string name = "pair_" + name_of(GetParam());
  const auto body = [&of, &w](execution& e) { run_pair(e, of, w); };
  expect_holds(exhaustive(name, of.preemptions), body);
  const std::string random = name + " random";
  expect_holds(at_random(random, 300), body);
}
INSTANTIATE_TEST_SUITE_P(pairs,
                         cause_pairs_model,
                         ::testing::Combine(::testing::ValuesIn(boundaries), ::testing::ValuesIn(ways)),
                         [](const ::testing::TestParamInfo<std::tuple<boundary, way>>& one) {
                           return name_of(one.param);
                         });

}  // namespace
}  // namespace rota::model
