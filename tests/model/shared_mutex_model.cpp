// The shared mutex: writers are alone, readers not blocked in vain; no lost wakeup; cancels, destruction.
#include "model/waiting.hpp"

#include <rota/sync/shared_mutex.hpp>

#include <array>
#include <cstddef>
#include <optional>
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
  on_heap<shared_mutex> m;
  base::cell<int> written;  // by writers; readers read it
  base::atomic<int> readers{0};
  base::atomic<int> seen_by{0};  // so many reads are over
  model_scheduler s;

  void write() {
    // relaxed. The lock orders it.
    check(readers.load(base::order::relaxed) == 0, "no reader beside a writer");
    written.set(written.get() + 1);
  }
  int read() {
    // relaxed. The lock orders it.
    readers.fetch_add(1, base::order::relaxed);
    const int seen = written.get();
    // relaxed. The lock orders it.
    readers.fetch_sub(1, base::order::relaxed);
    // relaxed. A count of the model's.
    seen_by.fetch_add(1, base::order::relaxed);
    return seen;
  }
  void writes() {
    const auto held = m->blocking_lock();
    write();
  }
  void reads() {
    const auto held = m->blocking_lock_shared();
    read();
  }
  void check_end(int writes_done, int reads_done) {
    check(!m->is_locked() && m->readers() == 0, "in the end it is free");
    check(m->try_lock().has_value(), "and can be taken");
    // relaxed. All are done.
    check(written.get() == writes_done && seen_by.load(base::order::relaxed) == reads_done, "all had it");
  }
};

task<void> task_writes(shared& x) {
  const auto held = co_await x.m->lock();
  x.write();
}
task<void> task_reads(shared& x) {
  const auto held = co_await x.m->lock_shared();
  x.read();
}

TEST(shared_mutex_model, writers_and_readers_exclude_each_other) {
  expect_holds_everywhere("shared_threads", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("writer", [&x] { x.writes(); });
    e.thread("writer", [&x] { x.writes(); });
    e.thread("reader", [&x] { x.reads(); });
    e.finally([&x] { x.check_end(2, 1); });
  });
  expect_holds_everywhere("shared_readers", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("writer", [&x] { x.writes(); });
    e.thread("reader", [&x] { x.reads(); });
    e.thread("reader", [&x] { x.reads(); });
    e.finally([&x] { x.check_end(1, 2); });
  });
}

TEST(shared_mutex_model, try_lock_takes_the_mutex_or_is_refused) {
  expect_holds_everywhere("shared_by", [](execution& e) {
    auto& x = e.make<shared>();
    auto& got = e.make<base::cell<int>>();
    e.thread("writer", [&x] { x.writes(); });
    e.thread("reader", [&x] { x.reads(); });
    e.thread("comes by", [&x, &got] {
      if (const auto held = x.m->try_lock_shared()) x.read();
      if (const auto held = x.m->try_lock()) {
        x.write();
        got.set(1);
      }
    });
    e.finally(
        [&x, &got] { check(x.written.get() == 1 + got.get() && !x.m->is_locked(), "nothing is lost"); });
  });
}

TEST(shared_mutex_model, tasks_and_threads_wait_in_one_queue) {
  expect_holds_everywhere("shared_mixed", [](execution& e) {
    auto& x = e.make<shared>();
    auto& a = e.make<watched<void>>(x.s, task_writes(x));
    auto& b = e.make<watched<void>>(x.s, task_reads(x));
    add_workers(e, x.s, 2);
    e.thread("writer", [&x] { x.writes(); });
    e.finally([&x, &a, &b] {
      x.check_end(2, 1);
      check(!a.was_cancelled() && !b.was_cancelled(), "nobody asked");
    });
  });
}

/// A thread reads, a task waits to write, and one behind it to read.
struct reader_in_front : shared {
  std::optional<shared_mutex::shared_guard> held = m->try_lock_shared();
  watched<void> writer{s, task_writes(*this)};
  watched<void> reader{s, task_reads(*this)};
  canceller of_writer{writer.header()};
  canceller of_reader{reader.header()};

  reader_in_front() {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
};

// The thread goes only after the reader behind has been let in: only the cancelled writer does that.
TEST(shared_mutex_model, a_writer_that_is_cancelled_lets_the_readers_behind_it_in) {
  expect_holds_everywhere("shared_cancelled_writer", [](execution& e) {
    auto& x = e.make<reader_in_front>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] {
      x.of_writer.cancel();
      // relaxed: polled by the model only.
      while (x.seen_by.load(base::order::relaxed) == 0) base::cpu_relax();
      x.held.reset();
    });
    e.finally([&x] {
      check(x.writer.was_cancelled(), "it never had a chance");
      x.check_end(0, 1);
    });
  });
}

// The same in threads, by the writer's limit. The reader behind sees an earlier writer only through the lock.
TEST(shared_mutex_model, a_writer_that_times_out_lets_the_readers_behind_it_in) {
  expect_holds_everywhere("shared_late_writer", [](execution& e) {
    auto& x = e.make<shared>();
    auto& wrote = e.make<base::atomic<int>>(0);
    e.thread("first", [&x, &wrote] {
      {
        const auto held = x.m->blocking_lock();
        x.write();
      }
      const auto held = x.m->blocking_lock_shared();
      // relaxed: polled by the model only.
      while (x.seen_by.load(base::order::relaxed) + wrote.load(base::order::relaxed) == 0) base::cpu_relax();
    });
    e.thread("late", [&x, &wrote] {
      const auto got = x.m->blocking_lock_for(std::chrono::milliseconds(1));
      if (got.has_value()) x.write();
      // relaxed. A count of the model's.
      if (got.has_value()) wrote.fetch_add(1, base::order::relaxed);
    });
    e.thread("reader", [&x] { x.reads(); });
    e.finally([&x, &wrote] {
      // relaxed. All are done.
      x.check_end(1 + wrote.load(base::order::relaxed), 1);
    });
  });
}

TEST(shared_mutex_model, the_others_get_the_lock_when_a_reader_or_writer_is_cancelled) {
  expect_holds_everywhere("shared_cancel_writer", [](execution& e) {
    auto& x = e.make<reader_in_front>();
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.held.reset(); });
    e.thread("canceller", [&x] { x.of_writer.cancel(); });
    e.finally([&x] { x.check_end(x.writer.was_cancelled() ? 0 : 1, 1); });
  });
  expect_holds_everywhere("shared_cancel_reader", [](execution& e) {
    auto& x = e.make<reader_in_front>();
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.held.reset(); });
    e.thread("canceller", [&x] { x.of_reader.cancel(); });
    e.finally([&x] { x.check_end(1, x.reader.was_cancelled() ? 0 : 1); });
  });
}

// Two readers at once are the last: what both did happens before the writer.
TEST(shared_mutex_model, what_every_reader_did_happens_before_the_writer) {
  expect_holds_everywhere("shared_last", [](execution& e) {
    auto& x = e.make<shared>();
    auto& notes = e.make<std::array<base::cell<int>, 2>>();
    for (std::size_t i = 0; i < 2; ++i) {
      e.thread("reader", [&x, &notes, i] {
        const auto held = x.m->blocking_lock_shared();
        x.read();
        notes[i].set(1);
      });
    }
    e.thread("writer", [&x, &notes] {
      const auto held = x.m->blocking_lock();
      x.write();
      check(notes[0].get() + notes[1].get() <= 2, "both are read");
    });
    e.finally([&x] { x.check_end(1, 2); });
  });
}

// Each new reader waits for another to come in beside it.
TEST(shared_mutex_model, a_downgrade_lets_the_readers_in_and_keeps_writers_out) {
  expect_holds_everywhere("shared_downgrade", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("downgrades", [&x] {
      auto alone = x.m->blocking_lock();
      x.write();
      const int mine = x.written.get();
      // relaxed: polled by the model only.
      const int before = x.seen_by.load(base::order::relaxed);
      const auto beside = shared_mutex::downgrade(std::move(alone));
      check(!static_cast<bool>(alone), "it has no lock any more");  // NOLINT(bugprone-use-after-move)
      // relaxed: polled by the model only.
      while (before == 0 && x.seen_by.load(base::order::relaxed) == 0) base::cpu_relax();
      check(x.read() == mine, "no writer came between");
    });
    e.thread("reader", [&x] { x.reads(); });
    e.finally([&x] { x.check_end(1, 2); });
  });
  expect_holds_everywhere("shared_downgrade_writer", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("downgrades", [&x] {
      auto alone = x.m->blocking_lock();
      x.write();
      const int mine = x.written.get();
      const auto beside = shared_mutex::downgrade(std::move(alone));
      check(x.read() == mine, "no writer came between");
    });
    e.thread("writer", [&x] { x.writes(); });
    e.thread("reader", [&x] { x.reads(); });
    e.finally([&x] { x.check_end(2, 2); });
  });
}

// The reader in line makes the downgrade take the list's lock; the barging reader takes only the word.
TEST(shared_mutex_model, try_lock_shared_after_a_downgrade_sees_what_was_written) {
  expect_holds_everywhere("shared_downgrade_by", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("downgrades", [&x] {
      auto alone = x.m->blocking_lock();
      x.write();
      const auto beside = shared_mutex::downgrade(std::move(alone));
    });
    e.thread("reader", [&x] { x.reads(); });
    e.thread("comes by", [&x] {
      if (const auto held = x.m->try_lock_shared()) x.read();
    });
  });
}

// The last to leave destroys it. Another may still be inside its unlock, or leaving the line.
TEST(shared_mutex_model, the_last_owner_may_destroy_the_mutex_while_another_unlocks) {
  struct scene : shared {
    base::atomic<int> owners{0};
    void leave(bool by_writing) {
      std::optional<shared_mutex::guard> alone;
      std::optional<shared_mutex::shared_guard> beside;
      if (by_writing) {
        alone = m->blocking_lock();
      } else {
        beside = m->blocking_lock_shared();
      }
      // relaxed. The lock orders it, if it is the last.
      const bool is_last = owners.fetch_sub(1, base::order::relaxed) == 1;
      if (!is_last) return;
      // A reader that counted before may still read.
      if (beside.has_value()) {
        beside.reset();
        alone = m->blocking_lock();
      }
      alone.reset();
      m.destroy();
    }
  };
  for (const int readers : {0, 1, 2}) {
    expect_holds_everywhere("shared_destroyed_" + std::to_string(readers), [readers](execution& e) {
      auto& x = e.make<scene>();
      // relaxed: no other thread is there.
      x.owners.store(2 + (readers == 2 ? 1 : 0), base::order::relaxed);
      for (int i = 0; i < readers; ++i) e.thread("reader", [&x] { x.leave(false); });
      for (int i = readers; i < 2 || i < readers + 1; ++i) e.thread("writer", [&x] { x.leave(true); });
    });
  }
}

// A late waiter proves by try_lock that it is free, and destroys it. The last reader may still be leaving.
TEST(shared_mutex_model, a_timed_out_writer_that_locks_later_may_destroy_the_mutex) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    auto& reads = e.make<base::atomic<int>>(0);
    e.thread("reader", [&x, &reads] {
      const auto held = x.m->blocking_lock_shared();
      // relaxed. Says only that it has begun.
      reads.store(1, base::order::relaxed);
      x.read();
    });
    e.thread("late", [&x, &reads] {
      // relaxed. Says only that it has begun.
      while (reads.load(base::order::relaxed) == 0) base::cpu_relax();
      std::optional<shared_mutex::guard> alone;
      if (auto got = x.m->blocking_lock_for(std::chrono::nanoseconds(0))) alone = std::move(*got);
      while (!alone.has_value()) {
        base::cpu_relax();
        alone = x.m->try_lock();
      }
      x.write();
      alone.reset();
      x.m.destroy();
    });
  };
  expect_holds_everywhere("shared_gone", body, 3);
}

/// More waiting readers than one unlock wakes, then a writer, and a reader. The last to leave destroys it.
struct crowd : shared {
  explicit crowd(bool with_writer) : inside(with_writer ? 5 : 3) {
    if (with_writer) {
      writer.emplace(s, writes_and_leaves(*this));
      last.emplace(s, reads_and_leaves(*this));
    }
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
  struct leaving {
    explicit leaving(crowd& all) noexcept : of(&all) {}
    leaving(const leaving&) = delete;
    leaving& operator=(const leaving&) = delete;
    ~leaving() {
      // acq_rel. The last one destroys what the others have used.
      if (of->inside.fetch_sub(1, base::order::acq_rel) == 1) of->m.destroy();
    }
    crowd* of;
  };
  static task<void> reads_and_leaves(crowd& x) {
    const leaving out(x);
    const auto held = co_await x.m->lock_shared();
    check(!x.is_writing, "no reader beside a writer");
    x.read();
  }
  static task<void> writes_and_leaves(crowd& x) {
    const leaving out(x);
    const auto held = co_await x.m->lock();
    x.is_writing = true;
    x.write();
    co_await yield();
    x.is_writing = false;
  }
  void check_all() {
    check(!first.was_cancelled() && !second.was_cancelled(), "nobody asked");
    // relaxed. All are done.
    const int reads = seen_by.load(base::order::relaxed);
    check(reads == (third.was_cancelled() ? 2 : 3) + (last.has_value() ? 1 : 0), "all others have read");
  }

  base::atomic<int> inside;
  bool is_writing = false;  // of tasks: there is one worker
  std::optional<shared_mutex::guard> held = m->try_lock();
  watched<void> first{s, reads_and_leaves(*this)};
  watched<void> second{s, reads_and_leaves(*this)};
  watched<void> third{s, reads_and_leaves(*this)};
  canceller of_third{third.header()};
  std::optional<watched<void>> writer;
  std::optional<watched<void>> last;
};

TEST(shared_mutex_model, the_last_of_many_woken_readers_may_destroy_the_mutex) {
  expect_holds_everywhere("shared_crowd", [](execution& e) {
    auto& x = e.make<crowd>(false);
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.held.reset(); });
    e.thread("canceller", [&x] { x.of_third.cancel(); });
    e.finally([&x] { x.check_all(); });
  });
}

// While the lock of the list is released, those in front may have come and gone, and the writer has it.
TEST(shared_mutex_model, an_unlock_that_wakes_many_readers_rechecks_between_batches) {
  expect_holds_everywhere("shared_crowd_writer", [](execution& e) {
    auto& x = e.make<crowd>(true);
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.held.reset(); });
    e.finally([&x] { x.check_all(); });
  });
}

}  // namespace
}  // namespace rota::sync
