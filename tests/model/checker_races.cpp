// The checker and memory orders: happens-before comes from the orders in the code, so a missing release or
// acquire is a race, although every value arrives in time.
#include <rota/testing/explore.hpp>
#include "base/mutex.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

namespace rota {
namespace {

using base::order;
using testing::execution;
using testing::explore;

bool mentions(const testing::report& r, std::string_view words) {
  return r.what.find(words) != std::string::npos;
}

struct message {
  base::cell<int> data{0};
  base::atomic<int> flag{0};
};

testing::report pass_message(order storing, order loading) {
  return explore({}, [=](execution& e) {
    auto& m = e.make<message>();
    e.thread("writer", [&m, storing] {
      m.data.set(42);
      m.flag.store(1, storing);
    });
    e.thread("reader", [&m, loading] {
      if (m.flag.load(loading) == 1) testing::check(m.data.get() == 42, "the message is whole");
    });
  });
}

TEST(checker_races, a_message_behind_release_and_acquire_is_clean) {
  // release, acquire: the pair under test.
  const auto r = pass_message(order::release, order::acquire);
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_races, a_message_behind_seq_cst_is_clean) {
  // seq_cst: it releases and acquires, too.
  const auto r = pass_message(order::seq_cst, order::seq_cst);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_races, a_relaxed_store_publishes_nothing) {
  // relaxed: the fault. acquire: not enough alone.
  const auto r = pass_message(order::relaxed, order::acquire);
  EXPECT_TRUE(r.failed);
  EXPECT_TRUE(mentions(r, "data race: T2 reader reads")) << r.what;
  EXPECT_TRUE(mentions(r, "that T1 writer wrote")) << r.what;
  EXPECT_TRUE(mentions(r, "checker_races.cpp:")) << r.what;
}

TEST(checker_races, a_relaxed_load_learns_nothing) {
  // release: not enough alone. relaxed: the fault.
  const auto r = pass_message(order::release, order::relaxed);
  EXPECT_TRUE(mentions(r, "data race")) << to_string(r);
}

TEST(checker_races, an_unordered_pair_of_writes_is_a_race) {
  const auto r = explore({}, [](execution& e) {
    auto& c = e.make<base::cell<int>>(0);
    e.thread([&c] { c.set(1); });
    e.thread([&c] { c.set(2); });
  });
  EXPECT_TRUE(mentions(r, "data race: T2 writes")) << to_string(r);
}

TEST(checker_races, a_read_before_an_unordered_write_is_a_race) {
  const auto r = explore({}, [](execution& e) {
    auto& c = e.make<base::cell<int>>(0);
    e.thread([&c] { (void)c.get(); });
    e.thread([&c] { c.set(2); });
  });
  EXPECT_TRUE(mentions(r, "data race: T2 writes")) << to_string(r);
  EXPECT_TRUE(mentions(r, "that T1 used")) << r.what;
}

TEST(checker_races, two_readers_do_not_race) {
  const auto r = explore({}, [](execution& e) {
    auto& c = e.make<base::cell<int>>(7);
    for (int i = 0; i < 3; ++i) e.thread([&c] { testing::check(c.get() == 7, "what the body wrote"); });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_races, notes_on_plain_memory_are_checked_like_cells) {
  const auto r = explore({}, [](execution& e) {
    auto& plain = e.make<int>(0);
    e.thread([&plain] { base::note_write(&plain); });
    e.thread([&plain] { base::note_read(&plain); });
  });
  EXPECT_TRUE(mentions(r, "data race: T2 reads")) << to_string(r);
}

TEST(checker_races, what_follows_a_release_is_not_published_by_it) {
  const auto r = explore({}, [](execution& e) {
    auto& m = e.make<message>();
    e.thread([&m] {
      m.flag.store(1, order::release);  // release. It publishes what came before, and that is nothing.
      m.data.set(1);
    });
    e.thread([&m] {
      // acquire. Pairs with the release.
      if (m.flag.load(order::acquire) == 1) (void)m.data.get();
    });
  });
  EXPECT_TRUE(mentions(r, "data race")) << to_string(r);
}

// C++20: a read-modify-write of any order continues the release sequence that it reads; a store ends it.
testing::report through_a_third(bool modifies) {
  return explore({}, [=](execution& e) {
    auto& m = e.make<message>();
    e.thread("writer", [&m] {
      m.data.set(1);
      // release. Pairs with the reader's acquire, through the third thread's operation.
      m.flag.store(1, order::release);
    });
    e.thread("third", [&m, modifies] {
      // relaxed. It must be enough for a read-modify-write, and not for a store.
      if (m.flag.load(order::relaxed) != 1) return;
      // relaxed, both. It must be enough for a read-modify-write, and not for a store.
      if (modifies) m.flag.fetch_add(1, order::relaxed);
      // relaxed.
      if (!modifies) m.flag.store(2, order::relaxed);
    });
    e.thread("reader", [&m] {
      // acquire. Pairs with the writer's release.
      if (m.flag.load(order::acquire) == 2) (void)m.data.get();
    });
  });
}

TEST(checker_races, a_relaxed_modification_continues_a_release_sequence) {
  const auto r = through_a_third(true);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_races, a_relaxed_store_ends_a_release_sequence) {
  const auto r = through_a_third(false);
  EXPECT_TRUE(mentions(r, "data race: T3 reader reads")) << to_string(r);
}

TEST(checker_races, a_failed_compare_exchange_has_its_failure_order) {
  const auto with = [](order failing) {
    return explore({}, [=](execution& e) {
      auto& m = e.make<message>();
      e.thread([&m] {
        m.data.set(1);
        // release. Pairs with the failing exchange, if that acquires.
        m.flag.store(1, order::release);
      });
      e.thread([&m, failing] {
        int expected = 0;
        // acq_rel. failure: the order under test.
        if (!m.flag.compare_exchange_strong(expected, 5, order::acq_rel, failing)) (void)m.data.get();
      });
    });
  };
  // acquire: right. relaxed: the fault.
  EXPECT_FALSE(with(order::acquire).failed);
  EXPECT_TRUE(mentions(with(order::relaxed), "data race"));
}

TEST(checker_races, a_mutex_orders_what_it_guards) {
  struct guarded {
    base::mutex lock;
    base::cell<int> count{0};
  };
  const auto r = explore({}, [](execution& e) {
    auto& g = e.make<guarded>();
    for (int i = 0; i < 3; ++i) {
      e.thread([&g] {
        const base::lock_guard held(g.lock);
        g.count.set(g.count.get() + 1);
      });
    }
    e.finally([&g] { testing::check(g.count.get() == 3, "no increment is lost"); });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(r.runs_at.front(), 6U);  // the orders in which three threads take one lock
}

TEST(checker_races, a_reference_count_that_does_not_acquire_frees_under_its_readers) {
  struct shared {
    base::atomic<int> references{2};
    base::cell<int> data{0};
  };
  const auto with = [](order dropping) {
    return explore({}, [=](execution& e) {
      auto* s = new shared;
      for (int i = 0; i < 2; ++i) {
        e.thread([s, dropping] {
          (void)s->data.get();
          if (s->references.fetch_sub(1, dropping) == 1) delete s;
        });
      }
    });
  };
  // acq_rel: right. release, relaxed: the last owner does not see that the others are done.
  EXPECT_FALSE(with(order::acq_rel).failed);
  EXPECT_TRUE(mentions(with(order::release), "data race"));
  EXPECT_TRUE(mentions(with(order::relaxed), "data race"));
}

TEST(checker_races, an_object_that_is_published_relaxed_is_read_before_it_is_made) {
  const auto with = [](order publishing) {
    return explore({}, [=](execution& e) {
      auto& pointer = e.make<base::atomic<base::atomic<int>*>>(nullptr);
      e.thread([&pointer, publishing] { pointer.store(new base::atomic<int>(1), publishing); });
      e.thread([&pointer] {
        // acquire. Pairs with the store under test.
        if (auto* made = pointer.load(order::acquire))
          (void)made->load(order::relaxed);  // relaxed. Only the pointer orders.
      });
      // relaxed. Everything is over.
      e.finally([&pointer] { delete pointer.load(order::relaxed); });
    });
  };
  // release: right. relaxed: the fault.
  EXPECT_FALSE(with(order::release).failed);
  EXPECT_TRUE(mentions(with(order::relaxed), "data race"));
}

}  // namespace
}  // namespace rota
