// P19, the children: run in place, stolen, or made tasks in the middle, while one fails and the waiter is
// cancelled. Every frame is destroyed once, on a worker; every end is counted once; no wait is endless.
#include "model/forking.hpp"
#include "queue/fork_deque.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/cancel.hpp>
#include <rota/this_task.hpp>
#include <rota/when.hpp>

#include <utility>
#include <vector>

namespace rota::model {
namespace {

/// The parent has this end, and so many guards have gone.
auto ends_as(int end, int guards) {
  return [end, guards](forking_household& h) {
    check(end_of_parent(h) == end, "the parent has this end");
    check(h.guards == guards, "every frame was destroyed once");
  };
}
/// The parent has this end. The number of children that have begun depends on the interleaving.
auto ends_as(int end) {
  return [end](forking_household& h) { check(end_of_parent(h) == end, "the parent has this end"); };
}
void is_done_or_cancelled(forking_household& h) {
  const int end = end_of_parent(h);
  check(end == 1 || end == -1, "done, or cancelled");
}

task<int> number(forking_household& h, int n) {
  const guard here(&h.guards);
  co_return n;
}
task<int> pair_of(forking_household& h) {
  co_await when_all(ends(h), ends(h));
  co_return 1;
}

// --- they end

task<int> adds_two(forking_household& h) {
  const auto [a, b] = co_await when_all(number(h, 1), number(h, 2));
  co_return a + b;
}

TEST(fork_model, the_parent_gets_the_results_of_two_children) {
  expect_end({"fork_two", adds_two}, ends_as(3, 2));
}

task<int> nests(forking_household& h) {
  const auto [a, b, c] = co_await when_all(pair_of(h), ends(h), pair_of(h));
  co_return a + c;
}

TEST(fork_model, a_fork_inside_of_a_fork) { expect_end({"fork_nested", nests}, ends_as(2, 5), 1); }

TEST(fork_model, nested_forks_with_exchanges_at_random) {
  const forking shape{.name = "fork_exchange", .parent = nests, .barrier = queue::pop_barrier::exchange};
  const auto body = played(shape, ends_as(2, 5));
  expect_holds(at_random("fork_exchange"), body);
  expect_holds(by_priority("fork_exchange pct"), body);
}

task<int> sum_of_seven(forking_household& h) {
  std::vector<task<int>> numbers;
  for (int n = 1; n <= 7; ++n) numbers.push_back(number(h, n));
  const std::vector<int> values = co_await when_all(std::move(numbers));
  int sum = 0;
  for (const int n : values) sum += n;
  co_return sum;
}

// A deque holds four here: the others are tasks at once.
TEST(fork_model, children_that_do_not_fit_into_the_deque_become_tasks) {
  expect_end({"fork_range", sum_of_seven}, ends_as(28, 7), 1);
}

task<int> sum_in_place(forking_household& h) {
  const auto [sum, one] = co_await when_all(sum_of_seven(h), number(h, 1));
  co_return sum + one;
}

// The same in place: its parent must not go on before its stolen children have ended.
TEST(fork_model, the_parent_of_a_range_waits_for_its_stolen_children) {
  expect_end({"fork_range_in_place", sum_in_place}, ends_as(29, 8), 1);
}

// --- they become tasks

task<int> first_suspends(forking_household& h) {
  co_await when_all(ends_later(h), ends(h));
  co_return 1;
}

// It suspends in its parent's place, so it becomes a task; the parent waits; its sibling runs.
TEST(fork_model, the_first_child_suspends) {
  expect_end(
      {.name = "fork_suspends", .parent = first_suspends, .fires = true},
      [](forking_household& h) {
        ends_as(1, 2)(h);
        check(h.s.ended >= 2, "who suspends is a task");
      },
      1);
}

task<int> first_suspends_deep(forking_household& h) {
  co_await when_all(first_suspends(h), ends(h));
  co_return 1;
}

// Two levels become tasks at once, while the siblings of both lie in the deque.
TEST(fork_model, a_child_of_a_child_suspends) {
  expect_end(
      {.name = "fork_deep", .parent = first_suspends_deep, .fires = true},
      [](forking_household& h) {
        ends_as(1, 3)(h);
        check(h.s.ended >= 3, "both that stood around the suspension are tasks");
      },
      1);
}

task<int> number_when_told(forking_household& h, int n) {
  const guard here(&h.guards);
  co_await h.event();
  co_return n;
}
task<int> second_of_six_suspends(forking_household& h) {
  std::vector<task<int>> numbers;
  for (int n = 1; n <= 6; ++n) numbers.push_back(n == 2 ? number_when_told(h, n) : number(h, n));
  const std::vector<int> values = co_await when_all(std::move(numbers));
  int sum = 0;
  for (const int n : values) sum += n;
  co_return sum;
}

// The second child becomes a task while the next ones lie in the deque, and the last one is a task already.
TEST(fork_model, the_second_child_of_a_range_suspends) {
  expect_end(
      {.name = "fork_range_suspends", .parent = second_of_six_suspends, .fires = true}, ends_as(21, 6), 1);
}

task<int> awaits_who_forks(forking_household& h) {
  auto child = h.s.spawn(first_suspends(h));
  co_return co_await child;
}

// An awaited task runs on the awaiter's thread and forks. Its child becomes a task, and the awaiter goes on.
TEST(fork_model, an_awaited_task_forks_on_the_thread_of_its_awaiter) {
  expect_end({.name = "fork_awaited", .parent = awaits_who_forks, .fires = true}, ends_as(1, 2), 1);
}

/// A parameter with a destructor that asks for the task.
struct asks {
  explicit asks(forking_household& h) noexcept : of(&h) {}
  asks(const asks&) = delete;
  asks& operator=(const asks&) = delete;
  asks(asks&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
  asks& operator=(asks&&) = delete;
  ~asks() {
    if (of != nullptr && this_task::id() != task_id{}) ++of->counted;
  }
  forking_household* of;
};

task<int> with_parameter(forking_household& h, asks /*parameter*/) {
  const guard here(&h.guards);
  co_return 1;
}
task<int> two_with_parameters(forking_household& h) {
  const auto [a, b] = co_await when_all(with_parameter(h, asks(h)), with_parameter(h, asks(h)));
  co_return a + b;
}
task<int> parameters_in_place(forking_household& h) {
  const auto [a, b] = co_await when_all(two_with_parameters(h), number(h, 1));
  co_return a + b;
}

// Children that become tasks at their end, when their parameters' destructors ask for the task.
TEST(fork_model, a_child_becomes_a_task_at_its_end) {
  expect_end(
      {"fork_parameters", parameters_in_place},
      [](forking_household& h) {
        ends_as(3, 3)(h);
        check(h.counted == 2, "each parameter found a task");
      },
      1);
}

// --- they fail

task<int> first_fails(forking_household& h) {
  co_await when_all(fails(h), ends_later(h));
  co_return 1;
}

// The failure comes in place, while a thief may have the sibling, or be about to make it a task.
TEST(fork_model, the_first_child_fails) { expect_end({"fork_fails_first", first_fails}, ends_as(7)); }

task<int> last_fails(forking_household& h) {
  co_await when_all(ends_later(h), fails(h));
  co_return 1;
}

// A thief's child fails; the first child waits for ever. It must hear of the failure, also at the moment in
// which it becomes a task.
TEST(fork_model, the_last_child_fails) { expect_end({"fork_fails_last", last_fails}, ends_as(7, 2)); }

task<void> forks_twice(forking_household& h) {
  co_await when_all(ends(h), ends(h));
  co_await when_all(ends_later(h), ends(h));
}
task<int> fails_beside_forks(forking_household& h) {
  co_await when_all(forks_twice(h), fails(h));
  co_return 1;
}

// A thief's child fails while the other forks in place: its descendants learn it at a fork or a cancel.
TEST(fork_model, a_failure_reaches_descendants_that_run_in_place) {
  expect_end({"fork_fails_deep", fails_beside_forks}, ends_as(7), 1);
}

task<int> fails_with_parameter(forking_household& h, asks /*parameter*/) {
  const guard here(&h.guards);
  throw 7;
  co_return 1;
}
task<int> first_fails_with_parameter(forking_household& h) {
  co_await when_all(fails_with_parameter(h, asks(h)), ends_later(h));
  co_return 1;
}

TEST(fork_model, a_child_that_fails_becomes_a_task_at_its_end) {
  expect_end(
      {"fork_parameters_fail", first_fails_with_parameter},
      [](forking_household& h) {
        ends_as(7)(h);
        check(h.counted == 1, "its parameter found a task");
      },
      1);
}

task<int> fails_beside_parameters(forking_household& h) {
  co_await when_all(fails(h), with_parameter(h, asks(h)), with_parameter(h, asks(h)));
  co_return 1;
}
task<int> discards_in_place(forking_household& h) {
  const auto [a, b] = co_await when_all(fails_beside_parameters(h), number(h, 1));
  co_return a + b;
}

// Unstolen children end where the failure is noticed; their destructors may make the failed one a task.
TEST(fork_model, a_failure_destroys_children_that_have_not_started) {
  const auto each_once = [](forking_household& h) {
    ends_as(7)(h);
    check(h.counted == 2, "each parameter is destroyed once, and finds a task");
  };
  expect_end({"fork_discards", fails_beside_parameters}, each_once, 1);
  expect_end({"fork_discards_in_place", discards_in_place}, each_once, 1);
  expect_end(
      {.name = "fork_discards_cancelled", .parent = discards_in_place, .cancels = true},
      [](forking_household& h) {
        check(h.counted == 0 || h.counted == 2, "each that was made is destroyed once");
      },
      1);
}

task<int> settles(forking_household& h) {
  const auto [a, b, c] = co_await when_all_settled(ends(h), fails(h), ends(h));
  check(a.has_value() && b.has_exception() && c.has_value(), "as they ended");
  co_return 1;
}

TEST(fork_model, when_all_settled_continues_after_a_failure) {
  expect_end({"fork_settled", settles}, ends_as(1, 3));
}

// --- they are cancelled

task<int> last_suspends(forking_household& h) {
  co_await when_all(ends(h), ends_later(h));
  co_return 1;
}

TEST(fork_model, a_waiting_parent_is_cancelled_with_its_children) {
  expect_end({.name = "fork_cancelled", .parent = last_suspends, .cancels = true}, ends_as(-1), 1);
}

task<int> two_pairs(forking_household& h) {
  co_await when_all(pair_of(h), pair_of(h));
  co_return 1;
}

TEST(fork_model, a_parent_is_cancelled_while_it_forks_in_place) {
  expect_end({.name = "fork_pairs_cancelled", .parent = two_pairs, .cancels = true}, is_done_or_cancelled, 1);
}

task<int> sees_its_children(forking_household& h) {
  static_cast<void>(this_task::id());  // it is a task from here on
  const auto [a, b] = co_await when_all_settled(ends(h), ends(h));
  if (!a.has_value() || !b.has_value()) ++h.counted;
  co_return 1;
}
task<int> awaits_what_sees(forking_household& h) {
  co_await when_all(ends(h), sees_its_children(h));
  co_return 1;
}

// A stolen grandchild learns of it first. The task between must not go on with the cancelled outcome.
TEST(fork_model, no_task_sees_its_children_cancelled_before_itself) {
  expect_end(
      {.name = "fork_seen", .parent = awaits_what_sees, .cancels = true},
      [](forking_household& h) {
        is_done_or_cancelled(h);
        check(h.counted == 0, "nobody cancelled only the children");
      },
      2);
}

task<void> forks_behind_a_shield(forking_household& h) {
  const guard here(&h.guards);
  const auto held_off = shield(std::chrono::hours::max());
  co_await when_all(pair_of(h), ends(h));
  ++h.counted;
}
task<int> shields_beside_a_failure(forking_household& h) {
  co_await when_all(forks_behind_a_shield(h), fails(h));
  co_return 1;
}

// A shield of a task in the middle holds off what has reached the tasks around it.
TEST(fork_model, children_behind_a_shield_are_not_cancelled) {
  expect_end(
      {"fork_shield", shields_beside_a_failure},
      [](forking_household& h) {
        ends_as(7)(h);
        check(h.guards == 1 || h.counted == 1, "what has begun behind a shield ends well");
      },
      1);
}

task<void> forks_after_a_look(forking_household& h) {
  // acquire. Pairs with the canceller.
  const bool asked = h.asked_to_stop.load(base::order::acquire);
  co_await when_all(ends(h), ends(h));
  if (asked) ++h.counted;
}
task<int> looks_in_place(forking_household& h) {
  co_await when_all(forks_after_a_look(h), ends(h));
  co_return 1;
}

// The canceller reads the place where the task forks, or the task reads the cancellation: one of both.
TEST(fork_model, a_fork_in_place_notices_an_earlier_cancellation) {
  expect_end({.name = "fork_called", .parent = looks_in_place, .cancels = true, .thieves = false},
             [](forking_household& h) {
               is_done_or_cancelled(h);
               const bool all_in_place = h.s.ended == 1;
               check(!all_in_place || h.counted == 0,
                     "a fork after the cancellation of its task is where that ends");
             });
}

}  // namespace
}  // namespace rota::model
