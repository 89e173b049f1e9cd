#include "flow_support.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/enter.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace when_test {
namespace {

using namespace rota;
using namespace rota::test;

using when_in_order = in_every_order;
ROTA_IN_EVERY_ORDER(when_in_order);

template <class Work>
std::string run_in_task(manual_scheduler& s, Work work) {
  auto around = [&]() -> task<int> { co_return co_await work(); };
  auto h = s.spawn(around);
  s.run_with_time();
  return end_of(h);
}

task<std::string> says(std::string what) {
  co_await yield();
  co_return what;
}
task<void> nothing() { co_await yield(); }
task<int> later(std::chrono::milliseconds span, int value) {
  co_await sleep_for(span);
  co_return value;
}
task<int> throws_later(std::chrono::milliseconds span, int number) {
  co_await sleep_for(span);
  throw failure(number);
}

// --- when_all

TEST_P(when_in_order, all_yields_a_tuple_in_the_order_of_the_arguments) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          auto [a, b, c] = co_await when_all(later(2ms, 20), says("three"), later(1ms, 1));
                          EXPECT_EQ(b, "three");
                          co_return a + c;
                        }),
            "value 21");
}

TEST_P(when_in_order, single_awaitable_is_not_taken_for_a_range) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          auto [a] = co_await when_all(later(1ms, 1));
                          auto [b] = co_await when_all_settled(later(1ms, 20));
                          auto c = co_await when_any(later(1ms, 300));
                          auto d = co_await when_any_success(later(1ms, 4000));
                          auto handle = spawn(later(1ms, 50000));
                          auto [e] = co_await when_all(handle);
                          co_await when_all(sleep_for(1ms));
                          co_return a + b.value() + c.get<0>() + d.get<0>() + e;
                        }),
            "value 54321");
}

TEST_P(when_in_order, void_is_a_monostate) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          auto both = co_await when_all(nothing(), gives(4));
                          static_assert(std::is_same_v<decltype(both), std::tuple<std::monostate, int>>);
                          co_return std::get<1>(both);
                        }),
            "value 4");
}

TEST_P(when_in_order, all_of_no_tasks_completes_at_once) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          auto none = co_await when_all();
                          static_assert(std::is_same_v<decltype(none), std::tuple<>>);
                          auto settled = co_await when_all_settled();
                          static_assert(std::is_same_v<decltype(settled), std::tuple<>>);
                          const std::vector<int> empty = co_await when_all(std::vector<task<int>>());
                          co_return static_cast<int>(empty.size());
                        }),
            "value 0");
  EXPECT_EQ(s.ended, 1);
}

TEST_P(when_in_order, all_returns_move_only_results_and_references) {
  int target = 3;
  EXPECT_EQ(
      run_in_task(s,
                  [&]() -> task<int> {
                    auto owner = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(4); };
                    auto refers = [&]() -> task<int&> { co_return target; };
                    auto both = co_await when_all(owner(), refers());
                    static_assert(std::is_same_v<decltype(both), std::tuple<std::unique_ptr<int>, int&>>);
                    std::get<1>(both) = 5;
                    co_return *std::get<0>(both);
                  }),
      "value 4");
  EXPECT_EQ(target, 5);
}

TEST_P(when_in_order, all_of_a_range_is_a_vector) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          for (int i = 0; i < 10; ++i)
                            tasks.push_back(later(std::chrono::milliseconds(10 - i), i));
                          const std::vector<int> values = co_await when_all(std::move(tasks));
                          EXPECT_EQ(values, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
                          std::vector<task<void>> voids;
                          voids.push_back(nothing());
                          const std::vector<std::monostate> ends = co_await when_all(std::move(voids));
                          co_return static_cast<int>(ends.size());
                        }),
            "value 1");
}

TEST_P(when_in_order, all_accepts_handles_leaves_timeouts_and_nested_when_all) {
  auto given = s.spawn(gives, 100);
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          auto named = s.spawn(gives, 10);
                          auto [a, b, c, d, e] = co_await when_all(named,
                                                                   sleep_for(1ms),
                                                                   when_all(gives(1), gives(2)),
                                                                   std::move(given),
                                                                   timeout(1ms, gives(1000)));
                          static_assert(std::is_same_v<decltype(b), std::monostate>);
                          co_return a + std::get<0>(c) + std::get<1>(c) + d + e.value();
                        }),
            "value 1113");
}

TEST_P(when_in_order, all_accepts_a_vector_of_handles) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          std::vector<join_handle<int>> handles;
                          for (int i = 0; i < 3; ++i) handles.push_back(s.spawn(gives, i));
                          const std::vector<int> values = co_await when_all(handles);
                          EXPECT_FALSE(handles.front().valid());
                          co_return values.at(1) + values.at(2);
                        }),
            "value 3");
}

TEST_P(when_in_order, the_first_failure_cancels_the_others_and_is_rethrown_when_they_have_ended) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<int> {
    auto sibling = [&]() -> task<void> {
      const witness w(log, 's');
      co_await slow.wait();
    };
    co_await when_all(gives(1), sibling(), throws(2), waits());
    co_return 1;
  });
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  EXPECT_TRUE(slow.is_being_cancelled());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "failure 2");
  EXPECT_EQ(log, "s");
  EXPECT_EQ(s.suppressed, 0);
}

TEST_P(when_in_order, later_exceptions_are_counted) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          auto stubborn = [](int n) -> task<int> {
                            const auto guard = shield(1h);
                            co_await sleep_for(std::chrono::milliseconds(n));
                            throw failure(n);
                          };
                          co_await when_all(stubborn(1), stubborn(2), stubborn(3));
                          co_return 1;
                        }),
            "failure 1");
  EXPECT_EQ(s.suppressed, 2);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(when_in_order, a_child_that_is_cancelled_on_its_own_is_a_failure_of_all) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          auto doomed = s.spawn(waits);
                          doomed.cancel(cancel_reason::timeout);
                          co_await when_all(waits(), doomed);
                          co_return 1;
                        }),
            "cancelled_error timeout");
}

TEST_P(when_in_order, failure_in_a_range_is_rethrown) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          for (int i = 0; i < 1000; ++i) tasks.push_back(i == 567 ? throws(i) : waits());
                          co_await when_all(std::move(tasks));
                          co_return 1;
                        }),
            "failure 567");
}

// --- when_all_settled

TEST_P(when_in_order, settled_yields_every_outcome) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          auto doomed = s.spawn(waits);
                          doomed.cancel();
                          auto [a, b, c, d] =
                              co_await when_all_settled(later(3ms, 1), throws(2), doomed, nothing());
                          EXPECT_EQ(in_words(a), "value 1");
                          EXPECT_EQ(in_words(b), "failure 2");
                          EXPECT_EQ(in_words(c), "cancelled_error user");
                          EXPECT_EQ(in_words(d), "value");
                          co_return 3;
                        }),
            "value 3");
  EXPECT_EQ(s.unhandled_count, 0);
  EXPECT_EQ(s.suppressed, 0);
}

TEST_P(when_in_order, settled_yields_a_vector_for_a_range) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          tasks.push_back(throws(1));
                          tasks.push_back(gives(2));
                          const std::vector<outcome<int>> ends = co_await when_all_settled(std::move(tasks));
                          EXPECT_EQ(in_words(ends.at(0)), "failure 1");
                          co_return ends.at(1).value();
                        }),
            "value 2");
}

// --- when_any

TEST_P(when_in_order, any_yields_the_first_and_joins_the_others) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<int> {
    auto loser = [&]() -> task<std::string> {
      const witness w(log, 'l');
      co_await slow.wait();
      co_return "never";
    };
    auto first = co_await when_any(loser(), later(1ms, 42), sleep_for(1h));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_THROW(static_cast<void>(first.get<0>()), std::bad_variant_access);
    co_return first.get<1>();
  });
  s.run_until_idle();
  s.advance(1ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  EXPECT_TRUE(slow.is_being_cancelled());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, "l");
  EXPECT_EQ(end_of(h), "value 42");
}

TEST_P(when_in_order, any_can_be_visited) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          struct describe {
                            int operator()(int n) const { return n; }
                            int operator()(const std::string& t) const { return static_cast<int>(t.size()); }
                            int operator()(std::monostate) const { return -1; }
                          };
                          const auto text = co_await when_any(waits(), says("four"), sleep_for(1h));
                          auto none = co_await when_any(later(1h, 1), sleep_for(1ms));
                          const describe visitor;
                          co_return text.visit(visitor) * 10 + none.visit(visitor);
                        }),
            "value 39");
}

TEST_P(when_in_order, any_rethrows_the_exception_of_the_first_child) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          co_await when_any(waits(), throws(3), later(1ms, 1));
                          co_return 1;
                        }),
            "failure 3");
}

TEST_P(when_in_order, any_throws_cancelled_error_if_the_first_child_was_cancelled) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          auto doomed = s.spawn(waits);
                          doomed.cancel();
                          co_await when_any(waits(), doomed);
                          co_return 1;
                        }),
            "cancelled_error user");
}

TEST_P(when_in_order, losing_task_is_cancelled_and_its_handle_stays_valid) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<int> {
                          auto loser = s.spawn(waits);
                          const auto first = co_await when_any(loser, later(1ms, 5));
                          EXPECT_TRUE(loser.is_done());
                          const outcome<int> end = co_await loser.result();
                          EXPECT_EQ(in_words(end), "cancelled sibling failed");
                          co_return first.get<1>();
                        }),
            "value 5");
}

TEST_P(when_in_order, any_of_a_range_yields_an_index_and_a_value) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          for (int i = 0; i < 5; ++i)
                            tasks.push_back(later(std::chrono::milliseconds(5 - i), i));
                          const auto first = co_await when_any(std::move(tasks));
                          EXPECT_EQ(first.index(), 4U);
                          EXPECT_THROW(static_cast<void>(when_any(std::vector<task<int>>())),
                                       std::invalid_argument);
                          co_return first.value();
                        }),
            "value 4");
}

TEST_P(when_in_order, any_success_waits_for_a_value) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          const auto first = co_await when_any_success(
                              throws(1), later(2ms, 2), throws_later(1ms, 3), later(3ms, 4));
                          EXPECT_EQ(first.index(), 1U);
                          co_return first.get<1>();
                        }),
            "value 2");
  EXPECT_EQ(s.suppressed, 2);
}

TEST_P(when_in_order, any_success_without_any_throws_the_first_failure) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          co_await when_any_success(
                              throws_later(3ms, 1), throws_later(1ms, 2), throws_later(2ms, 3));
                          co_return 1;
                        }),
            "failure 2");
  EXPECT_EQ(s.suppressed, 2);
  EXPECT_EQ(s.unhandled_count, 0);
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          tasks.push_back(throws(7));
                          const auto first = co_await when_any_success(std::move(tasks));
                          co_return first.value();
                        }),
            "failure 7");
}

// --- the awaiting task is cancelled

TEST_P(when_in_order, a_cancelled_task_cancels_and_joins_its_children) {
  for (int which = 0; which < 4; ++which) {
    std::string log;
    held_event slow;
    auto child = [&]() -> task<int> {
      const witness w(log, 'c');
      co_await slow.wait();
      co_return 1;
    };
    auto h = s.spawn([&]() -> task<void> {
      const witness parent(log, 'p');
      if (which == 0) static_cast<void>(co_await when_all(child(), waits()));
      if (which == 1) static_cast<void>(co_await when_all_settled(child(), waits()));
      if (which == 2) static_cast<void>(co_await when_any(child(), waits()));
      if (which == 3) static_cast<void>(co_await when_any_success(child(), waits()));
    });
    s.run_until_idle();
    h.cancel(cancel_reason::timeout);
    s.run_until_idle();
    EXPECT_FALSE(h.is_done());
    EXPECT_EQ(log, "");
    slow.let_go();
    s.run_until_idle();
    EXPECT_EQ(end_of(h), "cancelled timeout");
    EXPECT_EQ(log, "cp");
  }
}

TEST_P(when_in_order, exceptions_of_children_after_a_cancellation_are_counted) {
  auto h = s.spawn([&]() -> task<void> {
    auto stubborn = []() -> task<int> {
      const auto guard = shield(1h);
      co_await sleep_for(1ms);
      throw failure(1);
    };
    co_await when_any(stubborn(), waits());
  });
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(when_in_order, timeout_around_it_ends_it_or_gives_its_value) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          const auto late = co_await timeout(1ms, when_all(waits(), gives(1)));
                          EXPECT_FALSE(late.has_value());
                          const auto in_time = co_await timeout(1ms, when_any(waits(), gives(1)));
                          co_return in_time.value().get<1>();
                        }),
            "value 1");
}

TEST_P(when_in_order, task_cancelled_before_its_start_starts_no_children) {
  int alive = 0;
  auto h = s.spawn(
      [](tally c) -> task<void> {
        auto with = [](tally) -> task<void> { co_await forever(); };
        co_await when_all(with(c), with(c));
      },
      tally(alive));
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(alive, 0);
}

TEST_P(when_in_order, children_of_a_when_that_is_not_awaited_never_start) {
  int alive = 0;
  {
    auto with = [](tally) -> task<void> { co_await forever(); };
    [[maybe_unused]] const auto unused = when_all(with(tally(alive)), with(tally(alive)));
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(when_in_order, without_a_runtime_nothing_starts) {
  int alive = 0;
  auto work = [&]() -> task<int> {
    auto with = [](tally) -> task<void> { co_return; };
    try {
      co_await when_all(with(tally(alive)), with(tally(alive)));
    } catch (const error& e) {
      co_return e.code() == errc::no_runtime ? 1 : 2;
    }
    co_return 3;
  };
  EXPECT_EQ(core::run_on_this_thread(work(), nullptr), 1);
  EXPECT_EQ(alive, 0);
}

TEST_P(when_in_order, closed_scheduler_cancels_the_children) {
  auto h = s.spawn([&]() -> task<int> {
    s.closed = true;
    co_await when_all(gives(1), gives(2));
    co_return 1;
  });
  s.run_until_idle();
  s.closed = false;
  // The shutdown cancels the parent, too.
  EXPECT_EQ(end_of(h), "cancelled shutdown");
}

TEST_P(when_in_order, all_completes_a_hundred_thousand_tasks) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          std::vector<task<int>> tasks;
                          for (int i = 0; i < 100'000; ++i) tasks.push_back(gives(1));
                          const std::vector<int> values = co_await when_all(std::move(tasks));
                          int sum = 0;
                          for (const int v : values) sum += v;
                          co_return sum;
                        }),
            "value 100000");
}

TEST_P(when_in_order, a_thousand_nested_when_all_complete_or_unwind) {
  struct nester {
    static task<int> nest(int depth) {
      if (depth == 0) co_return 0;
      const auto both = co_await when_all(nest(depth - 1), gives(1));
      co_return std::get<0>(both) + std::get<1>(both);
    }
    static task<int> stuck(int depth) {
      if (depth == 0) co_return co_await waits();
      const auto both = co_await when_all(stuck(depth - 1), waits());
      co_return std::get<0>(both);
    }
  };
  EXPECT_EQ(run_in_task(s, [] { return nester::nest(1000); }), "value 1000");
  auto h = s.spawn(nester::stuck, 1000);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(when_in_order, is_cancelled_inside_a_scope_that_fails) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<int> {
                          co_return co_await with_scope([](scope& c) -> task<int> {
                            c.spawn(throws_later, 1ms, 8);
                            co_await when_all(waits(), waits());
                            co_return 1;
                          });
                        }),
            "failure 8");
}

}  // namespace
}  // namespace when_test
