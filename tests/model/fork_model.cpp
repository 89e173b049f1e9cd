// P19, the children: run in their parent's place, stolen, or made tasks in the middle, while one fails and while whoever waits for
// them is cancelled. Every frame is destroyed once, on a worker; every end is counted once; nobody waits for ever.
#include "model/forking.hpp"
#include "queue/fork_deque.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/this_task.hpp>
#include <rota/when.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rota::model {
namespace {

/// Any parent, with its first child and its last: what they do is up to the test.
template <class Work>
auto forked(Work work, queue::pop_barrier barrier = queue::pop_barrier::light) {
  return [work, barrier](execution& e) -> forking_household& {
    auto& h = e.make<forking_household>(barrier);
    start_forking(e, h, work(h));
    return h;
  };
}

/// Ends with `expected`, and every one of `guards` frames is destroyed.
template <class Work>
auto ends_with(int expected, int guards, Work work) {
  return [=](execution& e) {
    forking_household& h = forked(work)(e);
    e.finally([&h, expected, guards] {
      check(end_of_parent(h) == expected, "the parent has this end");
      check(h.guards == guards, "every frame was destroyed once");
      check(h.s.unhandled == 0, "no exception is nobody's");
    });
  };
}

TEST(fork_model, two_children_that_end) {
  expect_holds_everywhere("fork_two", ends_with(3, 2, [](forking_household& all) -> task<int> {
                            const auto one = [](forking_household& h) -> task<int> {
                              const guard here(&h.guards);
                              co_return 1;
                            };
                            const auto two = [](forking_household& h) -> task<int> {
                              const guard here(&h.guards);
                              co_return 2;
                            };
                            return [](forking_household& h, auto first, auto second) -> task<int> {
                              const auto [a, b] = co_await when_all(first(h), second(h));
                              co_return a + b;
                            }(all, one, two);
                          }));
}

/// A pair of children that end.
task<int> pair_of(forking_household& h) {
  co_await when_all(ends(h), ends(h));
  co_return 1;
}

TEST(fork_model, a_fork_inside_of_a_fork) {
  expect_holds_everywhere("fork_nested",
                          ends_with(1,
                                    5,
                                    [](forking_household& all) -> task<int> {
                                      return [](forking_household& h) -> task<int> {
                                        const auto [a, b, c] =
                                            co_await when_all(pair_of(h), ends(h), pair_of(h));
                                        co_return a* c;
                                      }(all);
                                    }),
                          1);
}

// It suspends in its parent's place, so it becomes a task; the parent waits; its sibling runs.
TEST(fork_model, the_first_child_suspends) {
  expect_holds_everywhere(
      "fork_suspends",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          return [](forking_household& w) -> task<int> {
            co_await when_all(ends_later(w), ends(w));
            co_return 1;
          }(all);
        })(e);
        e.thread("event", [&h] { h.event.fire(); });
        e.finally([&h] {
          check(end_of_parent(h) == 1, "done");
          check(h.guards == 2, "every frame was destroyed once");
          check(h.s.ended >= 2, "who suspends is a task");
        });
      },
      1);
}

// Two levels become tasks at once, while the siblings of both lie in the deque.
TEST(fork_model, a_child_of_a_child_suspends) {
  expect_holds_everywhere(
      "fork_deep",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          struct inner {
            static task<void> forks(forking_household& w) { co_await when_all(ends_later(w), ends(w)); }
            static task<int> outer(forking_household& w) {
              co_await when_all(forks(w), ends(w));
              co_return 1;
            }
          };
          return inner::outer(all);
        })(e);
        e.thread("event", [&h] { h.event.fire(); });
        e.finally([&h] {
          check(end_of_parent(h) == 1, "done");
          check(h.guards == 3, "every frame was destroyed once");
          check(h.s.ended >= 3, "both that stood around the suspension are tasks");
        });
      },
      1);
}

// The failure comes in place, while a thief may have the sibling, or be about to make it a task.
TEST(fork_model, the_first_child_fails) {
  expect_holds_everywhere("fork_fails_first", [](execution& e) {
    auto& h = forked([](forking_household& all) -> task<int> {
      return [](forking_household& w) -> task<int> {
        co_await when_all(fails(w), ends_later(w));
        co_return 1;
      }(all);
    })(e);
    e.finally([&h] {
      check(end_of_parent(h) == 7, "the failure");
      check(h.guards >= 1 && h.guards <= 2, "who never ran has no guard");
      check(h.s.unhandled == 0, "it was seen");
    });
  });
}

// The failure is a thief's; the first child waits for something that never comes: it must hear of it, also in the moment in
// which it becomes a task.
TEST(fork_model, the_last_child_fails) {
  expect_holds_everywhere("fork_fails_last", [](execution& e) {
    auto& h = forked([](forking_household& all) -> task<int> {
      return [](forking_household& w) -> task<int> {
        co_await when_all(ends_later(w), fails(w));
        co_return 1;
      }(all);
    })(e);
    e.finally([&h] {
      check(end_of_parent(h) == 7, "the failure");
      check(h.guards == 2, "both frames");
    });
  });
}

// A thief's child fails while the other one forks in place: its descendants are told at a fork, and those that wait are cancelled.
TEST(fork_model, a_failure_reaches_what_is_deep_in_place) {
  expect_holds_everywhere(
      "fork_fails_deep",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          struct inner {
            static task<void> forks(forking_household& w) {
              co_await when_all(ends(w), ends(w));
              co_await when_all(ends_later(w), ends(w));
            }
            static task<int> outer(forking_household& w) {
              co_await when_all(forks(w), fails(w));
              co_return 1;
            }
          };
          return inner::outer(all);
        })(e);
        e.finally([&h] {
          check(end_of_parent(h) == 7, "the failure");
          check(h.s.unhandled == 0, "it was seen");
        });
      },
      1);
}

TEST(fork_model, whoever_waits_is_cancelled) {
  expect_holds_everywhere(
      "fork_cancelled",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          return [](forking_household& w) -> task<int> {
            co_await when_all(ends(w), ends_later(w));
            co_return 1;
          }(all);
        })(e);
        e.thread("canceller", [&h] { h.parent->cancel(); });
        e.finally([&h] { check(end_of_parent(h) == -1, "cancelled"); });
      },
      1);
}

// Cancelled while everything is in place: the next fork is where it hears of it.
TEST(fork_model, a_fork_in_place_hears_of_a_cancellation) {
  expect_holds_everywhere(
      "fork_called",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          struct inner {
            static task<void> forks(forking_household& w) { co_await when_all(ends(w), ends(w)); }
            static task<int> outer(forking_household& w) {
              co_await when_all(forks(w), forks(w));
              co_return 1;
            }
          };
          return inner::outer(all);
        })(e);
        e.thread("canceller", [&h] { h.parent->cancel(); });
        e.finally([&h] {
          const int end = end_of_parent(h);
          check(end == 1 || end == -1, "done, or cancelled");
        });
      },
      1);
}

TEST(fork_model, settled_goes_on_after_a_failure) {
  expect_holds_everywhere("fork_settled", ends_with(1, 3, [](forking_household& all) -> task<int> {
                            return [](forking_household& w) -> task<int> {
                              const auto [a, b, c] = co_await when_all_settled(ends(w), fails(w), ends(w));
                              check(a.has_value() && b.has_exception() && c.has_value(), "as they ended");
                              co_return 1;
                            }(all);
                          }));
}

task<int> number(forking_household& h, int n) {
  const guard here(&h.guards);
  co_return n;
}

task<int> sum_of_seven(forking_household& h) {
  std::vector<task<int>> numbers;
  for (int n = 1; n <= 7; ++n) numbers.push_back(number(h, n));
  int sum = 0;
  const std::vector<int> values = co_await when_all(std::move(numbers));
  for (const int n : values) sum += n;
  co_return sum;
}

// A deque holds four here: the others are tasks at once.
TEST(fork_model, a_range_that_finds_no_room) {
  expect_holds_everywhere(
      "fork_range", ends_with(28, 7, [](forking_household& all) { return sum_of_seven(all); }), 1);
}

// The same in place: its parent must not go on before what is stolen of it has ended.
TEST(fork_model, a_range_in_place) {
  expect_holds_everywhere("fork_range_in_place",
                          ends_with(29,
                                    8,
                                    [](forking_household& all) -> task<int> {
                                      return [](forking_household& w) -> task<int> {
                                        const auto [sum, one] =
                                            co_await when_all(sum_of_seven(w), number(w, 1));
                                        co_return sum + one;
                                      }(all);
                                    }),
                          1);
}

task<int> number_when_told(forking_household& h, int n) {
  const guard here(&h.guards);
  if (n == 2) co_await h.event();
  co_return n;
}

// The second child becomes a task while the next ones lie in the deque, and the last ones are tasks already.
TEST(fork_model, a_range_whose_second_child_suspends) {
  expect_holds_everywhere(
      "fork_range_suspends",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          return [](forking_household& w) -> task<int> {
            std::vector<task<int>> numbers;
            for (int n = 1; n <= 6; ++n) numbers.push_back(number_when_told(w, n));
            int sum = 0;
            const std::vector<int> values = co_await when_all(std::move(numbers));
            for (const int n : values) sum += n;
            co_return sum;
          }(all);
        })(e);
        e.thread("event", [&h] { h.event.fire(); });
        e.finally([&h] {
          check(end_of_parent(h) == 21, "all of them");
          check(h.guards == 6, "every frame was destroyed once");
        });
      },
      1);
}

/// A parameter whose destructor asks for the task.
struct asks {
  explicit asks(forking_household& h) noexcept : of(&h) {}
  asks(const asks&) = delete;
  asks& operator=(const asks&) = delete;
  asks(asks&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
  asks& operator=(asks&&) = delete;
  ~asks() {
    if (of != nullptr && this_task::id() != task_id{}) ++of->promoted;
  }
  forking_household* of;
};

task<int> with_parameter(forking_household& h, asks /*parameter*/) {
  const guard here(&h.guards);
  co_return 1;
}

// Children that become tasks when they are over, by what their parameters' destructors ask for.
TEST(fork_model, a_child_becomes_a_task_at_its_end) {
  expect_holds_everywhere(
      "fork_parameters",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          struct inner {
            static task<int> forks(forking_household& w) {
              const auto [a, b] = co_await when_all(with_parameter(w, asks(w)), with_parameter(w, asks(w)));
              co_return a + b;
            }
            static task<int> outer(forking_household& w) {
              const auto [a, b] = co_await when_all(forks(w), number(w, 1));
              co_return a + b;
            }
          };
          return inner::outer(all);
        })(e);
        e.finally([&h] {
          check(end_of_parent(h) == 3, "the sum");
          check(h.guards == 3, "every frame was destroyed once");
          check(h.promoted == 2, "each parameter found a task");
        });
      },
      1);
}

task<int> fails_with_parameter(forking_household& h, asks /*parameter*/) {
  const guard here(&h.guards);
  throw 7;
  co_return 1;
}

TEST(fork_model, a_child_that_fails_becomes_a_task_at_its_end) {
  expect_holds_everywhere(
      "fork_parameters_fail",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          return [](forking_household& w) -> task<int> {
            co_await when_all(fails_with_parameter(w, asks(w)), ends_later(w));
            co_return 1;
          }(all);
        })(e);
        e.finally([&h] {
          check(end_of_parent(h) == 7, "the failure");
          check(h.promoted == 1, "its parameter found a task");
          check(h.s.unhandled == 0, "it was seen");
        });
      },
      1);
}

// A task that is awaited, and run, by another one on the same thread forks, and its child becomes a task: who awaits goes on.
TEST(fork_model, a_fork_in_a_task_that_is_run_by_whoever_awaits_it) {
  expect_holds_everywhere(
      "fork_awaited",
      [](execution& e) {
        auto& h = forked([](forking_household& all) -> task<int> {
          struct inner {
            static task<int> forks(forking_household& w) {
              co_await when_all(ends_later(w), ends(w));
              co_return 1;
            }
            static task<int> outer(forking_household& w) {
              auto child = w.s.spawn(forks(w));
              co_return co_await child;
            }
          };
          return inner::outer(all);
        })(e);
        e.thread("event", [&h] { h.event.fire(); });
        e.finally([&h] {
          check(end_of_parent(h) == 1, "done");
          check(h.guards == 2, "every frame was destroyed once");
        });
      },
      1);
}

TEST(fork_model, nested_forks_with_exchanges_at_random) {
  const auto body = [](execution& e) {
    auto& h = forked(
        [](forking_household& all) -> task<int> {
          return [](forking_household& w) -> task<int> {
            const auto [a, b, c] = co_await when_all(pair_of(w), pair_of(w), pair_of(w));
            co_return a + b + c;
          }(all);
        },
        queue::pop_barrier::exchange)(e);
    e.finally([&h] {
      check(end_of_parent(h) == 3, "all of them");
      check(h.guards == 6, "every frame was destroyed once");
    });
  };
  expect_holds(at_random("fork_exchange"), body);
  expect_holds(by_priority("fork_exchange pct"), body);
}

}  // namespace
}  // namespace rota::model
