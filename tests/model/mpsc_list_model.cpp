// P6, the queue of a mailbox: producers append, one consumer takes. Items come once, in their producer's
// order, and a returned link is not touched again.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"

#include <rota/detail/mpsc_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace rota::queue {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

struct item : mpsc_link {
  base::cell<int> payload;
  base::cell<int> given_back;
  std::size_t producer = 0;
  int number = 0;
};

struct post {
  std::array<std::array<item, 3>, 3> items;
  std::array<int, 3> last{-1, -1, -1};
  int taken = 0;
  mpsc_taker taker;
  mpsc_appender appender{taker};

  item& of(std::size_t producer, int number) {
    item& i = items.at(producer).at(static_cast<std::size_t>(number));
    i.producer = producer;
    i.number = number;
    i.payload.set(number);
    return i;
  }
  void append(std::size_t producer, int number) {
    item& i = of(producer, number);
    appender.append(i, i);
  }
  void append_two(std::size_t producer, int number) {
    item& first = of(producer, number);
    item& second = of(producer, number + 1);
    // relaxed: no thread has seen it.
    first.next.store(&second, base::order::relaxed);
    appender.append(first, second);
  }
  bool take() {
    mpsc_link* const front = taker.front();
    if (front == nullptr) return false;
    auto& i = *static_cast<item*>(front);
    check(i.payload.get() == i.number, "it is seen as it was appended");
    check(i.number == last.at(i.producer) + 1, "in the order of its producer, and once");
    last.at(i.producer) = i.number;
    ++taken;
    if (mpsc_link* const served = taker.pop(i)) {
      static_cast<item*>(served)->given_back.set(1);
      base::note_free(&served->next, sizeof(served->next));
    }
    return true;
  }
};

auto posted(int all, std::array<int, 3> each, bool chains) {
  return [=](execution& e) {
    auto& p = e.make<post>();
    for (std::size_t producer = 0; producer < each.size(); ++producer) {
      if (each.at(producer) == 0) continue;
      e.thread("producer", [&p, producer, count = each.at(producer), chains] {
        int i = 0;
        if (chains && count >= 2) {
          p.append_two(producer, 0);
          i = 2;
        }
        for (; i < count; ++i) p.append(producer, i);
      });
    }
    e.thread("consumer", [&p] {
      for (int i = 0; i < 4; ++i) static_cast<void>(p.take());
    });
    e.finally([&p, all] {
      while (p.take()) {
      }
      check(p.taken == all, "what was appended is taken");
    });
  };
}

/// Links that their producers make: to append behind one is to store into what another thread has made.
struct fresh_post {
  std::array<std::optional<item>, 2> items;
  mpsc_taker taker;
  mpsc_appender appender{taker};
};

void two_fresh_links(execution& e) {
  auto& p = e.make<fresh_post>();
  for (std::optional<item>& place : p.items) {
    e.thread("producer", [&p, &place] {
      item& mine = place.emplace();
      p.appender.append(mine, mine);
    });
  }
}

TEST(mpsc_list_model, a_producer_appends_behind_a_link_that_another_has_made) {
  expect_holds(exhaustive("mpsc_fresh", 3), two_fresh_links);
}

TEST(mpsc_list_model, two_producers) { expect_holds(exhaustive("mpsc_two", 3), posted(4, {2, 2, 0}, false)); }
TEST(mpsc_list_model, a_chain_is_appended_beside_single_items) {
  expect_holds(exhaustive("mpsc_chain", 3), posted(4, {3, 1, 0}, true));
}
TEST(mpsc_list_model, three_producers_at_random) {
  expect_holds(at_random("mpsc_random"), posted(9, {3, 3, 3}, true));
}

}  // namespace
}  // namespace rota::queue
