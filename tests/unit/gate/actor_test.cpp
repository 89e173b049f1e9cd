// Actors: tell and ask, and where their failures are reported.
#include "door.hpp"

#include <rota/error.hpp>
#include <rota/gate/actor.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::actor_test {
namespace {

using namespace std::chrono_literals;

struct account {
  int balance = 0;
};
account poor() { return {}; }

template <class F>
void expect_error(errc expected, F&& call) {
  try {
    call();
    ADD_FAILURE() << "it throws";
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), expected) << thrown.what();
  }
}

TEST(actors, run_functions_given_by_tell_and_call) {
  executor threads(2);
  actor<account> savings(threads, poor);
  EXPECT_EQ(savings.tell([](account& it) { it.balance += 5; }), send_status::sent);
  EXPECT_EQ(savings.try_tell([](account& it) { it.balance += 5; }), send_status::sent);
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 10);
  savings.call([](account& it) { it.balance = 7; });
  const auto text = savings.call([](account& it) { return std::make_unique<int>(it.balance); });
  EXPECT_EQ(*text, 7);
  savings.drain();
  EXPECT_EQ(savings.stats().served, 5U);
}

TEST(actors, answer_the_asks_of_tasks) {
  executor threads(1);
  runtime tasks({.workers = 2});
  actor<account> savings(threads, poor);
  const auto deposits = [ref = savings.ref()](int count) -> task<int> {
    int last = 0;
    for (int i = 0; i < count; ++i) {
      last = co_await ref.ask([](account& it) { return ++it.balance; });
    }
    co_return last;
  };
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 4; ++i) all.push_back(tasks.spawn(deposits, 250));
  int highest = 0;
  for (auto& each : all) highest = std::max(highest, each.join());
  EXPECT_EQ(highest, 1000);
}

TEST(actors, rethrow_an_exception_of_call_or_ask_in_the_caller) {
  executor threads(1);
  actor<account> savings(threads, poor);
  EXPECT_THROW(savings.call([](account&) -> int { throw std::runtime_error("no"); }), std::runtime_error);
  runtime tasks({.workers = 1});
  EXPECT_THROW(tasks.block_on(savings.ask([](account&) -> int { throw std::runtime_error("no"); })),
               std::runtime_error);
  EXPECT_EQ(savings.stats().failed, 0U);
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 0);
}

TEST(actors, run_coroutine_functions_one_at_a_time) {
  runtime tasks({.workers = 2});
  executor on_tasks(tasks, 1);
  struct door_keeper {
    int inside = 0;
    int passed = 0;
  };
  actor<door_keeper> keeper(on_tasks, [] { return door_keeper{}; });
  const auto passes = [](door_keeper& it) -> task<int> {
    EXPECT_EQ(++it.inside, 1);
    co_await yield();
    --it.inside;
    co_return ++it.passed;
  };
  const auto enters = [ref = keeper.ref(), passes]() -> task<> {
    for (int i = 0; i < 50; ++i) {
      static_cast<void>(co_await ref.ask(passes));
      static_cast<void>(
          ref.tell([passes](door_keeper& it) -> task<void> { static_cast<void>(co_await passes(it)); }));
    }
  };
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 3; ++i) all.push_back(tasks.spawn(enters));
  for (auto& each : all) each.join();
  EXPECT_EQ(keeper.call([](door_keeper& it) { return it.passed; }), 300);
}

TEST(actors, do_not_run_a_queued_ask_that_has_timed_out) {
  executor threads(1);
  runtime tasks({.workers = 1});
  actor<account> savings(threads, poor);
  door busy;
  EXPECT_EQ(savings.tell([&busy](account&) { busy.pass(); }), send_status::sent);
  busy.wait_for_somebody();
  const auto asks = [&]() -> task<bool> {
    auto limited = timeout(1ms, savings.ask([](account& it) { return it.balance = -1; }));
    const auto reply = co_await limited;
    co_return reply.has_value();
  };
  EXPECT_FALSE(tasks.block_on(asks));
  busy.open();
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 0) << "the function was not called";
}

TEST(actors, cancel_the_running_function_of_an_ask_that_times_out) {
  runtime tasks({.workers = 2});
  executor on_tasks(tasks, 1);
  actor<account> savings(on_tasks, poor);
  std::atomic<bool> begun{false};
  const auto asks = [&]() -> task<bool> {
    int local = 0;
    const auto waits = [&](account& it) -> task<int> {
      struct last {
        int& there;
        account& balance;
        ~last() { balance.balance += ++there; }
      } const mine{local, it};
      begun = true;
      co_await sleep_for(std::chrono::hours::max());
      co_return 1;
    };
    auto limited = timeout(1ms, savings.ask(waits));
    const auto reply = co_await limited;
    EXPECT_EQ(local, begun ? 1 : 0) << "what it referred to was still there";
    co_return reply.has_value();
  };
  EXPECT_FALSE(tasks.spawn(asks).join());
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), begun ? 1 : 0);
  EXPECT_EQ(savings.stats().failed, 0U);
}

TEST(actors, fail_pending_calls_with_closed_when_destroyed) {
  executor threads(1);
  runtime tasks({.workers = 1});
  std::optional<actor<account>> savings;
  savings.emplace(threads, poor);
  const auto ref = savings->ref();
  savings->pause();
  const auto asks = [ref]() -> task<int> {
    co_return co_await ref.ask([](account& it) { return it.balance; });
  };
  auto waiting = tasks.spawn(asks);
  std::jthread caller([ref] { expect_error(errc::closed, [&ref] { ref.call([](account&) {}); }); });
  while (savings->stats().depth < 2) std::this_thread::yield();
  savings.reset();
  expect_error(errc::closed, [&waiting] { waiting.join(); });
  caller.join();
  EXPECT_EQ(ref.tell([](account&) {}), send_status::closed);
  expect_error(errc::closed, [&ref] { ref.call([](account&) {}); });
}

TEST(actors, report_full_when_the_mailbox_is_full) {
  executor threads(1);
  actor<account> savings(threads, poor, {.capacity = 1});
  savings.pause();
  EXPECT_EQ(savings.tell([](account&) {}), send_status::sent);
  EXPECT_EQ(savings.tell([](account&) {}), send_status::full);
  expect_error(errc::queue_full, [&savings] { savings.call([](account&) {}); });
  runtime tasks({.workers = 1});
  expect_error(errc::queue_full, [&] { tasks.block_on(savings.ask([](account&) {})); });
}

TEST(actors, apply_backpressure_to_tasks_that_ask) {
  executor threads(1);
  runtime tasks({.workers = 2});
  actor<account> savings(threads, poor, {.capacity = 2, .on_full = overflow::wait});
  const auto asks = [ref = savings.ref()]() -> task<> {
    for (int i = 0; i < 100; ++i) {
      co_await ref.ask([](account& it) { ++it.balance; });
      const send_status how = co_await ref.async_tell([](account& it) { ++it.balance; });
      EXPECT_EQ(how, send_status::sent);
    }
  };
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 8; ++i) all.push_back(tasks.spawn(asks));
  for (auto& each : all) each.join();
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 1600);
}

TEST(actors, report_would_deadlock_when_they_call_themselves) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  actor<account> savings(on_tasks, poor);
  std::atomic<int> refused{0};
  const auto asks_itself = [ref = savings.ref(), &refused](account&) -> task<void> {
    try {
      co_await ref.ask([](account&) {});
    } catch (const error& thrown) {
      if (thrown.code() == errc::would_deadlock) ++refused;
    }
  };
  EXPECT_EQ(savings.tell(asks_itself), send_status::sent);
  savings.call(asks_itself);
  EXPECT_EQ(savings.tell([ref = savings.ref(), &refused](account&) {
    expect_error(errc::would_deadlock, [&ref] { ref.call([](account&) {}); });
    ++refused;
  }),
            send_status::sent);
  savings.drain();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(savings.stats().failed, 0U);
}

TEST(actors, need_a_runtime_for_functions_that_wait) {
  executor threads(1);
  actor<account> savings(threads, poor);
  EXPECT_THROW(static_cast<void>(savings.tell([](account&) -> task<void> { co_return; })),
               std::invalid_argument);
  EXPECT_THROW(savings.call([](account&) -> task<int> { co_return 1; }), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(actor_ref<account>().tell([](account&) {})), std::logic_error);
}

/// Counts the objects made. Each one has a number.
struct counted {
  explicit counted(std::atomic<int>& made) : all(&made), number(++made) {}
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() = default;
  std::atomic<int>* all;
  int number;
};

void fail(counted& it) { throw std::runtime_error(std::to_string(it.number)); }

std::string text_of(const std::exception_ptr& thrown) {
  try {
    if (thrown != nullptr) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

TEST(actors, are_restarted_after_a_failure_up_to_the_limit) {
  std::atomic<int> made{0};
  executor threads(1);
  actor<counted> a(threads,
                   [&made] { return counted(made); },
                   {.error_policy = on_error::restart, .restarts = {.limit = 2, .pause = 0ns}});
  EXPECT_EQ(a.call([](counted& it) { return it.number; }), 1);
  EXPECT_EQ(a.tell(fail), send_status::sent);
  EXPECT_EQ(a.call([](counted& it) { return it.number; }), 2);
  EXPECT_EQ(a.tell(fail), send_status::sent);
  EXPECT_EQ(a.call([](counted& it) { return it.number; }), 3);
  EXPECT_EQ(a.tell(fail), send_status::sent);
  a.join();
  EXPECT_EQ(text_of(a.error()), "3");
  EXPECT_EQ(a.stats().restarts, 2U);
  EXPECT_EQ(a.stats().failed, 3U);
  EXPECT_EQ(made, 3);
}

TEST(actors, pause_before_each_restart) {
  for (const bool on_a_runtime : {false, true}) {
    std::atomic<int> made{0};
    runtime tasks({.workers = 1});
    std::optional<executor> executor_for;
    if (on_a_runtime) {
      executor_for.emplace(tasks, 1);
    } else {
      executor_for.emplace(2U);
    }
    actor<counted> a(
        *executor_for,
        [&made] { return counted(made); },
        {.error_policy = on_error::restart, .restarts = {.limit = 100, .pause = 1us, .longest_pause = 2ms}});
    for (int i = 1; i <= 20; ++i) {
      EXPECT_EQ(a.tell(fail), send_status::sent);
      EXPECT_EQ(a.call([](counted& it) { return it.number; }), i + 1);
    }
    EXPECT_EQ(a.stats().restarts, 20U);
    EXPECT_EQ(executor_for->stats().restarts, 20U);
    // The actor is destroyed during its pause.
    EXPECT_EQ(a.tell(fail), send_status::sent);
  }
}

/// Each actor fails at its first message; their pauses differ, and some are destroyed meanwhile.
TEST(actors, restart_among_many_others_with_different_pauses) {
  executor threads(2U);
  std::atomic<int> made{0};
  std::vector<actor<counted>> all;
  for (int i = 0; i < 1000; ++i) {
    const auto pause = std::chrono::microseconds(1 + i * 7919 % 1000);
    all.emplace_back(
        threads,
        [&made] { return counted(made); },
        mailbox_options{.error_policy = on_error::restart,
                        .restarts = {.limit = 2, .pause = pause, .longest_pause = pause}});
  }
  for (actor<counted>& each : all) EXPECT_EQ(each.tell(fail), send_status::sent);
  for (std::size_t i = 0; i < all.size(); i += 3) all[i] = actor<counted>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 == 0) continue;
    EXPECT_GT(all[i].call([](const counted& it) { return it.number; }), 0);
    EXPECT_EQ(all[i].stats().restarts, 1U);
  }
}

TEST(actors, back_off_between_restarts_up_to_the_longest_pause) {
  testing::runtime tasks;
  executor on_tasks(tasks, 1);
  std::atomic<int> made{0};
  const restart_options four_a_day{.limit = 4, .within = 24h, .pause = 1h, .longest_pause = 3h};
  actor<counted> a(on_tasks,
                   [&made] { return counted(made); },
                   {.error_policy = on_error::restart, .restarts = four_a_day});
  const auto fails = [&]() -> task<std::chrono::hours> {
    const auto before = tasks.now();
    static_cast<void>(a.tell(fail));
    static_cast<void>(co_await a.ask([](counted& it) { return it.number; }));
    co_return std::chrono::duration_cast<std::chrono::hours>(tasks.now() - before);
  };
  EXPECT_EQ(tasks.block_on(fails), 1h);
  EXPECT_EQ(tasks.block_on(fails), 2h);
  EXPECT_EQ(tasks.block_on(fails), 3h);
  EXPECT_EQ(tasks.block_on(fails), 3h);
  tasks.advance(15h);
  EXPECT_EQ(tasks.block_on(fails), 3h) << "the first was a day ago";
  tasks.advance(24h);
  for (int i = 0; i < 4; ++i) EXPECT_LE(tasks.block_on(fails), 3h);
  static_cast<void>(a.tell(fail));
  a.join();
  EXPECT_EQ(a.stats().restarts, 9U);
  EXPECT_EQ(text_of(a.error()), "10");
}

TEST(actors, report_the_error_of_a_factory_that_throws) {
  executor threads(1);
  EXPECT_THROW(actor<account>(threads, []() -> account { throw std::runtime_error("never"); }),
               std::runtime_error);
  int made = 0;
  const auto sometimes = [&made] {
    if (++made > 1) throw std::runtime_error("no more of them");
    return account{};
  };
  actor<account> a(
      threads, sometimes, {.error_policy = on_error::restart, .restarts = {.limit = 3, .pause = 0ns}});
  EXPECT_EQ(a.tell([](account&) { throw std::runtime_error("the first"); }), send_status::sent);
  a.join();
  EXPECT_EQ(text_of(a.error()), "no more of them");
  EXPECT_EQ(made, 4) << "three restarts";
}

TEST(actors, escalate_failures_to_their_supervisor) {
  std::atomic<int> made{0};
  executor threads(2);
  actor<counted> above(threads,
                       [&made] { return counted(made); },
                       {.error_policy = on_error::restart, .restarts = {.limit = 1, .pause = 0ns}});
  {
    actor<account> below(threads, poor, {}, above.ref().supervisor());
    EXPECT_EQ(below.tell([](account&) { throw std::runtime_error("from below"); }), send_status::sent);
    below.join();
    EXPECT_EQ(text_of(below.error()), "from below");
  }
  above.drain();
  EXPECT_EQ(above.stats().restarts, 1U);
  EXPECT_EQ(above.call([](counted& it) { return it.number; }), 2);
  {
    actor<account> below(threads, poor, {}, above.ref().supervisor());
    EXPECT_EQ(below.tell([](account&) { throw std::runtime_error("again"); }), send_status::sent);
    below.join();
  }
  above.join();
  EXPECT_EQ(text_of(above.error()), "again");
  // The supervisor has ended.
  actor<account> below(threads, poor, {}, above.ref().supervisor());
  EXPECT_EQ(below.tell([](account&) { throw std::runtime_error("alone"); }), send_status::sent);
  below.join();
}

TEST(actors, escalate_failures_to_a_supervisor_whose_mailbox_is_full) {
  executor threads(1);
  actor<account> above(threads, poor, {.capacity = 1});
  above.pause();
  EXPECT_EQ(above.tell([](account& it) { it.balance = 1; }), send_status::sent);
  actor<account> below(threads, poor, {}, above.ref().supervisor());
  EXPECT_EQ(below.tell([](account&) { throw std::runtime_error("it is full"); }), send_status::sent);
  below.join();
  EXPECT_EQ(above.stats().depth, 2U);
  above.resume();
  above.join();
  EXPECT_EQ(text_of(above.error()), "it is full");
  EXPECT_EQ(above.stats().served, 2U);
}

TEST(actors, recreate_their_child_actors_when_restarted) {
  executor threads(2);
  struct parent {
    actor<account> child;
  };
  std::optional<supervisor> up;
  std::atomic<int> made{0};
  const auto make = [&] {
    ++made;
    parent p;
    if (up.has_value()) p.child = actor<account>(threads, poor, {}, *up);
    return p;
  };
  actor<parent> top(
      threads, make, {.error_policy = on_error::restart, .restarts = {.limit = 2, .pause = 0ns}});
  const auto child_of = [](parent& it) { return it.child ? it.child.ref() : actor_ref<account>(); };
  EXPECT_FALSE(top.call(child_of));
  up = top.ref().supervisor();
  EXPECT_EQ(top.tell([](parent&) { throw std::runtime_error("it has no child yet"); }), send_status::sent);
  const auto first = top.call(child_of);
  EXPECT_EQ(first.tell([](account&) { throw std::runtime_error("the child fails"); }), send_status::sent);
  while (made < 3) std::this_thread::yield();
  const auto second = top.call(child_of);
  EXPECT_NE(first, second);
  EXPECT_EQ(second.call([](account& it) { return it.balance; }), 0);
  top.close();
  top.join();
  up.reset();
}

TEST(actors, destroy_the_function_before_the_caller_resumes) {
  executor threads(1);
  runtime tasks({.workers = 2});
  executor on_tasks(tasks, 1);
  actor<account> plain(threads, poor);
  actor<account> waiting(on_tasks, poor);
  const auto kept = std::make_shared<int>(1);
  for (int i = 0; i < 2000; ++i) {
    plain.call([kept](account&) {});
    ASSERT_EQ(kept.use_count(), 1);
    waiting.call([kept](account&) -> task<void> { co_await yield(); });
    ASSERT_EQ(kept.use_count(), 1);
  }
  plain.pause();
  EXPECT_FALSE(plain.call_for(0ms, [kept](account&) { return *kept; }).has_value());
  EXPECT_EQ(kept.use_count(), 1) << "it was taken back, and is gone";
}

TEST(actors, give_up_a_call_at_its_time_limit) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  actor<account> savings(on_tasks, poor);
  EXPECT_EQ(savings.call_for(1h, [](account& it) { return it.balance; }), 0);
  EXPECT_TRUE(savings.call_for(1h, [](account&) {}).has_value());
  std::atomic<int> ended{0};
  const auto waits = [&ended](account&) -> task<int> {
    struct last {
      std::atomic<int>* ended;
      ~last() { ++*ended; }
    } const mine{&ended};
    co_await sleep_for(std::chrono::hours::max());
    co_return 1;
  };
  const auto late = savings.call_for(20ms, waits);
  EXPECT_FALSE(late.has_value());
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 0) << "the actor goes on";
}

TEST(actors, give_up_a_call_at_its_time_limit_on_a_testing_runtime) {
  testing::runtime tasks;
  executor on_tasks(tasks, 1);
  actor<account> savings(on_tasks, poor);
  const auto in_an_hour = [](account& it) -> task<int> {
    co_await sleep_for(1h);
    co_return it.balance + 1;
  };
  EXPECT_EQ(savings.call_for(2h, in_an_hour), 1);
  EXPECT_FALSE(savings.call_for(1min, in_an_hour).has_value());
  EXPECT_LT(tasks.now(), testing::runtime::beginning + 2h);
}

TEST(actors, throw_from_call_for_when_a_shutdown_cancels_the_function) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  actor<account> savings(on_tasks, poor);
  std::promise<void> begun;
  const auto waits = [&begun](account&) -> task<int> {
    begun.set_value();
    co_await sleep_for(std::chrono::hours::max());
    co_return 1;
  };
  std::thread stops([&] {
    begun.get_future().wait();
    tasks.shutdown(0s);
  });
  EXPECT_THROW(static_cast<void>(savings.call_for(24h, waits)), error);
  stops.join();
}

TEST(actors, refuse_the_drop_oldest_policy) {
  executor threads(1);
  EXPECT_THROW(actor<account>(threads, poor, {.capacity = 1, .on_full = overflow::drop_oldest}),
               std::invalid_argument);
}

TEST(actors, release_their_factory_when_they_have_ended) {
  const auto kept = std::make_shared<int>(1);
  actor_ref<account> late;
  address<int> late_too;
  {
    executor threads(1);
    actor<account> above(threads, poor);
    actor<account> savings(threads, [kept] { return account{*kept}; }, {}, above.ref().supervisor());
    late = savings.ref();
    auto box = threads.make_mailbox<int>(made_by{[kept] { return [kept](int) {}; }},
                                         {.error_policy = on_error::restart});
    late_too = box.address();
    EXPECT_GT(kept.use_count(), 3);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(actors, leave_no_task_when_destroyed_during_a_restart_pause) {
  testing::runtime tasks;
  const auto kept = std::make_shared<int>(1);
  {
    executor on_tasks(tasks, 1);
    actor<account> fails(
        on_tasks,
        [kept] { return account{*kept}; },
        {.error_policy = on_error::restart, .restarts = {.pause = 24h, .longest_pause = 24h}});
    EXPECT_EQ(fails.tell([](account&) { throw std::runtime_error("it fails"); }), send_status::sent);
    static_cast<void>(tasks.run_until_stalled());
    EXPECT_EQ(fails.stats().restarts, 1U);
  }
  EXPECT_EQ(kept.use_count(), 1);
  static_cast<void>(tasks.run_until_stalled());
  EXPECT_EQ(tasks.alive_tasks(), 0U);
}

TEST(mailboxes, restart_a_handler_that_throws) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>(made_by{[&seen] {
                                         return [&seen, count = 0](int value) mutable {
                                           if (value < 0) throw std::runtime_error("less than nothing");
                                           seen.push_back(value + 100 * count++);
                                         };
                                       }},
                                       {.error_policy = on_error::restart, .restarts = {.pause = 1us}});
  for (const int value : {1, 2, -1, 3, 4}) EXPECT_EQ(box.send(value), send_status::sent);
  box.drain();
  EXPECT_EQ(seen, (std::vector<int>{1, 102, 3, 104}));
  EXPECT_EQ(box.stats().restarts, 1U);
}

TEST(mailboxes, refuse_restarts_out_of_range) {
  executor threads(1);
  const auto refused = [&threads](const restart_options& how) {
    try {
      auto box = threads.make_mailbox<int>(made_by{[] { return [](int) {}; }},
                                           {.error_policy = on_error::restart, .restarts = how});
      return std::string("nothing");
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
  };
  EXPECT_NE(refused({.limit = 0}).find("restart_options::limit is 0"), std::string::npos);
  EXPECT_NE(refused({.limit = 1025}).find("1 to 1024"), std::string::npos);
  EXPECT_NE(refused({.within = 0s}).find("restart_options::within"), std::string::npos);
  EXPECT_NE(refused({.pause = -1ns}).find("restart_options::pause"), std::string::npos);
  EXPECT_NE(refused({.longest_pause = 25h}).find("restart_options::longest_pause"), std::string::npos);
  auto handler = [kept = std::make_unique<int>(1)](int) { static_cast<void>(*kept); };
  try {
    auto box = threads.make_mailbox<int>(std::move(handler), {.error_policy = on_error::restart});
    FAIL() << "it is made once";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("made_by"), std::string::npos) << e.what();
  }
}

TEST(mailboxes, measure_the_wait_of_some_visits) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  // The wait is measured in one of 64 visits; a visit may serve several messages.
  while (box.stats().visits < 200) {
    EXPECT_EQ(box.send(1), send_status::sent);
    box.drain();
  }
  const mailbox_stats stats = box.stats();
  EXPECT_GE(stats.waits, 2U);
  EXPECT_LE(stats.waits, stats.visits);
  EXPECT_GT(stats.waited.count(), 0);
  EXPECT_GE(stats.waited, stats.longest_wait);
  EXPECT_GT(stats.longest_wait.count(), 0);
}

TEST(mailboxes, accept_handlers_that_cannot_be_moved) {
  struct handler {
    handler() = default;
    handler(const handler&) = delete;
    handler& operator=(const handler&) = delete;
    ~handler() = default;
    void operator()(int value) { sum += value; }
    int sum = 0;
  };
  executor threads(1);
  auto box = threads.make_mailbox<int>(made_by{[] { return handler(); }});
  EXPECT_EQ(box.send(1), send_status::sent);
  box.drain();
  EXPECT_EQ(box.stats().served, 1U);
}

// About a thousand messages wait at each moment, and one is being handled.
TEST(mailboxes, report_how_many_messages_wait) {
  executor threads(1);
  address<int> itself;
  auto box = threads.make_mailbox<int>([&itself](int value) { static_cast<void>(itself.send(value)); });
  itself = box.address();
  box.pause();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(box.send(i), send_status::sent);
  box.resume();
  std::uint64_t least = 1000;
  std::uint64_t most = 1000;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t depth = box.stats().depth;
    least = std::min(least, depth);
    most = std::max(most, depth);
  }
  EXPECT_GT(least, 500U);
  EXPECT_LT(most, 1500U);
}

// The closure's type looks copyable.
TEST(mailboxes, may_have_handlers_that_cannot_be_copied) {
  executor threads(1);
  std::vector<std::unique_ptr<int>> kept;
  kept.push_back(std::make_unique<int>(0));
  int& sum = *kept.front();
  auto box = threads.make_mailbox<int>([kept = std::move(kept)](int value) { *kept.front() += value; });
  EXPECT_EQ(box.send(5), send_status::sent);
  box.drain();
  EXPECT_EQ(sum, 5);
}

}  // namespace
}  // namespace rota::gate::actor_test
