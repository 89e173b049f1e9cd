// P17: the injector, several producers and consumers. Nothing is lost or doubled, each producer's items keep
// their order, and close() has an edge: what was accepted is handed out, and nothing is accepted after it.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "queue/injector.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace rota::queue {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

struct item {
  base::cell<item*> next;
  base::cell<int> payload;
  bool accepted = false;
  int taken = 0;
};

/// Producer p owns items 8 p .. 8 p + 7, and pushes them in this order.
struct workshop {
  static constexpr std::size_t producers = 3;
  static constexpr std::size_t each = 8;

  void prepare(std::size_t id) { items[id].payload.set(static_cast<int>(id)); }

  on_inject push(std::size_t id) {
    prepare(id);
    const on_inject done = queue.push(items[id]);
    items[id].accepted = done == on_inject::accepted;
    return done;
  }

  on_inject push_chain(std::size_t from, std::size_t count) {
    for (std::size_t id = from; id < from + count; ++id) prepare(id);
    for (std::size_t id = from; id + 1 < from + count; ++id) items[id].next.set(&items[id + 1]);
    const on_inject done = queue.push_batch(items[from], items[from + count - 1], count);
    for (std::size_t id = from; id < from + count; ++id) items[id].accepted = done == on_inject::accepted;
    return done;
  }

  /// `last`: the newest id seen of each producer by this consumer, plus 1.
  using order = std::array<std::size_t, producers>;

  void take(item* i, order& last) {
    const auto id = static_cast<std::size_t>(i - items.data());
    check(id < items.size(), "what is handed out is an item");
    check(i->payload.get() == static_cast<int>(id), "the item is seen as it was pushed");
    check(++i->taken == 1, "an item is handed out once");
    check(last[id / each] < id + 1, "each producer's items keep their order");
    last[id / each] = id + 1;
  }

  std::size_t pop(std::size_t most, order& last) {
    std::array<item*, 4> out{};
    const std::size_t got = queue.pop_batch(std::span(out).first(most));
    for (item* i : std::span(out).first(got)) {
      check(i->next.get() == nullptr, "an item is handed out unlinked");
      take(i, last);
    }
    return got;
  }

  void drain(order& last) {
    for (item* i = queue.drain(); i != nullptr;) {
      item* const next = i->next.get();
      take(i, last);
      i = next;
    }
  }

  /// `last`: of the only consumer, or a fresh one.
  void check_end(order last = {}) {
    while (pop(4, last) > 0) {
    }
    check(queue.length_guess() == 0 && !queue.has_items(), "an empty injector says so");
    drain(last);
    for (const item& i : items) check(i.taken == (i.accepted ? 1 : 0), "what was accepted is handed out");
  }

  injector<item> queue;
  std::array<item, producers * each> items{};
};

TEST(injector_model, two_producers_and_one_consumer) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop>();
    auto& last = e.make<workshop::order>();
    e.thread("single", [&w] {
      static_cast<void>(w.push(0));
      static_cast<void>(w.push(1));
    });
    e.thread("batch", [&w] { static_cast<void>(w.push_chain(8, 3)); });
    e.thread("consumer", [&] {
      for (int i = 0; i < 2; ++i) {
        if (w.queue.has_items()) check(w.pop(2, last) > 0, "the only consumer gets what is counted");
      }
    });
    e.finally([&] { w.check_end(last); });
  };
  expect_holds(exhaustive("injector_fan_in", 3), body);
}

TEST(injector_model, a_batch_is_not_torn) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop>();
    e.thread([&w] { static_cast<void>(w.push_chain(0, 3)); });
    e.thread([&w] { static_cast<void>(w.push_chain(8, 3)); });
    e.finally([&w] {
      const std::size_t first = w.queue.length_guess();
      check(first == 6, "all are counted");
      std::array<item*, 6> out{};
      check(w.queue.pop_batch(out) == 6, "all are handed out");
      check(out[1] == out[0] + 1 && out[2] == out[0] + 2, "the first batch is in one piece");
      check(out[4] == out[3] + 1 && out[5] == out[3] + 2, "and so is the second");
    });
  };
  expect_holds(exhaustive("injector_batches", 3), body);
}

TEST(injector_model, two_consumers_take_every_item_once) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop>();
    static_cast<void>(w.push_chain(0, 2));
    e.thread("producer", [&w] { static_cast<void>(w.push(2)); });
    for (int i = 0; i < 2; ++i) {
      e.thread("consumer", [&w] {
        workshop::order last{};
        w.pop(2, last);
        w.pop(2, last);
      });
    }
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(exhaustive("injector_share", 3), body);
}

// The producer of a worker's only task: a parker sees a push from before the producer's own check, in both
// forms of parking.
TEST(injector_model, a_push_and_a_park_do_not_miss_each_other) {
  struct pair {
    workshop w;
    base::atomic<int> parked{0};
    bool producer_saw = false;
    bool parker_saw = false;
  };
  const auto body = [](execution& e) {
    auto& p = e.make<pair>();
    e.thread("producer", [&p] {
      static_cast<void>(p.w.push(0));
      p.producer_saw = p.parked.load(base::order::seq_cst) != 0;
    });
    e.thread("parker", [&p] {
      p.parked.exchange(1, base::order::seq_cst);
      p.parker_saw = p.w.queue.has_items();
    });
    e.finally([&p] { check(p.producer_saw || p.parker_saw, "one of the two sees the other"); });
  };
  expect_holds(exhaustive("injector_park", 3), body);
  testing::options stale = exhaustive("injector_park_stale", 3);
  stale.stale_reads = 2;
  expect_holds(stale, body);
}

void push_until_closed(workshop& w, std::size_t producer, const bool& closed) {
  for (std::size_t i = 0; i < 2; ++i) {
    const bool late = closed;
    const on_inject done = i == 0 ? w.push(producer * 8) : w.push_chain(producer * 8 + 1, 2);
    check(!late || done == on_inject::closed, "nothing is accepted after close");
  }
}

TEST(injector_model, nothing_is_accepted_after_close) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop>();
    auto& last = e.make<workshop::order>();
    bool& closed = e.make<bool>(false);
    e.thread("closer", [&] {
      w.queue.close();
      closed = true;
      w.drain(last);
      check(!w.queue.has_items(), "after close and drain nothing comes");
    });
    for (std::size_t p = 1; p <= 2; ++p) {
      e.thread("producer", [&w, &closed, p] { push_until_closed(w, p, closed); });
    }
    e.finally([&] { w.check_end(last); });
  };
  expect_holds(exhaustive("injector_close", 3), body);
}

TEST(injector_model, three_producers_and_two_consumers_at_random) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop>();
    for (std::size_t p = 0; p < 3; ++p) {
      e.thread("producer", [&w, p] {
        for (std::size_t i = 0; i < 3; ++i) static_cast<void>(w.push(p * 8 + i));
        static_cast<void>(w.push_chain(p * 8 + 3, 4));
      });
    }
    for (int c = 0; c < 2; ++c) {
      e.thread("consumer", [&w] {
        workshop::order last{};
        for (int i = 0; i < 5; ++i) w.pop(3, last);
      });
    }
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(at_random("injector_random"), body);
}

}  // namespace
}  // namespace rota::queue
