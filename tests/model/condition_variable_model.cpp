// The condition variable: no lost wakeup, every wait ends with the mutex, a woken waiter may destroy both.
#include "model/waiting.hpp"

#include <rota/sync/condition_variable.hpp>

#include <string>

namespace rota::sync {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

struct shared {
  on_heap<mutex> m;
  on_heap<condition_variable> c;
  base::cell<int> items;  // under the mutex
  base::cell<int> taken;  // under the mutex
  model_scheduler s;

  [[nodiscard]] auto has_items() {
    return [this] { return items.get() > 0; };
  }
  void take() {
    check(items.get() > 0, "the predicate is met");
    items.set(items.get() - 1);
    taken.set(taken.get() + 1);
  }
  void blocks() {
    auto held = m->blocking_lock();
    c->blocking_wait(held, has_items());
    take();
  }
  enum class notifies : bool { with_the_mutex, after_it };
  void put(int n, notifies when, bool all) {
    auto held = m->blocking_lock();
    items.set(items.get() + n);
    if (when == notifies::after_it) held.unlock();
    all ? c->notify_all() : c->notify_one();
  }
  void check_end(int most_left, int least_taken) {
    check(!m->is_locked(), "in the end it is free");
    check(m->try_lock().has_value(), "and can be taken");
    check(items.get() <= most_left && taken.get() >= least_taken, "who waits gets it");
  }
};
using notifies = shared::notifies;

task<void> waits(shared& x) {
  auto held = co_await x.m->lock();
  co_await x.c->wait(held, x.has_items());
  x.take();
}

TEST(condition_variable_model, each_notify_one_wakes_one_waiter) {
  for (const notifies when : {notifies::with_the_mutex, notifies::after_it}) {
    const std::string name = when == notifies::after_it ? "condition_after" : "condition_with";
    expect_holds_everywhere(name, [when](execution& e) {
      auto& x = e.make<shared>();
      e.thread("a", [&x] { x.blocks(); });
      e.thread("b", [&x] { x.blocks(); });
      e.thread("puts", [&x, when] {
        x.put(1, when, false);
        x.put(1, when, false);
      });
      e.finally([&x] { x.check_end(0, 2); });
    });
  }
}

TEST(condition_variable_model, notify_all_wakes_every_waiter) {
  for (const notifies when : {notifies::with_the_mutex, notifies::after_it}) {
    const std::string name = when == notifies::after_it ? "condition_all_after" : "condition_all_with";
    expect_holds_everywhere(name, [when](execution& e) {
      auto& x = e.make<shared>();
      e.thread("a", [&x] { x.blocks(); });
      e.thread("b", [&x] { x.blocks(); });
      e.thread("puts", [&x, when] { x.put(2, when, true); });
      e.finally([&x] { x.check_end(0, 2); });
    });
  }
}

// Two at once move those that wait.
TEST(condition_variable_model, concurrent_notify_one_and_notify_all_wake_every_waiter) {
  expect_holds_everywhere("condition_two", [](execution& e) {
    auto& x = e.make<shared>();
    auto& a = e.make<watched<void>>(x.s, waits(x));
    auto& b = e.make<watched<void>>(x.s, waits(x));
    add_workers(e, x.s, 1);
    e.thread("puts", [&x] { x.put(1, notifies::after_it, true); });
    e.thread("puts", [&x] { x.put(1, notifies::after_it, false); });
    e.finally([&x, &a, &b] {
      check(!a.was_cancelled() && !b.was_cancelled(), "nobody asked");
      x.check_end(0, 2);
    });
  });
}

TEST(condition_variable_model, a_notified_waiter_proceeds_although_try_lock_overtakes_it) {
  expect_holds_everywhere("condition_barging", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("waits", [&x] { x.blocks(); });
    e.thread("puts", [&x] { x.put(1, notifies::after_it, false); });
    e.thread("comes by", [&x] {
      for (int i = 0; i < 2; ++i) {
        if (const auto held = x.m->try_lock()) static_cast<void>(x.items.get());
      }
    });
    e.finally([&x] { x.check_end(0, 1); });
  });
}

/// Goes with the frame.
class goes_with_the_mutex {
 public:
  explicit goes_with_the_mutex(shared& x) noexcept : of_(&x) {}
  goes_with_the_mutex(const goes_with_the_mutex&) = delete;
  goes_with_the_mutex& operator=(const goes_with_the_mutex&) = delete;
  ~goes_with_the_mutex() {
    check(of_->m->is_locked(), "its frame goes with the mutex");
    of_->taken.set(of_->taken.get());  // a race, if it is not ours
  }

 private:
  shared* of_;
};

/// Takes an item, and puts it back for the next: one notification must reach all remaining waiters.
task<void> passes_on(shared& x) {
  auto held = co_await x.m->lock();
  const goes_with_the_mutex note(x);
  co_await x.c->wait(held, x.has_items());
  x.taken.set(x.taken.get() + 1);
  x.c->notify_one();
}

/// Two tasks wait.
struct with_a_line : shared {
  watched<void> first{s, passes_on(*this)};
  watched<void> second{s, passes_on(*this)};
  canceller of_first{first.header()};

  with_a_line() {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
};

TEST(condition_variable_model, a_notification_of_a_cancelled_waiter_goes_to_the_next) {
  for (const notifies when : {notifies::with_the_mutex, notifies::after_it}) {
    const std::string name = when == notifies::after_it ? "condition_cancel_after" : "condition_cancel_with";
    expect_holds_everywhere(name, [when](execution& e) {
      auto& x = e.make<with_a_line>();
      add_workers(e, x.s, 1);
      e.thread("puts", [&x, when] { x.put(1, when, false); });
      e.thread("canceller", [&x] { x.of_first.cancel(); });
      e.finally([&x] {
        check(!x.second.was_cancelled(), "nobody asked it");
        x.check_end(1, x.first.was_cancelled() ? 1 : 2);
      });
    });
  }
}

TEST(condition_variable_model, notify_all_wakes_the_other_waiter_when_one_is_cancelled) {
  expect_holds_everywhere("condition_cancel_all", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("puts", [&x] { x.put(1, notifies::after_it, true); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked it");
      x.check_end(1, x.first.was_cancelled() ? 1 : 2);
    });
  });
}

TEST(condition_variable_model, a_timed_wait_succeeds_only_if_the_predicate_holds) {
  expect_holds_everywhere("condition_late", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("late", [&x] {
      auto held = x.m->blocking_lock();
      const auto got = x.c->blocking_wait_for(held, std::chrono::nanoseconds(0), x.has_items());
      check(got.has_value() == (x.items.get() > 0), "what counts is what is there");
      if (got.has_value()) x.take();
    });
    e.thread("patient", [&x] { x.blocks(); });
    e.thread("puts", [&x] {
      x.put(1, notifies::after_it, false);
      x.put(1, notifies::after_it, false);
    });
    e.finally([&x] { x.check_end(1, 1); });
  });
}

// Without a predicate: a notification in time counts, and none is lost for the other waiter.
TEST(condition_variable_model, a_wait_that_times_out_consumes_no_notification) {
  expect_holds_everywhere("condition_late_plain", [](execution& e) {
    auto& x = e.make<shared>();
    auto& in_time = e.make<base::cell<bool>>();
    e.thread("late", [&x, &in_time] {
      auto held = x.m->blocking_lock();
      x.items.set(x.items.get() + 1);  // so many wait
      in_time.set(x.c->blocking_wait_for(held, std::chrono::nanoseconds(0)).has_value());
      x.taken.set(x.taken.get() + 1);
      if (in_time.get()) x.c->notify_one();
    });
    e.thread("patient", [&x] {
      auto held = x.m->blocking_lock();
      x.items.set(x.items.get() + 1);
      x.c->blocking_wait(held);
      x.taken.set(x.taken.get() + 1);
    });
    e.thread("notifies", [&x] {
      for (;;) {
        const auto held = x.m->blocking_lock();
        if (x.items.get() == 2) {
          x.c->notify_one();
          return;
        }
        base::cpu_relax();
      }
    });
    e.finally([&x] { x.check_end(2, 2); });
  });
}

// A woken waiter destroys both. The other may still be leaving the notification, or the unlock.
TEST(condition_variable_model, a_woken_waiter_may_destroy_the_condition_variable_and_the_mutex) {
  for (const bool all : {false, true}) {
    const std::string name = all ? "condition_destroyed_all" : "condition_destroyed";
    expect_holds_everywhere(
        name,
        [all](execution& e) {
          auto& x = e.make<shared>();
          e.thread("waits", [&x] {
            {
              auto held = x.m->blocking_lock();
              x.c->blocking_wait(held, x.has_items());
            }
            x.c.destroy();
            x.m.destroy();
          });
          e.thread("puts", [&x, all] { x.put(1, notifies::with_the_mutex, all); });
        },
        3);
  }
}

}  // namespace
}  // namespace rota::sync
