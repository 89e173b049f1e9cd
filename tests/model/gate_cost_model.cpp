// The cost of gates and mailboxes, in read-modify-writes and calls of futex_wake: each figure exactly.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "testing/machine.hpp"

#include <rota/gate/fan_in.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/gate/signal_gate.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace rota::gate {
namespace {

using testing::check;
using testing::execution;

template <class Act>
std::uint64_t cost_of(const Act& act) {
  const std::uint64_t before = testing::detail::active->done().modifications;
  act();
  return testing::detail::active->done().modifications - before;
}
template <class Act>
std::uint64_t wakes_of(const Act& act) {
  const std::uint64_t before = testing::detail::active->done().wakes;
  act();
  return testing::detail::active->done().wakes - before;
}

void costs(std::uint64_t found, std::uint64_t expected, const char* what) {
  if (found != expected) ADD_FAILURE() << what << ": " << found << " and not " << expected;
}

/// Runs `act` once, on one thread of the model.
template <class Act>
void once(std::string_view name, const Act& act) {
  const auto body = [&act](execution& e) { e.thread("only", [&act] { act(); }); };
  testing::options o = model::exhaustive(name, 0);
  const testing::report r = testing::explore(o, body);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(gate_cost_model, each_transition) {
  once("gate_cost", [] {
    signal_waker waker;
    signal_word word(0);
    signal_gate gate(0, word, waker);
    signal_gate other(1, word, waker);
    costs(cost_of([&] { gate.schedule(); }), 3, "schedule: flags, word, waker");
    costs(cost_of([&] { gate.schedule(); }), 1, "schedule of a hot gate: flags");
    costs(cost_of([&] { other.schedule(); }), 2, "schedule where the word is not empty: flags, word");
    costs(cost_of([&] { static_cast<void>(waker.wait()); }), 1, "wait");
    costs(cost_of([&] { static_cast<void>(word.take()); }), 1, "take");
    costs(cost_of([&] { gate.begin(); }), 1, "begin");
    costs(cost_of([&] { static_cast<void>(gate.finish_or_continue()); }), 1, "finish");
    other.begin();
    costs(cost_of([&] { other.schedule(); }), 1, "schedule of a gate that is executed: flags");
    costs(cost_of([&] { check(other.finish_or_continue(), "goes on"); }),
          2,
          "continue: flags twice, no bitmap");
    costs(cost_of([&] { other.finish_and_schedule(); }), 3, "finish and schedule: flags, word, waker");
  });
}

// The limits: at most 7 from idle, at most 4 if the signal word is not empty; queue and sleep apart.
TEST(gate_cost_model, a_message_on_its_own) {
  once("gate_cost_message", [] {
    signal_waker waker;
    signal_word word(0);
    signal_gate gate(0, word, waker);
    signal_gate other(1, word, waker);
    const std::uint64_t from_idle = cost_of([&] {
      gate.schedule();
      static_cast<void>(waker.wait());
      static_cast<void>(word.take());
      gate.begin();
      gate.finish();
    });
    costs(from_idle, 7, "from idle");
    other.schedule();
    const std::uint64_t beside_another = cost_of([&] {
      gate.schedule();
      gate.begin();  // its bit was taken with the other's
      gate.finish();
    });
    costs(beside_another, 4, "where the word is not empty");
  });
}

TEST(gate_cost_model, no_futex_wake_is_made_if_no_consumer_sleeps) {
  once("gate_cost_wake", [] {
    signal_waker waker;
    costs(wakes_of([&] { waker.mark_active(1); }), 0, "nobody sleeps");
    static_cast<void>(waker.wait());
    static_cast<void>(waker.wait_until(std::chrono::steady_clock::time_point::min()));
    costs(wakes_of([&] { waker.mark_active(1); }), 0, "nobody sleeps any more");
  });
}

// A mailbox's own: the queue's two, flags, list; then the consumer's.
TEST(gate_cost_model, a_message_to_a_mailbox) {
  once("mailbox_cost", [] {
    executor threads(1);
    threads.pause();
    auto box = threads.make_mailbox<int>([](int) {});
    auto bounded = threads.make_mailbox<int>([](int) {}, {.capacity = 8});
    // address() counts a reference, a send does not.
    const auto to = box.address();
    const auto to_bounded = bounded.address();
    costs(cost_of([&] { static_cast<void>(to.send(1)); }), 4, "to an idle one: size, tail, flags, list");
    costs(cost_of([&] { static_cast<void>(to.send(1)); }), 3, "to one that is ready: size, tail, flags");
    costs(cost_of([&] { static_cast<void>(to_bounded.send(1)); }), 4, "bounded: the same");
    auto third = threads.make_mailbox<int>([](int) {});
    const auto to_third = third.address();
    std::array<int, 64> some{};
    costs(cost_of([&] { check(to_third.send_n(some).count == 64, "all"); }), 4, "64 at a time: as one");
    threads.resume();
    threads.drain();
    costs(cost_of([&] { static_cast<void>(to.send(1)); }),
          8,
          "and a sleeper: its bit, the summary, the idle word, its bed");
    threads.drain();
  });
}

// All of a message from one handler to the other, which waits for it: the send, and a visit.
TEST(gate_cost_model, a_message_from_one_mailbox_to_another) {
  once("mailbox_hop_cost", [] {
    executor threads(1);
    std::array<address<int>, 2> to;
    std::uint64_t before = 0;
    const auto pass = [&to, &before](unsigned next) {
      return [&to, &before, next](int left) {
        const std::uint64_t now = testing::detail::active->done().modifications;
        if (left < 5 && left > 0) costs(now - before, 7, "size, tail, flags, list; list, begin, finish");
        before = now;
        if (left > 0) static_cast<void>(to[next].send(left - 1));
      };
    };
    auto one = threads.make_mailbox<int>(pass(1));
    auto two = threads.make_mailbox<int>(pass(0));
    to[0] = one.address();
    to[1] = two.address();
    static_cast<void>(to[0].send(6));
    threads.drain();
  });
}

// A fan-in's own: the gate's, and on the consumer's side the room that it gives back.
TEST(gate_cost_model, an_item_through_a_fan_in) {
  once("fan_in_cost", [] {
    fan_in<int> in({.producers = 2, .segment = 64});
    auto one = in.make_producer();
    auto two = in.make_producer();
    const auto push = [](auto& from) { check(from.push(1) == send_status::sent, "there is room"); };
    const auto drain = [&in](std::size_t count) {
      check(in.drain([](int) {}) == count, "all that is there");
    };
    costs(cost_of([&] { push(one); }), 3, "from idle: flags, word, waker");
    costs(cost_of([&] { push(two); }), 2, "where the word is not empty: flags, word");
    costs(cost_of([&] { push(one); }), 1, "to a segment that is ready: flags");
    costs(cost_of([&] { drain(3); }), 8, "waker, word, and for each of two: begin, room, finish");
    std::array<int, 32> some{};
    costs(cost_of([&] { check(one.push_n(some).count == 32, "all"); }), 3, "32 at a time: as one");
    costs(cost_of([&] { drain(32); }), 6, "waker, word, begin, room twice, finish");
    push(one);
    push(one);
    costs(cost_of([&] { check(in.take().has_value(), "one"); }), 4, "take: waker, word, begin, room");
    costs(cost_of([&] { check(in.take().has_value(), "one"); }), 1, "the next: room");
    costs(cost_of([&] { push(one); }), 1, "to a segment whose round is not over: flags");
  });
}

}  // namespace
}  // namespace rota::gate
