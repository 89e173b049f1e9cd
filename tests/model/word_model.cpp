// P1, P18: the task's state word, and the release of its memory. Workers, wakers, a canceller and a joiner
// that claims, around one task: the rules and their orders hold for all threads that keep their duties.
#include "model/word_world.hpp"
#include "task/state.hpp"

namespace rota::core {
namespace {

/// The participants.
struct cast {
  unsigned workers = 1;
  unsigned wakers = 2;
  bool canceller = false;
  bool joiner = false;
  bool mover = false;
  int yields = 0;
};

void add_wakers(execution& e, world& w, const cast& who) {
  w.expect_events(who.wakers);
  for (unsigned i = 0; i < who.wakers; ++i) {
    e.thread("waker", [&w, i] {
      w.happen();
      if (i % 2 == 0) return w.wake_consuming();
      w.wake_by_ref();
      w.release();
    });
  }
}

auto scene(cast who) {
  return [who](execution& e) {
    // Beside the scheduler's, the entry's and the handle's: one for each waker and for the canceller.
    auto& w = e.make<world>(who.wakers + (who.canceller ? 1 : 0));
    w.task().yields_left = who.yields;
    for (unsigned i = 0; i < who.workers; ++i) {
      e.daemon("worker", [&w] {
        for (;;) w.run_entry();
      });
    }
    add_wakers(e, w, who);
    if (who.canceller) {
      e.thread("canceller", [&w] {
        static_cast<void>(w.cancel());
        w.release();
      });
    }
    if (who.mover) e.thread("mover", [&w] { w.move_entry(); });
    if (who.joiner) {
      e.thread("joiner", [&w] { w.join(); });
    } else {
      e.thread("dropper", [&w] { w.drop_handle(); });
    }
    e.finally([&w, who] {
      w.check_end();
      check(!w.ended_cancelled() || who.canceller, "nobody asked it to stop");
    });
  };
}

TEST(word_model, task_ends_once_with_one_worker_and_two_wakers) {
  const auto body = scene({.workers = 1, .wakers = 2});
  expect_holds(exhaustive("word_two_wakers"), body);
}

TEST(word_model, task_ends_once_with_two_workers_a_waker_and_a_yield) {
  const auto body = scene({.workers = 2, .wakers = 1, .yields = 1});
  expect_holds(exhaustive("word_two_workers"), body);
}

TEST(word_model, task_ends_once_with_a_claiming_joiner_and_a_waker) {
  const auto body = scene({.workers = 1, .wakers = 1, .joiner = true});
  expect_holds(exhaustive("word_joiner"), body);
}

TEST(word_model, task_ends_once_with_a_claiming_joiner_and_a_canceller) {
  const auto body = scene({.workers = 1, .wakers = 1, .canceller = true, .joiner = true});
  expect_holds(exhaustive("word_joiner_cancel"), body);
}

TEST(word_model, task_ends_once_with_a_waker_and_a_canceller) {
  const auto body = scene({.workers = 2, .wakers = 1, .canceller = true});
  expect_holds(exhaustive("word_cancel"), body);
}

TEST(word_model, task_ends_once_when_its_queue_entry_moves_during_a_claim) {
  const auto body = scene({.workers = 1, .wakers = 1, .joiner = true, .mover = true});
  expect_holds(exhaustive("word_mover"), body);
}

TEST(word_model, task_ends_once_with_all_threads_under_random_search) {
  const auto body =
      scene({.workers = 2, .wakers = 3, .canceller = true, .joiner = true, .mover = true, .yields = 2});
  expect_holds(at_random("word_all"), body);
}

TEST(word_model, task_ends_once_with_all_threads_under_pct_search) {
  auto options = at_random("word_all_pct");
  options.search = testing::search_kind::pct;
  const auto body =
      scene({.workers = 2, .wakers = 2, .canceller = true, .joiner = true, .mover = true, .yields = 1});
  expect_holds(options, body);
}

// --- single promises

/// Only a wake that changes nothing orders the waker's plain write before the run's read.
TEST(word_model, a_redundant_wake_publishes) {
  const auto body = [](execution& e) {
    auto& word = e.make<state>(spawned_word);
    auto& data = e.make<base::cell<int>>();
    auto& told = e.make<base::atomic<int>>(0);
    e.thread("waker", [&] {
      data.set(7);
      check(word.wake() == on_wake::nothing, "it is scheduled already");
      // relaxed. Says that the wake is over, and orders nothing.
      told.store(1, base::order::relaxed);
    });
    e.thread("worker", [&] {
      // relaxed. Says that the wake is over, and orders nothing.
      while (told.load(base::order::relaxed) == 0) base::cpu_relax();
      check(word.pop() == on_pop::run, "it runs");
      check(data.get() == 7, "the wake's effects are seen");
    });
  };
  expect_holds(exhaustive("word_redundant", 3), body);
}

TEST(word_model, a_wake_of_a_running_task_publishes_to_its_next_run) {
  const auto body = [](execution& e) {
    auto& word = e.make<state>(entered_word);
    auto& data = e.make<base::cell<int>>();
    auto& told = e.make<base::atomic<int>>(0);
    for (int i = 0; i < 2; ++i) {
      e.thread("waker", [&, i] {
        if (i == 0) data.set(7);
        check(word.wake() == on_wake::nothing, "it runs");
        // relaxed. Says that the wake is over, and orders nothing.
        told.fetch_add(1, base::order::relaxed);
      });
    }
    e.thread("worker", [&] {
      // relaxed. Says that the wake is over, and orders nothing.
      while (told.load(base::order::relaxed) < 2) base::cpu_relax();
      check(word.suspend() == on_suspend::resubmit, "it looks once more");
      check(data.get() == 7, "and sees why");
    });
  };
  expect_holds(exhaustive("word_notified", 3), body);
}

/// `parked` is the last access: the waker's run frees the task at once.
TEST(word_model, detached_task_is_freed_once_when_woken_while_it_suspends) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(1U, entered_word);
    w.expect_events(1);
    w.drop_handle();
    e.thread("running", [&w] { w.run(); });
    e.thread("waker", [&w] {
      w.happen();
      w.wake_consuming();
    });
    e.daemon("worker", [&w] {
      for (;;) w.run_entry();
    });
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(exhaustive("word_window", 3), body);
}

/// A shielded task waits for leaf 1, which fires; unshielded it waits for leaf 2, which never fires. A
/// cancellation at any time must end it.
class shielded final : public world {
 public:
  shielded() : world(2) {}
  void run() override {
    state& word = task().word;
    if (word.load().cancel_due()) {
      static_cast<void>(word.begin_unwind());
      return finish(true);
    }
    if (leaf_ == 0) {
      static_cast<void>(word.shield_up());
      leaf_ = 1;
    }
    // acquire. Pairs with happen().
    if (leaf_ == 1 && task().events.load(base::order::acquire) == 1) {
      static_cast<void>(word.shield_down());
      leaf_ = 2;
    }
    suspend(&state::suspend);
  }

 private:
  int leaf_ = 0;  // the running thread's
};

TEST(word_model, a_cancellation_under_a_shield_is_delivered_after_it) {
  const auto body = [](execution& e) {
    auto& w = e.make<shielded>();
    e.daemon("worker", [&w] {
      for (;;) w.run_entry();
    });
    e.thread("event", [&w] {
      w.happen();
      w.wake_consuming();
    });
    e.thread("canceller", [&w] {
      static_cast<void>(w.cancel());
      w.release();
    });
    e.finally([&w] {
      check(w.task().word.load().is(lifecycle::complete), "it has ended");
      w.drop_handle();
      w.check_end();
    });
  };
  expect_holds(exhaustive("word_shield", 3), body);
}

}  // namespace
}  // namespace rota::core
