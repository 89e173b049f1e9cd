// P6, a queue for each producer: fan-ins with one consumer, which sleeps without a deadline, and producers
// that block, leave, and reuse slots. Sent items are taken once, in order; no thread waits for ever.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"

#include <rota/gate/fan_in.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/futex.hpp"

namespace rota::gate {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

/// A sent item: its sender and its number. Counts the living ones; a moved-from one does not count.
class letter {
 public:
  letter(std::size_t from, int number, int& alive) noexcept : from_(from), number_(number), alive_(&alive) {
    ++*alive_;
  }
  letter(letter&& other) noexcept
      : from_(other.from_), number_(other.number_), alive_(std::exchange(other.alive_, nullptr)) {}
  letter& operator=(letter&& other) noexcept {
    check(alive_ == nullptr, "only one that was moved from is given something back");
    from_ = other.from_;
    number_ = other.number_;
    alive_ = std::exchange(other.alive_, nullptr);
    return *this;
  }
  ~letter() {
    if (alive_ != nullptr) --*alive_;
  }
  [[nodiscard]] bool is_there() const noexcept { return alive_ != nullptr; }
  [[nodiscard]] std::size_t from() const noexcept { return from_; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  std::size_t from_;
  int number_;
  int* alive_;
};

/// A word on which a thread of the model waits until it is set.
struct signal {
  base::atomic<std::uint32_t> word{0};
  void set() {
    word.store(1, base::order::release);
    base::futex_wake(&word, 64);
  }
  void wait() {
    while (word.load(base::order::acquire) == 0) static_cast<void>(base::futex_wait(word, 0, base::never));
  }
};

enum class taking : std::uint8_t { take, drain };

struct hall {
  std::optional<fan_in<letter>> in;
  std::array<fan_in<letter>::producer, 3> producers;
  std::array<int, 4> sent{};
  std::array<int, 4> taken{};
  std::array<signal, 2> signals;
  int alive = 0;

  /// As producer `p`, until a push is refused. `full` is allowed only if pushes do not block.
  send_status push(std::size_t p, bool blocks = true) { return push_by(producers.at(p), p, blocks); }
  send_status push_by(fan_in<letter>::producer& by, std::size_t p, bool blocks = true) {
    letter one(p, sent.at(p), alive);
    const send_status said = blocks ? by.push(std::move(one)) : by.try_push(std::move(one));
    check(one.is_there() == (said != send_status::sent), "it has it back, unless it was sent");  // NOLINT
    check(!blocks || said != send_status::full, "who blocks is not refused for want of room");
    if (said == send_status::sent) ++sent.at(p);
    return said;
  }
  sent_count push_two(std::size_t p) {
    std::array<letter, 2> two{letter(p, sent.at(p), alive), letter(p, sent.at(p) + 1, alive)};
    const sent_count said = producers.at(p).push_n(two);
    for (std::size_t i = 0; i < 2; ++i)
      check(two.at(i).is_there() == (i >= said.count), "those that were not sent are as they were");
    sent.at(p) += static_cast<int>(said.count);
    return said;
  }
  void leave(std::size_t p) { producers.at(p) = {}; }

  void see(letter&& got) {
    const letter mine(std::move(got));
    check(mine.is_there(), "nothing is taken twice");
    check(mine.number() == taken.at(mine.from()), "in the order of its producer");
    ++taken.at(mine.from());
  }
  void consume_all(taking how) {
    if (how == taking::take) {
      while (auto got = in->take()) see(std::move(*got));
    } else {
      while (in->wait() != fan_in_state::ended) in->drain([this](letter&& got) { see(std::move(got)); });
    }
    check(in->try_take().error() == fan_in_state::ended, "the end is the end");
  }
  void check_end() {
    check(taken == sent, "what was sent was taken");
    in.reset();
    producers = {};
    check(alive == 0, "everything was destroyed once");
  }
};

/// Producers with a slot each, and so many items for each of them.
auto pushing(const fan_in_options& options, std::array<int, 3> items, taking how) {
  return [=](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(options);
    for (std::size_t p = 0; p < items.size(); ++p) {
      if (items.at(p) < 0) continue;
      h.producers.at(p) = h.in->make_producer();
      e.thread("producer", [&h, p, count = items.at(p)] {
        for (int i = 0; i < count; ++i) check(h.push(p) == send_status::sent, "sent, for it is not closed");
        h.leave(p);
      });
    }
    e.thread("consumer", [&h, how] { h.consume_all(how); });
    e.finally([&h] { h.check_end(); });
  };
}

class fan_in_model : public ::testing::TestWithParam<taking> {
 protected:
  [[nodiscard]] std::string named(std::string_view shape) const {
    return std::string(shape) + (GetParam() == taking::take ? "_take" : "_drain");
  }
};
INSTANTIATE_TEST_SUITE_P(consumers,
                         fan_in_model,
                         ::testing::Values(taking::take, taking::drain),
                         [](const auto& how) {
                           return std::string(how.param == taking::take ? "take" : "drain");
                         });

TEST_P(fan_in_model, an_item_is_received_although_its_producer_has_left) {
  const std::string name = named("fan_in_one");
  expect_holds(exhaustive(name, 3), pushing({.producers = 1, .segment = 2}, {1, -1, -1}, GetParam()));
}

TEST_P(fan_in_model, a_producer_that_waits_for_space_is_woken) {
  const std::string name = named("fan_in_room");
  const auto body = pushing({.producers = 1, .segment = 1}, {3, -1, -1}, GetParam());
  expect_holds_everywhere(name, body, 3);
}

// Taken items free their space as soon as the consumer comes back with it.
TEST_P(fan_in_model, a_segment_that_was_emptied_has_all_its_room) {
  const auto body = [how = GetParam()](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 1, .segment = 4});
    h.producers[0] = h.in->make_producer();
    e.thread("producer", [&h] {
      check(h.push(0) == send_status::sent, "sent");
      h.signals[0].wait();
      for (int i = 0; i < 4; ++i) check(h.push(0, false) == send_status::sent, "there is room");
      h.leave(0);
    });
    e.thread("consumer", [&h, how] {
      if (how == taking::take) {
        h.see(*h.in->take());
      } else {
        check(h.in->wait() == fan_in_state::ready, "it comes");
        check(h.in->drain([&h](letter&& got) { h.see(std::move(got)); }) == 1, "it is there");
      }
      h.signals[0].set();
      h.consume_all(how);
    });
    e.finally([&h] { h.check_end(); });
  };
  const std::string name = named("fan_in_whole");
  expect_holds(exhaustive(name, 2), body);
}

TEST_P(fan_in_model, two_producers) {
  const std::string name = named("fan_in_two");
  expect_holds(exhaustive(name, 2), pushing({.producers = 2, .segment = 1}, {1, 1, -1}, GetParam()));
}

TEST_P(fan_in_model, a_budget_of_one) {
  const std::string name = named("fan_in_budget");
  const auto body = pushing({.producers = 2, .segment = 2, .budget = 1}, {2, 1, -1}, GetParam());
  expect_holds(exhaustive(name, 1), body);
  const std::string random = name + "_random";
  expect_holds(at_random(random, 5'000), body);
}

TEST_P(fan_in_model, three_producers_at_random) {
  const std::string name = named("fan_in_random");
  expect_holds(at_random(name, 5'000),
               pushing({.producers = 3, .segment = 2, .budget = 2}, {3, 2, 0}, GetParam()));
}

// The schedule of a producer that has left may come when another one has its slot.
TEST(fan_in_slots_model, a_slot_is_used_again) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 1, .segment = 1});
    h.producers[0] = h.in->make_producer();
    e.thread("first", [&h] {
      check(h.push(0) == send_status::sent, "sent");
      h.leave(0);
    });
    e.thread("second", [&h] {
      h.signals[0].wait();
      h.producers[1] = h.in->make_producer();
      h.signals[1].set();
      for (int i = 0; i < 2; ++i) check(h.push(1) == send_status::sent, "sent");
      h.leave(1);
    });
    e.thread("consumer", [&h] {
      h.consume_all(taking::take);
      h.signals[0].set();
      h.signals[1].wait();
      h.consume_all(taking::drain);
    });
    e.finally([&h] {
      check(h.taken == h.sent, "what was sent was taken");
      h.producers[2] = h.in->make_producer();
      h.leave(2);
      h.consume_all(taking::take);
      h.producers[2] = h.in->make_producer();
      h.check_end();
    });
  };
  expect_holds_everywhere("fan_in_reuse", body, 3);
}

// Each has a slot for a moment; a consumer that polls rarely sees several of them at once.
TEST(fan_in_slots_model, producers_that_take_and_free_slots_rapidly_lose_no_item) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 2, .segment = 1});
    h.producers[2] = h.in->make_producer();
    for (std::size_t p = 0; p < 2; ++p) {
      e.thread("producer", [&h, p] {
        for (int round = 0; round < 2; ++round) {
          try {
            h.producers.at(p) = h.in->make_producer();
          } catch (const std::length_error&) {
            continue;  // all are taken at the moment
          }
          if (round == 0 || p == 0) static_cast<void>(h.push(p, false));
          h.leave(p);
        }
        h.signals.at(p).set();
      });
    }
    e.thread("keeper", [&h] {
      for (signal& each : h.signals) each.wait();
      h.leave(2);
    });
    e.thread("consumer", [&h] { h.consume_all(taking::take); });
    e.finally([&h] {
      check(h.taken == h.sent, "what was sent was taken");
      h.producers[0] = h.in->make_producer();
      h.producers[1] = h.in->make_producer();
      h.check_end();
    });
  };
  expect_holds(exhaustive("fan_in_storm", 1), body);
  expect_holds(at_random("fan_in_storm_random", 10'000), body);
}

/// A close, by a thread of its own, beside producers and the consumer.
template <class Produce>
auto closed_beside(const fan_in_options& options, unsigned producers, taking how, Produce produce) {
  return [=](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(options);
    for (std::size_t p = 0; p < producers; ++p) {
      h.producers.at(p) = h.in->make_producer();
      e.thread("producer", [&h, p, produce] { produce(h, p); });
    }
    e.thread("closer", [&h] { h.in->close(); });
    e.thread("consumer", [&h, how] { h.consume_all(how); });
    e.finally([&h] { h.check_end(); });
  };
}

TEST_P(fan_in_model, a_close_that_races_with_a_push_loses_no_item) {
  const std::string name = named("fan_in_close_push");
  const auto body = closed_beside({.producers = 1, .segment = 2}, 1, GetParam(), [](hall& h, std::size_t p) {
    if (h.push(p, false) == send_status::sent) static_cast<void>(h.push(p, false));
  });
  expect_holds_everywhere(name, body, 3);
}

TEST_P(fan_in_model, a_close_that_races_with_a_blocked_push_loses_no_item) {
  const std::string name = named("fan_in_close_wait");
  const auto body = closed_beside({.producers = 1, .segment = 1}, 1, GetParam(), [](hall& h, std::size_t p) {
    while (h.push(p) == send_status::sent && h.sent.at(p) < 3) {
    }
  });
  expect_holds_everywhere(name, body, 2);
}

// A push that waits for space hears of the close from the closing thread, not from the consumer.
TEST(fan_in_close_model, wakes_a_push_that_waits_for_space) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 1, .segment = 1});
    h.producers[0] = h.in->make_producer();
    e.thread("producer", [&h] {
      while (h.push(0) == send_status::sent) {
      }
      h.signals[0].set();
    });
    e.thread("consumer", [&h] {
      h.in->close();
      h.signals[0].wait();
      h.consume_all(taking::take);
    });
    e.finally([&h] { h.check_end(); });
  };
  expect_holds_everywhere("fan_in_close_heard", body, 3);
}

TEST(fan_in_close_model, loses_no_item_when_it_races_with_a_batch) {
  const auto body =
      closed_beside({.producers = 1, .segment = 2}, 1, taking::take, [](hall& h, std::size_t p) {
        if (h.push(p, false) == send_status::sent) static_cast<void>(h.push_two(p));
        static_cast<void>(h.push_two(p));
      });
  expect_holds_everywhere("fan_in_close_batch", body, 3);
}

TEST(fan_in_close_model, loses_no_item_when_it_races_with_a_leaving_producer) {
  const auto body =
      closed_beside({.producers = 1, .segment = 2}, 1, taking::take, [](hall& h, std::size_t p) {
        static_cast<void>(h.push(p));
        h.leave(p);
      });
  expect_holds_everywhere("fan_in_close_leave", body, 3);
}

TEST(fan_in_close_model, ends_the_consumer_of_a_fan_in_without_producers) {
  const auto body = closed_beside({.producers = 1}, 0, taking::take, [](hall&, std::size_t) {});
  expect_holds(exhaustive("fan_in_close_alone", 3), body);
}

// A thread that sees the close sees a producer that was made before it.
TEST(fan_in_close_model, loses_no_item_when_it_races_with_a_new_producer) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 1, .segment = 1});
    e.thread("producer", [&h] {
      h.producers[0] = h.in->make_producer();
      static_cast<void>(h.push(0));
    });
    e.thread("closer", [&h] { h.in->close(); });
    e.thread("consumer", [&h] { h.consume_all(taking::take); });
    e.finally([&h] { h.check_end(); });
  };
  expect_holds_everywhere("fan_in_close_made", body, 3);
}

// Each producer has its own order and number. The keeper's slot stays open until the close.
TEST(fan_in_close_model, loses_no_item_while_producers_come_and_go) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 3, .segment = 1, .budget = 1});
    h.producers[2] = h.in->make_producer();
    for (std::size_t p = 0; p < 2; ++p) {
      e.thread("producer", [&h, p] {
        for (const std::size_t number : {p, p + 2}) {
          try {
            h.producers.at(p) = h.in->make_producer();
          } catch (const std::length_error&) {
            return;  // all are taken at the moment
          }
          static_cast<void>(h.push_by(h.producers.at(p), number));
          h.leave(p);
        }
      });
    }
    e.thread("closer", [&h] { h.in->close(); });
    e.thread("consumer", [&h] { h.consume_all(taking::drain); });
    e.finally([&h] { h.check_end(); });
  };
  expect_holds(exhaustive("fan_in_close_come", 1), body);
  expect_holds(at_random("fan_in_close_come_random", 10'000), body);
}

// The fan-in ends while producers push and wait for space: they notice, and waiting items are destroyed.
TEST(fan_in_close_model, destruction_of_the_fan_in_wakes_producers_and_destroys_items) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 2, .segment = 1});
    for (std::size_t p = 0; p < 2; ++p) {
      h.producers.at(p) = h.in->make_producer();
      e.thread("producer", [&h, p] {
        while (h.push(p) == send_status::sent) {
        }
        h.leave(p);
      });
    }
    e.thread("consumer", [&h] {
      if (auto got = h.in->take()) h.see(std::move(*got));
      h.in.reset();
    });
    e.finally([&h] { check(h.alive == 0, "everything was destroyed once"); });
  };
  expect_holds(exhaustive("fan_in_ends", 1), body);
  expect_holds(at_random("fan_in_ends_random", 10'000), body);
}

// Another producer takes back the end of the first one while the consumer polls.
TEST(fan_in_model, a_wait_without_a_deadline_never_says_empty) {
  const auto body = [](execution& e) {
    auto& h = e.make<hall>();
    h.in.emplace(fan_in_options{.producers = 2, .segment = 1});
    h.producers[0] = h.in->make_producer();
    e.thread("first", [&h] { h.leave(0); });
    e.thread("second", [&h] {
      h.producers[1] = h.in->make_producer();
      h.leave(1);
    });
    e.thread("consumer", [&h] { check(h.in->wait() != fan_in_state::empty, "ready, or ended"); });
    e.finally([&h] { h.check_end(); });
  };
  expect_holds(exhaustive("fan_in_wait", 2), body);
}

}  // namespace
}  // namespace rota::gate
