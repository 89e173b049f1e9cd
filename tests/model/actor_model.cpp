// Actors: each asker gets one reply, or a refusal; askers that give up; handlers that rest and are remade.
#include "base/thread.hpp"
#include "gate/executor_core.hpp"
#include "model/whole.hpp"

#include <rota/gate/actor.hpp>
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rota::gate {
namespace {

using model::expect_holds;
using model::guest;
using model::one_worker;
using model::two_workers;
using model::whole;
using testing::check;
using testing::execution;

testing::options uniform(std::string_view name) {
  testing::options o = model::at_random(name, 3'000);
  o.steps = 100'000;
  return o;
}

void expect_whole(std::string_view name, std::string_view at_random, void (*body)(execution&)) {
  expect_holds(whole(name), body);
  expect_holds(uniform(at_random), body);
}

struct counter {
  int value = 0;
};
counter none() { return {}; }

/// The captures of a function: destroyed before the asker goes on.
class captured {
 public:
  explicit captured(base::cell<int>& there) noexcept : there_(&there) {}
  captured(captured&& other) noexcept : there_(std::exchange(other.there_, nullptr)) {}
  captured& operator=(captured&&) = delete;
  ~captured() {
    if (there_ != nullptr) there_->set(0);
  }

 private:
  base::cell<int>* there_;
};

/// A plain thread calls while the actor is destroyed.
struct caller {
  actor_ref<counter> to;
  int replies = 0;
  int refusals = 0;
  base::cell<int> mine{1};
  base::thread self{};

  void begin() {
    auto started =
        base::thread::start("caller", [](void* me) noexcept { static_cast<caller*>(me)->run(); }, this);
    check(started.has_value(), "a thread can be had");
    self = std::move(*started);
  }
  void run() noexcept {
    try {
      replies += to.call([c = captured(mine)](counter& it) { return ++it.value; });
    } catch (const error&) {
      ++refusals;
    }
    check(mine.get() == 0, "what it was called with is gone");
  }
};

TEST(actor_model, call_of_an_actor_that_is_destroyed_gets_a_reply_or_a_refusal) {
  expect_whole("actor_call", "actor_call_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      std::optional<actor<counter>> counts;
      counts.emplace(threads, none);
      caller c{.to = counts->ref()};
      c.begin();
      if (testing::choose(2) == 0) counts->close();
      counts.reset();
      c.self.join();
      check(c.replies + c.refusals == 1, "one of the two");
    });
  });
}

task<int> asks(actor_ref<counter> to, base::cell<int>& mine) {
  mine.set(1);
  const int reply = co_await to.ask([&mine](counter& it) {
    mine.set(mine.get() + 1);
    return ++it.value;
  });
  co_return reply;
}

/// The function writes to the asker's memory: it must not run when the asker has gone.
TEST(actor_model, ask_function_never_runs_after_its_cancelled_caller_has_ended) {
  expect_whole("actor_give_up", "actor_give_up_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      runtime rt(one_worker());
      actor<counter> counts(threads, none);
      base::cell<int> mine;
      auto asking = rt.spawn(asks(counts.ref(), mine));
      asking.cancel();
      int replied = 0;
      try {
        replied = asking.join();
      } catch (const cancelled_error&) {
        replied = 0;
      }
      const int seen = mine.get();
      check(replied == 0 || seen == 2, "a reply comes after the function");
      mine.set(0);
    });
  });
}

task<int> asks_who_waits(actor_ref<counter> to, base::cell<int>& mine) {
  const auto waits = [&mine](counter& it) -> task<int> {
    const guest here;
    mine.set(mine.get() + 1);
    co_await yield();
    co_await sleep_for(std::chrono::hours::max());
    co_return it.value;
  };
  co_return co_await to.ask(waits);
}

/// Only the end of the asker ends the function's task.
TEST(actor_model, cancelled_ask_ends_a_function_that_waits) {
  expect_whole("actor_stop", "actor_stop_uniform", [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      executor on_tasks(rt, 1);
      actor<counter> counts(on_tasks, none);
      base::cell<int> mine;
      auto asking = rt.spawn(asks_who_waits(counts.ref(), mine));
      asking.cancel();
      try {
        static_cast<void>(asking.join());
      } catch (const cancelled_error&) {
        mine.set(0);
      }
      check(counts.call([](counter& it) { return it.value; }) == 0, "the actor goes on");
    });
  });
}

TEST(actor_model, ask_throws_closed_when_the_actor_is_destroyed_before_it_replies) {
  expect_whole("actor_closed", "actor_closed_uniform", [](execution& e) {
    e.thread("root", [] {
      runtime rt(one_worker());
      executor on_tasks(rt, 1);
      std::optional<actor<counter>> counts;
      counts.emplace(on_tasks, none);
      base::cell<int> mine;
      auto asking = rt.spawn(asks_who_waits(counts->ref(), mine));
      counts.reset();
      bool refused = false;
      try {
        static_cast<void>(asking.join());
      } catch (const error& thrown) {
        refused = thrown.code() == errc::closed;
      }
      check(refused, "it hears that there will be no reply");
    });
  });
}

task<int> asks_with(actor_ref<counter> to, base::cell<int>& held) {
  auto reads = [c = captured(held)](counter& it) { return it.value; };
  co_return co_await to.ask(std::move(reads));
}

/// One of the two destroys the function.
TEST(actor_model, ask_cancelled_while_the_actor_is_destroyed_frees_its_function) {
  expect_whole("actor_both", "actor_both_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      runtime rt(one_worker());
      std::optional<actor<counter>> counts;
      counts.emplace(threads, none);
      counts->pause();
      base::cell<int> held{1};
      auto asking = rt.spawn(asks_with(counts->ref(), held));
      while (counts->stats().depth == 0) base::yield_thread();
      asking.cancel();
      counts.reset();
      try {
        static_cast<void>(asking.join());
      } catch (const error&) {
        check(held.get() == 0, "the function is gone");
      }
    });
  });
}

constexpr mailbox_options restarts{
    .error_policy = on_error::restart,
    .restarts = {.pause = std::chrono::milliseconds(1)},
    .on_unhandled = unhandled_policy::callback([](const unhandled_exception&) noexcept {})};

void fail(counter& it) {
  it.value = 5;
  throw std::runtime_error("it fails");
}

/// Two consumers: one learns that a handler rests, and is then delayed; the other sleeps without a deadline.
TEST(actor_model, failed_actor_restarts_while_a_consumer_is_busy) {
  expect_whole("actor_restart", "actor_restart_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(2);
      model::signal begun;
      model::signal served;
      actor<counter> fails(threads, none, restarts);
      auto blocks = threads.make_mailbox<int>([&served](int) { served.wait(); });
      // Both messages are queued before the handler fails: no message is sent while it rests.
      fails.pause();
      static_cast<void>(fails.tell([&begun](counter& it) {
        begun.raise();
        fail(it);
      }));
      static_cast<void>(fails.tell([&served](counter& it) {
        check(it.value == 0, "it is a new one");
        served.raise();
      }));
      fails.resume();
      begun.wait();
      static_cast<void>(blocks.send(1));
      served.wait();
      check(fails.stats().restarts == 1, "once");
    });
  });
}

/// Three consumers. The first one stores the deadline while the second one searches. Both are then held by
/// handlers that end after the pause. The third one sleeps without a deadline, until it is woken.
TEST(actor_model, sleeping_consumer_is_woken_for_a_restart_while_others_are_busy) {
  constexpr auto body = [](execution& e) {
    e.thread("root", [] {
      executor threads(3);
      model::signal served;
      const auto waits = [&served](int) { served.wait(); };
      actor<counter> fails(threads, none, restarts);
      auto one = threads.make_mailbox<int>(waits);
      auto two = threads.make_mailbox<int>(waits);
      fails.pause();
      static_cast<void>(fails.tell(fail));
      static_cast<void>(fails.tell([&served](counter&) { served.raise(); }));
      fails.resume();
      static_cast<void>(one.send(1));
      static_cast<void>(two.send(1));
      served.wait();
      check(fails.stats().restarts == 1, "once");
    });
  };
  expect_whole("actor_rest_unheard", "actor_rest_unheard_uniform", body);
}

/// Two consumers; both deadlines pass at one time: the second may be woken for what the first one finds.
TEST(actor_model, two_actors_restart_at_the_same_deadline) {
  expect_whole("actor_two_rest", "actor_two_rest_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(2);
      actor<counter> one(threads, none, restarts);
      actor<counter> two(threads, none, restarts);
      static_cast<void>(one.tell(fail));
      static_cast<void>(two.tell(fail));
      check(one.call([](counter& it) { return it.value; }) == 0, "it is a new one");
      check(two.call([](counter& it) { return it.value; }) == 0, "it is a new one");
    });
  });
}

TEST(actor_model, actor_may_be_closed_or_destroyed_during_its_restart_pause) {
  expect_whole("actor_rest_gone", "actor_rest_gone_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      for (int i = 0; i < 2; ++i) {
        actor<counter> fails(threads, none, restarts);
        static_cast<void>(fails.tell(fail));
        if (testing::choose(2) == 0) {
          fails.close();
          fails.join();
        }
      }
    });
  });
}

/// A question without an actor.
class answered final : public detail::reply<int> {
 public:
  std::optional<task<void>> run(detail::mailbox_core& /*box*/, void* /*state*/) final { return std::nullopt; }
  void answer() {
    if (!begin()) return;
    written_.set(1);
    finish();
  }
  [[nodiscard]] int written() const { return written_.get(); }

 private:
  void drop_function() noexcept final {}

  base::cell<int> written_{0};
};

/// It gives up, and finds that the reply has just arrived.
TEST(actor_model, ask_that_is_cancelled_too_late_sees_the_reply) {
  expect_holds(model::exhaustive("actor_too_late"), [](execution& e) {
    auto& question = e.make<answered>();
    e.thread("actor", [&question] { question.answer(); });
    e.thread("asker", [&question] {
      if (question.give_up() && !question.was_withdrawn())
        check(question.written() == 1, "the reply is there");
    });
  });
}

/// A sleeper sees what was done before it was called: the claim is counted.
TEST(actor_model, woken_consumer_sees_writes_made_before_the_wakeup) {
  expect_holds(model::exhaustive("actor_bed"), [](execution& e) {
    auto& bed = e.make<detail::bed>();
    auto& before = e.make<base::cell<int>>(0);
    e.thread("caller", [&] {
      before.set(1);
      bed.call();
    });
    e.thread("sleeper", [&] {
      static_cast<void>(bed.sleep());
      check(before.get() == 1, "what the caller did is seen");
    });
  });
}

/// Before the caller's wake the consumer may run for another reason, and sleep again.
TEST(actor_model, consumer_task_may_park_again_when_it_has_seen_its_wakeup) {
  expect_holds(model::exhaustive("actor_task_bed"), [](execution& e) {
    auto& bed = e.make<detail::task_bed>();
    bed.lie_down(noop_waker());
    e.thread("caller", [&] { bed.call(); });
    e.thread("consumer", [&] {
      if (!bed.was_called()) return;
      bed.answer();
      bed.lie_down(noop_waker());
    });
  });
}

TEST(actor_model, a_message_that_is_counted_as_served_has_been_handled) {
  expect_holds(model::exhaustive("actor_served"), [](execution& e) {
    auto& served = e.make<detail::served_counter>();
    auto& handled = e.make<base::cell<int>>(0);
    e.thread("round", [&] {
      handled.set(1);
      served.add(1);
    });
    e.thread("reader", [&] {
      if (served.read() == 1) check(handled.get() == 1, "what the handler did is seen");
    });
  });
}

/// The deadline passes while the function runs, or before, or after.
TEST(actor_model, call_for_returns_a_reply_or_times_out) {
  expect_whole("actor_call_for", "actor_call_for_uniform", [](execution& e) {
    e.thread("root", [] {
      executor threads(1);
      actor<counter> counts(threads, none);
      base::cell<int> mine{1};
      const auto end = counts.call_for(std::chrono::nanoseconds(0),
                                       [c = captured(mine)](counter& it) { return ++it.value; });
      check(!end.has_value() || *end == 1, "a reply, or none");
      check(mine.get() == 0, "what it was called with is gone");
    });
  });
}

}  // namespace
}  // namespace rota::gate
