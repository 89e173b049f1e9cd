// The select: of cases that become ready together one is taken, by one, and the rest stays for others; also
// beside a cancellation, a close, and the end of an awaited task.
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rota::channel {
namespace {

using model::add_workers;
using model::at_random;
using model::canceller;
using model::exhaustive;
using model::expect_holds;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

/// Random choices: which case a thread tries first, and whether a task's turn is over at once.
template <class Body>
void expect_holds_for_each_order(const char* name, const Body& body, unsigned preemptions = 2) {
  testing::options o = exhaustive(name, preemptions);
  o.variations = 1;
  expect_holds(o, body);
  const std::string random = std::string(name) + " random";
  o = at_random(random);
  o.variations = 1;
  expect_holds(o, body);
}

/// Two channels with items that are bits of a set.
struct shared {
  explicit shared(std::uint64_t capacity = 1)
      : a(bounded<std::uint32_t>(capacity)), b(bounded<std::uint32_t>(capacity)) {}

  pair_of<sender<std::uint32_t>, receiver<std::uint32_t>> a;
  pair_of<sender<std::uint32_t>, receiver<std::uint32_t>> b;
  base::cell<int> before_a;
  base::cell<int> before_b;
  base::atomic<std::uint32_t> seen{0};
  model_scheduler s;

  void note(std::uint32_t item) {
    // relaxed. A set of the model's.
    check((seen.fetch_or(item, base::order::relaxed) & item) == 0, "each item comes once");
  }
  [[nodiscard]] std::uint32_t noted() const {
    // relaxed. A set of the model's.
    return seen.load(base::order::relaxed);
  }
  void send_to_a(std::uint32_t item) {
    before_a.set(1);
    check(a.sender.try_send(item) == send_status::sent, "there is room");
  }
  void send_to_b(std::uint32_t item) {
    before_b.set(1);
    check(b.sender.try_send(item) == send_status::sent, "there is room");
  }
  void drain() {
    if (const auto got = a.receiver.try_recv()) note(*got);
    if (const auto got = b.receiver.try_recv()) note(*got);
  }
  /// Before the scene begins, and after it.
  void run_all() {
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
};

/// Notes what a select got, and checks that what was done before the send is seen.
void note(shared& x, selected<std::optional<std::uint32_t>, std::optional<std::uint32_t>>& first) {
  check((first.index() == 0 ? x.before_a : x.before_b).get() == 1, "what was done before is seen");
  const std::optional<std::uint32_t> got = first.visit([](auto& item) { return item; });
  check(got.has_value(), "nobody closes it");
  x.note(*got);
}

task<void> takes_one(shared& x) {
  auto first = co_await select(x.a.receiver.recv(), x.b.receiver.recv());
  note(x, first);
}
/// And gives back what it got, for the next waiter.
task<void> passes_on(shared& x) {
  auto first = co_await select(x.a.receiver.recv(), x.b.receiver.recv());
  const std::uint32_t got = first.visit([](auto& item) { return *item; });
  check((first.index() == 0 ? x.a : x.b).sender.try_send(got) == send_status::sent, "there is room");
}

// ---- threads

TEST(select_model, a_thread_takes_one_of_two_items_and_leaves_the_other) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("selects", [&x] {
      auto first = blocking_select(x.a.receiver.recv(), x.b.receiver.recv());
      note(x, first);
    });
    e.thread("to a", [&x] { x.send_to_a(1); });
    e.thread("to b", [&x] { x.send_to_b(2); });
    e.finally([&x] {
      check(__builtin_popcount(x.noted()) == 1, "it has got one");
      x.drain();
      check(x.noted() == 3, "and the other is still there");
    });
  };
  expect_holds_for_each_order("select_thread", body);
}

// One wake: a thread that has read the word and misses the change would sleep for ever.
TEST(select_model, a_thread_that_is_woken_once_sees_what_has_changed) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("selects", [&x] {
      auto first = blocking_select(x.a.receiver.recv(), x.b.receiver.recv());
      note(x, first);
    });
    e.thread("to a", [&x] { x.send_to_a(1); });
  };
  testing::options o = exhaustive("select_told_once");
  o.stale_reads = 1;
  expect_holds(o, body);
}

TEST(select_model, a_wakeup_for_a_losing_case_of_a_thread_goes_to_the_next_waiter) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("selects", [&x] {
      auto first = blocking_select(x.a.receiver.recv(), x.b.receiver.recv());
      const std::uint32_t got = first.visit([](auto& item) { return *item; });
      check((first.index() == 0 ? x.a : x.b).sender.try_send(got) == send_status::sent, "there is room");
    });
    e.thread("behind", [&x] { check(x.b.receiver.blocking_recv() == 2U, "there is one for it"); });
    e.thread("sender", [&x] {
      x.send_to_a(1);
      x.send_to_b(2);
    });
  };
  expect_holds_for_each_order("select_thread_behind", body);
}

// A grant from before the timeout counts; no grant is lost.
TEST(select_model, a_blocking_select_that_times_out_takes_nothing) {
  struct scene {
    sync::semaphore permits{0};
    sync::semaphore others{0};
    base::atomic<int> got{0};
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("late", [&x] {
      const auto first = blocking_select_for(std::chrono::milliseconds(0),
                                             on(x.permits.acquire(), [](auto) { return 1; }),
                                             on(x.others.acquire(), [](auto) { return 2; }));
      // relaxed. A sum of the model's.
      x.got.fetch_add(first.value_or(0), base::order::relaxed);
    });
    e.thread("releases", [&x] { x.permits.release(); });
    e.thread("others", [&x] { x.others.release(); });
    e.finally([&x] {
      // relaxed. All have ended.
      const int won = x.got.load(base::order::relaxed);
      check(x.permits.available() == (won == 1 ? 0U : 1U), "it is used, or there");
      check(x.others.available() == (won == 2 ? 0U : 1U), "and so is the other");
    });
  };
  expect_holds_for_each_order("select_late", body);
}

// A try that does not wait is invisible to other threads.
TEST(select_model, try_select_takes_no_wakeup_from_a_waiter) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("waits", [&x] { check(x.a.receiver.blocking_recv() == 1U, "there is one for it"); });
    e.thread("looks", [&x] {
      const auto got = try_select(on(x.a.receiver.recv(), [](auto item) { return *item; }),
                                  on(x.b.receiver.recv(), [](auto item) { return *item; }));
      if (got.has_value()) check(x.a.sender.try_send(*got) == send_status::sent, "there is room");
    });
    e.thread("sender", [&x] { x.send_to_a(1); });
  };
  expect_holds_for_each_order("select_look", body);
}

// ---- tasks

TEST(select_model, of_two_items_one_is_taken_and_the_other_stays) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    auto& task = e.make<watched<void>>(x.s, takes_one(x));
    add_workers(e, x.s, 1);
    e.thread("to a", [&x] { x.send_to_a(1); });
    e.thread("to b", [&x] { x.send_to_b(2); });
    e.finally([&x, &task] {
      check(!task.was_cancelled() && __builtin_popcount(x.noted()) == 1, "it has got one");
      x.drain();
      check(x.noted() == 3, "and the other is still there");
    });
  };
  expect_holds_everywhere("select_two", body);
}

/// A select that waits in both, in front.
template <class Task>
struct waits_in_both : shared {
  explicit waits_in_both(Task work) : shared(2), first(s, work(*this)), of_first(first.header()) {
    run_all();
  }
  watched<void> first;
  canceller of_first;
};

// Both channels wake it before it has run: the waiter behind it gets the other item.
TEST(select_model, a_wakeup_for_a_losing_case_of_a_task_goes_to_the_next_waiter) {
  const auto body = [](execution& e) {
    auto& x = e.make<waits_in_both<task<void> (*)(shared&)>>(passes_on);
    add_workers(e, x.s, 1);
    e.thread("behind", [&x] { check(x.b.receiver.blocking_recv() == 2U, "there is one for it"); });
    e.thread("sender", [&x] {
      x.send_to_a(1);
      x.send_to_b(2);
    });
    e.finally([&x] {
      x.drain();
      check(x.noted() == 1, "the other is still there");
    });
  };
  expect_holds_everywhere("select_behind", body);
}

TEST(select_model, a_cancelled_select_takes_nothing_and_passes_its_wakeup_on) {
  const auto body = [](execution& e) {
    auto& x = e.make<waits_in_both<task<void> (*)(shared&)>>(passes_on);
    add_workers(e, x.s, 1);
    e.thread("behind", [&x] { check(x.b.receiver.blocking_recv() == 2U, "there is one for it"); });
    e.thread("sends and cancels", [&x] {
      const bool sends_first = testing::choose(2) == 0;
      if (sends_first) x.send_to_b(2);
      x.of_first.cancel();
      if (!sends_first) x.send_to_b(2);
    });
  };
  expect_holds_everywhere("select_cancel", body);
}

// Its turn may come to an end before any case has been tried.
TEST(select_model, a_select_that_is_cancelled_as_it_begins_takes_nothing) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    x.send_to_a(1);
    auto& task = e.make<watched<void>>(x.s, takes_one(x));
    auto& of_task = e.make<canceller>(task.header());
    add_workers(e, x.s, 1);
    e.thread("canceller", [&of_task] { of_task.cancel(); });
    e.finally([&x, &task] {
      const bool taken = x.noted() == 1;
      check(taken != task.was_cancelled(), "it has it, or was cancelled");
      x.drain();
      check(x.noted() == 1, "the item is not lost");
    });
  };
  expect_holds_for_each_order("select_untried", body, 3);
}

TEST(select_model, a_close_of_either_channel_ends_the_select) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    auto& ends = e.make<base::atomic<int>>(0);
    auto& task = e.make<watched<void>>(x.s, [](shared& of, base::atomic<int>& count) -> rota::task<void> {
      auto first = co_await select(of.a.receiver.recv(), of.b.receiver.recv());
      const std::optional<std::uint32_t> got = first.visit([](auto& item) { return item; });
      if (got.has_value()) {
        of.note(*got);
      } else {
        check((first.index() == 0 ? of.before_a : of.before_b).get() == 1,
              "what came before the close is seen");
        // relaxed. A count of the model's.
        count.fetch_add(1, base::order::relaxed);
      }
    }(x, ends));
    add_workers(e, x.s, 1);
    e.thread("closer", [&x] {
      x.before_a.set(1);
      x.a.sender.close();
    });
    e.thread("sender", [&x] { x.send_to_b(2); });
    e.finally([&x, &ends, &task] {
      check(!task.was_cancelled(), "nobody asked");
      x.drain();
      // relaxed. All have ended.
      check(x.noted() == 2 && ends.load(base::order::relaxed) <= 1, "the item is there");
    });
  };
  expect_holds_everywhere("select_close", body);
}

// A granted place, and a granted permit: the loser hands it to the next.
TEST(select_model, a_grant_to_a_losing_case_is_passed_on) {
  struct scene {
    sync::semaphore permits{0};
    sync::notify n;
    int won = -1;
    model_scheduler s;
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    auto& task = e.make<watched<void>>(x.s, [](scene& of) -> rota::task<void> {
      auto first = co_await select(of.permits.acquire(), of.n.wait());
      of.won = static_cast<int>(first.index());
    }(x));
    add_workers(e, x.s, 1);
    e.thread("releases", [&x] { x.permits.release(); });
    e.thread("notifies", [&x] { x.n.notify_one(); });
    e.finally([&x, &task] {
      check(!task.was_cancelled() && x.won >= 0, "one has won");
      check(x.permits.available() == (x.won == 0 ? 0U : 1U), "the permit is used, or there");
      check(x.n.try_wait() == (x.won == 0), "the call is used, or stored");
    });
  };
  expect_holds_everywhere("select_granted", body);
}

// A send and a receive: only the winner has put in, or taken out, an item.
TEST(select_model, a_send_that_loses_has_put_nothing_in) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    check(x.a.sender.try_send(8) == send_status::sent, "there is room");
    auto& task = e.make<watched<void>>(x.s, [](shared& of) -> rota::task<void> {
      auto first = co_await select(of.a.sender.send(1), of.b.receiver.recv());
      if (first.index() == 1) of.note(*first.get<1>());
    }(x));
    add_workers(e, x.s, 1);
    e.thread("makes room", [&x] { check(x.a.receiver.try_recv() == 8U, "it is there"); });
    e.thread("to b", [&x] { x.send_to_b(2); });
    e.finally([&x, &task] {
      check(!task.was_cancelled(), "nobody asked");
      const bool received = x.noted() == 2;
      const auto left = x.a.receiver.try_recv();
      check(left.has_value() != received, "it has sent, or received");
      x.drain();
      check(x.noted() == 2, "nothing is lost");
    });
  };
  expect_holds_everywhere("select_send", body);
}

// The end of a task, beside an item. The task goes on if it loses, and its handle is as it was.
TEST(select_model, a_task_that_loses_can_be_awaited_afterwards) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    auto& task = e.make<watched<void>>(x.s, [](shared& of) -> rota::task<void> {
      join_handle<std::uint32_t> child = of.s.spawn([]() -> rota::task<std::uint32_t> { co_return 4U; }());
      auto first = co_await select(child, of.a.receiver.recv());
      if (first.index() == 0) {
        of.note(first.get<0>());
      } else {
        of.note(*first.get<1>());
        const std::uint32_t value = co_await child;
        of.note(value);
      }
    }(x));
    add_workers(e, x.s, 2);
    e.thread("to a", [&x] { x.send_to_a(1); });
    e.finally([&x, &task] {
      check(!task.was_cancelled(), "nobody asked");
      x.drain();
      check(x.noted() == 5, "neither the item nor the task's value is lost");
    });
  };
  expect_holds_everywhere("select_join", body);
}

// A cancelled one waits for the ends of all of them.
TEST(select_model, a_cancelled_select_ends_after_the_tasks_that_it_awaits) {
  struct scene {
    model::model_event never;
    model::model_event nor_this;
    model_scheduler s;
  };
  struct last {
    const join_handle<void>* one;
    const join_handle<void>* two;
    ~last() { check(one->is_done() && two->is_done(), "the children have ended"); }
  };
  const auto body = [](execution& e, int workers) {
    auto& x = e.make<scene>();
    auto& task = e.make<watched<void>>(x.s, [](scene& of) -> rota::task<void> {
      const auto waits = [](model::model_event& what) -> rota::task<void> { co_await what(); };
      join_handle<void> one = of.s.spawn(waits(of.never));
      join_handle<void> two = of.s.spawn(waits(of.nor_this));
      const last mine{&one, &two};
      static_cast<void>(co_await select(one, two));
    }(x));
    auto& of_task = e.make<canceller>(task.header());
    add_workers(e, x.s, workers);
    e.thread("canceller", [&of_task] { of_task.cancel(); });
    e.finally([&task] { check(task.was_cancelled(), "nothing else ends it"); });
  };
  expect_holds_everywhere("select_children", [&body](execution& e) { body(e, 1); });
  // Two workers: the children may end while their parent asks for their ends.
  const auto with_two = [&body](execution& e) { body(e, 2); };
  expect_holds(exhaustive("select_children_two", 1), with_two);
  expect_holds(at_random("select_children_two random"), with_two);
}

}  // namespace
}  // namespace rota::channel
