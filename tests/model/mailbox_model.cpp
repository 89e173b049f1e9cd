// P6, the whole: mailboxes and the real executor with its threads, which sleep without a deadline. Each
// message is served or destroyed, once. Handlers run one at a time, in sequence. Closed mailboxes end.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"

#include <rota/gate/mailbox.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/futex.hpp"
#include "base/thread.hpp"

namespace rota::gate {
namespace {

using model::at_random;
using model::expect_holds;
using testing::check;
using testing::execution;

/// All with one preemption, and many more at random.
template <class Body>
void expect_whole(std::string_view name, const Body& body, std::uint64_t runs = 4'000) {
  expect_holds(model::exhaustive(name, 1), body);
  const std::string random = std::string(name) + "_random";
  expect_holds(at_random(random, runs), body);
}

/// The part of a handler: a race if two run at a time, or if one does not see the one before.
struct account {
  base::cell<int> served;
  void serve() { served.set(served.get() + 1); }
  [[nodiscard]] int count() const { return served.get(); }
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

/// An executor with one thread and one mailbox, which the owner makes and unmakes; senders come in between.
template <class T>
struct house {
  account served;
  std::optional<executor> threads;
  std::optional<mailbox<T>> box;
  signal ready;
  base::atomic<std::uint32_t> left{0};  // senders that are not done
  base::atomic<int> sent{0};
  address<T> to;
  std::array<base::atomic<int>, 4> seen{};

  void send(T message) {
    if (box->send(std::move(message)) == send_status::sent) sent.fetch_add(1, base::order::relaxed);
  }
  [[nodiscard]] int count_sent() const { return sent.load(base::order::relaxed); }

  /// The threads of an execution. `act` and `judge` are the owner's, `send` each sender's.
  template <class Make, class Act, class Send, class Judge>
  static void inhabit(execution& e, unsigned senders, Make make, Act act, Send send, Judge judge) {
    auto& h = e.make<house>();
    h.left.store(senders, base::order::relaxed);
    e.thread("owner", [&h, make, act, judge] {
      h.threads.emplace(1U);
      h.box = make(h);
      h.ready.set();
      act(h);
      for (std::uint32_t n = h.left.load(base::order::acquire); n != 0;
           n = h.left.load(base::order::acquire)) {
        static_cast<void>(base::futex_wait(h.left, n, base::never));
      }
      judge(h);
      h.box.reset();
      h.threads.reset();
    });
    for (unsigned i = 0; i < senders; ++i) {
      e.thread("sender", [&h, send] {
        h.ready.wait();
        send(h);
        h.left.fetch_sub(1, base::order::release);
        base::futex_wake(&h.left, 1);
      });
    }
  }
};

/// What serves each message of a house.
const auto serving = [](mailbox_options options = {}) {
  return [options](house<int>& h) {
    return h.threads->make_mailbox<int>([&h](int) { h.served.serve(); }, options);
  };
};

TEST(mailbox_model, two_senders_and_a_close) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        serving(),
        [](house<int>& h) {
          h.send(1);
          h.box->close();
          h.box->join();
          check(h.served.count() == static_cast<int>(h.box->stats().served), "each call is counted");
        },
        [](house<int>& h) { h.send(2); },
        [](house<int>& h) { check(h.served.count() == h.count_sent(), "what was sent is served"); });
  };
  expect_whole("mailbox_close", body);
}

TEST(mailbox_model, destruction_serves_or_destroys_each_pending_message) {
  const auto body = [](execution& e) {
    auto& a = e.make<account>();
    e.thread("owner", [&a] {
      executor threads(1);
      address<std::shared_ptr<int>> to;
      signal started;
      signal done;
      auto message = std::make_shared<int>(1);
      const std::weak_ptr<int> seen = message;
      {
        auto box =
            threads.make_mailbox<std::shared_ptr<int>>([&a](const std::shared_ptr<int>&) { a.serve(); });
        to = box.address();
        static_cast<void>(box.send(message));
        static_cast<void>(box.send(std::move(message)));
      }
      const int served = a.count();
      check(to.send(nullptr) == send_status::closed, "it is closed");
      threads.drain();
      check(a.count() == served, "the handler does not run any more");
      check(seen.expired(), "the messages are gone");
      const executor_stats s = threads.stats();
      check(s.served + s.dropped == 2 && s.mailboxes == 0, "served or destroyed");
    });
  };
  expect_whole("mailbox_gone", body);
}

// Each handler waits for the start of the other one: so two consumers must be awake.
auto two_that_meet(bool in_one_list) {
  return [=](execution& e) {
    e.thread("owner", [=] {
      executor threads(2);
      signal first;
      signal second;
      auto one = threads.make_mailbox<int>([&](int) {
        first.set();
        second.wait();
      });
      // Mailboxes begin in the consumers' lists in turns.
      mailbox<int> between;
      if (in_one_list) between = threads.make_mailbox<int>([](int) {});
      auto two = threads.make_mailbox<int>([&](int) {
        second.set();
        first.wait();
      });
      static_cast<void>(one.send(1));
      static_cast<void>(two.send(1));
      one.drain();
      two.drain();
    });
  };
}

TEST(mailbox_model, two_ready_mailboxes_in_two_lists_get_a_consumer_each) {
  expect_whole("mailbox_two_lists", two_that_meet(false));
}
TEST(mailbox_model, two_ready_mailboxes_in_one_list_get_a_consumer_each) {
  expect_whole("mailbox_one_list", two_that_meet(true));
}

// The same, sent from a handler: into the list of the consumer that is about to block.
TEST(mailbox_model, a_message_sent_by_a_blocking_handler_gets_a_consumer) {
  const auto body = [](execution& e) {
    e.thread("owner", [] {
      executor threads(2);
      signal answered;
      auto other = threads.make_mailbox<int>([&](int) { answered.set(); });
      auto asking = threads.make_mailbox<int>([&, to = other.address()](int) {
        static_cast<void>(to.send(1));
        answered.wait();
      });
      static_cast<void>(asking.send(1));
      threads.drain();
    });
  };
  expect_whole("mailbox_asks", body);
}

TEST(mailbox_model, senders_that_wait_for_space_are_woken) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        2,
        serving({.capacity = 1, .on_full = overflow::wait}),
        [](house<int>& h) { h.send(1); },
        [](house<int>& h) { h.send(2); },
        [](house<int>& h) {
          h.box->drain();
          check(h.served.count() == 3 && h.count_sent() == 3, "there was room, sooner or later");
        });
  };
  expect_whole("mailbox_wait", body);
}

TEST(mailbox_model, senders_that_wait_for_space_end_at_the_close) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        2,
        [](house<int>& h) {
          auto made = serving({.capacity = 1, .on_full = overflow::wait})(h);
          made.pause();
          return made;
        },
        [](house<int>& h) { h.box->close(); },
        [](house<int>& h) { h.send(2); },
        [](house<int>& h) {
          h.box->resume();
          h.box->join();
          check(h.served.count() == h.count_sent(), "what was sent is served");
        });
  };
  expect_whole("mailbox_wait_close", body);
}

TEST(mailbox_model, senders_drop_the_oldest_beside_the_consumer) {
  using message = std::unique_ptr<int>;
  const auto body = [](execution& e) {
    house<message>::inhabit(
        e,
        1,
        [](house<message>& h) {
          return h.threads->make_mailbox<message>([&h](const message&) { h.served.serve(); },
                                                  {.capacity = 1, .on_full = overflow::drop_oldest});
        },
        [](house<message>& h) { h.send(std::make_unique<int>(1)); },
        [](house<message>& h) {
          h.send(std::make_unique<int>(2));
          h.send(std::make_unique<int>(3));
        },
        [](house<message>& h) {
          h.box->drain();
          const mailbox_stats s = h.box->stats();
          check(h.count_sent() == 3, "there is always room");
          check(s.served + s.dropped == 3 && h.served.count() == static_cast<int>(s.served),
                "served or destroyed");
        });
  };
  expect_whole("mailbox_drop", body);
}

TEST(mailbox_model, a_pause_that_races_with_a_sender_loses_no_message) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        serving(),
        [](house<int>& h) {
          h.box->pause();
          h.threads->pause();
          h.box->resume();
          h.threads->resume();
          h.box->drain();
        },
        [](house<int>& h) {
          h.send(1);
          h.send(2);
        },
        [](house<int>& h) {
          h.threads->drain();
          check(h.served.count() == 2, "what was sent is served");
        });
  };
  expect_whole("mailbox_pause", body);
}

TEST(mailbox_model, senders_drop_the_oldest_beside_a_close) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        serving({.capacity = 1, .on_full = overflow::drop_oldest}),
        [](house<int>& h) {
          h.send(1);
          h.box->close();
          h.box->join();
        },
        [](house<int>& h) {
          h.send(2);
          h.send(3);
        },
        [](house<int>& h) {
          const mailbox_stats s = h.box->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent(), "served or destroyed");
        });
  };
  expect_whole("mailbox_drop_close", body);
}

// One send is in progress at most beside the own one, which has returned.
TEST(mailbox_model, drop_oldest_exceeds_the_capacity_by_at_most_one_message_per_send) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          auto made = serving({.capacity = 1, .on_full = overflow::drop_oldest})(h);
          made.pause();
          return made;
        },
        [](house<int>& h) { h.send(1); },
        [](house<int>& h) {
          for (int i = 2; i < 5; ++i) {
            h.send(i);
            check(h.box->stats().depth <= 2, "the capacity, and the other send");
          }
        },
        [](house<int>& h) {
          check(h.box->stats().depth == 1,
                "the capacity, since no send runs, and no message more is dropped");
          h.box->resume();
          h.box->drain();
          const mailbox_stats s = h.box->stats();
          check(s.served + s.dropped == 4, "served or destroyed");
        });
  };
  expect_whole("mailbox_drop_bound", body);
}

TEST(mailbox_model, two_concurrent_batches_drop_the_oldest_messages) {
  const auto body = [](execution& e) {
    const auto two = [](house<int>& h) {
      std::array<int, 2> both{1, 2};
      check(h.box->send_n(both).count == 2, "there is always room");
    };
    house<int>::inhabit(
        e, 1, serving({.capacity = 1, .on_full = overflow::drop_oldest}), two, two, [](house<int>& h) {
          h.box->drain();
          const mailbox_stats s = h.box->stats();
          check(s.served + s.dropped == 4, "served or destroyed");
          h.box->pause();
          std::array<int, 3> three{1, 2, 3};
          check(h.box->send_n(three).count == 3 && h.box->stats().depth == 1, "the oldest are dropped");
          h.box->resume();
          h.box->drain();
        });
  };
  expect_whole("mailbox_drop_batches", body);
}

// Destroyed beside a sender, in rounds that give way after each message.
TEST(mailbox_model, a_mailbox_is_destroyed_during_a_send) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          auto made = serving({.budget = 1, .time_slice = std::chrono::nanoseconds(0)})(h);
          h.to = made.address();
          return made;
        },
        [](house<int>& h) {
          h.send(1);
          h.send(1);
          h.threads->pause();
          h.box.reset();
          const int served = h.served.count();
          h.threads->resume();
          check(h.served.count() == served, "its handler is called no more");
        },
        [](house<int>& h) {
          if (h.to.send(2) == send_status::sent) h.sent.fetch_add(1, base::order::relaxed);
        },
        [](house<int>& h) {
          h.threads->drain();
          const executor_stats s = h.threads->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent() && s.mailboxes == 0,
                "served or destroyed");
        });
  };
  expect_whole("mailbox_gone_beside", body);
  testing::options stale = model::exhaustive("mailbox_gone_beside_stale", 2);
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

// Destroyed while its round yields: no consumer would take what it publishes then.
TEST(mailbox_model, a_mailbox_is_destroyed_while_its_round_yields) {
  const auto body = [](execution& e) {
    auto& started = e.make<signal>();
    house<int>::inhabit(
        e,
        1,
        [&](house<int>& h) {
          auto made = h.threads->make_mailbox<int>([&](int) { started.set(); },
                                                   {.budget = 1, .time_slice = std::chrono::nanoseconds(0)});
          h.to = made.address();
          return made;
        },
        [&](house<int>& h) {
          h.send(1);
          started.wait();
          h.threads->pause();
          h.box.reset();
          h.threads->resume();
        },
        [](house<int>&) {},
        [](house<int>& h) {
          h.threads->drain();
          const executor_stats s = h.threads->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent() && s.mailboxes == 0,
                "served or destroyed");
        });
  };
  testing::options stale = model::exhaustive("mailbox_gone_gives_way_stale", 2);
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

// Its handler runs, and a message is on its way: the mailbox is destroyed without waiting for that.
TEST(mailbox_model, a_mailbox_is_destroyed_while_its_handler_runs_and_a_send_begins) {
  const auto body = [](execution& e) {
    auto& started = e.make<signal>();
    auto& goes_on = e.make<signal>();
    house<int>::inhabit(
        e,
        1,
        [&](house<int>& h) {
          auto made = h.threads->make_mailbox<int>([&](int) {
            started.set();
            goes_on.wait();
          });
          h.to = made.address();
          return made;
        },
        [&](house<int>& h) {
          h.send(1);
          started.wait();
          h.threads->pause();
          h.box.reset();
          h.threads->resume();
        },
        [&](house<int>& h) {
          started.wait();
          goes_on.set();
          if (h.to.send(2) == send_status::sent) h.sent.fetch_add(1, base::order::relaxed);
        },
        [](house<int>& h) {
          h.threads->drain();
          const executor_stats s = h.threads->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent() && s.mailboxes == 0,
                "served or destroyed");
        });
  };
  expect_whole("mailbox_gone_on_its_way", body);
}

TEST(mailbox_model, an_executor_is_destroyed_during_a_send) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          auto made = serving()(h);
          h.to = made.address();
          return made;
        },
        [](house<int>& h) {
          h.send(1);
          h.threads.reset();
        },
        [](house<int>& h) {
          if (h.to.send(2) == send_status::sent) h.sent.fetch_add(1, base::order::relaxed);
        },
        [](house<int>& h) {
          const mailbox_stats s = h.box->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent(), "served or destroyed");
          h.to = {};
        });
  };
  expect_whole("mailbox_executor_gone", body);
}

// A sender schedules its mailbox, and pushes after the last consumer has gone: a sweep sees the push.
TEST(mailbox_model, an_executor_is_destroyed_while_a_sender_publishes) {
  const auto body = [](execution& e) {
    auto& begun = e.make<signal>();
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          auto made = serving()(h);
          h.to = made.address();
          return made;
        },
        [&begun](house<int>& h) {
          begun.wait();
          h.threads.reset();
        },
        [&begun](house<int>& h) {
          begun.set();
          if (h.to.send(2) == send_status::sent) h.sent.fetch_add(1, base::order::relaxed);
        },
        [](house<int>& h) {
          const mailbox_stats s = h.box->stats();
          check(static_cast<int>(s.served + s.dropped) == h.count_sent(), "served or destroyed");
          h.to = {};
        });
  };
  testing::options stale = model::exhaustive("mailbox_executor_gone_stale", 1);
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

// What one drain settles must not make the mailbox seem empty to the other one.
TEST(mailbox_model, two_drains_of_a_paused_mailbox_both_wait_for_its_message) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        2,
        [](house<int>& h) {
          auto made = serving()(h);
          static_cast<void>(made.send(1));
          made.drain();
          static_cast<void>(made.send(2));
          made.drain();
          made.pause();
          static_cast<void>(made.send(3));
          return made;
        },
        [](house<int>& h) { h.box->resume(); },
        [](house<int>& h) {
          h.box->drain();
          check(h.served.count() == 3, "it was handled");
        },
        [](house<int>&) {});
  };
  // Three changes of thread in a stretch of a few lines: priorities find them.
  testing::options o = model::by_priority("mailbox_settle", 20'000);
  o.steps = 20'000;
  expect_holds(o, body);
  expect_holds(at_random("mailbox_settle_random", 4'000), body);
}

TEST(mailbox_model, each_of_two_drains_waits_for_its_own_message) {
  const auto body = [](execution& e) {
    const auto drains = [](house<int>& h) {
      const int before = h.sent.fetch_add(1, base::order::relaxed);
      check(h.box->send(before) == send_status::sent, "it is open");
      h.box->drain();
      check(h.seen.at(static_cast<std::size_t>(before)).load(base::order::relaxed) == 1, "it was handled");
    };
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          return h.threads->make_mailbox<int>(
              [&h](int which) { h.seen.at(static_cast<std::size_t>(which)).store(1, base::order::relaxed); });
        },
        drains,
        drains,
        [](house<int>&) {});
  };
  expect_whole("mailbox_two_drains", body);
}

TEST(mailbox_model, a_drain_of_a_paused_mailbox_waits_for_the_resume) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          auto made = serving()(h);
          made.pause();
          static_cast<void>(made.send(1));
          return made;
        },
        [](house<int>& h) {
          h.box->drain();
          check(h.served.count() == 1, "it waits for what was sent before");
        },
        [](house<int>& h) { h.box->resume(); },
        [](house<int>&) {});
  };
  expect_whole("mailbox_drain_paused", body);
}

TEST(mailbox_model, a_handler_that_throws_closes_it) {
  const auto body = [](execution& e) {
    house<int>::inhabit(
        e,
        1,
        [](house<int>& h) {
          return h.threads->make_mailbox<int>([](int) { throw std::runtime_error("no"); });
        },
        [](house<int>& h) {
          h.send(1);
          h.box->join();
          check(h.box->error() != nullptr, "it says why");
        },
        [](house<int>& h) { h.send(2); },
        [](house<int>& h) {
          const mailbox_stats s = h.box->stats();
          check(s.served == 1 && static_cast<int>(s.served + s.dropped) == h.count_sent(),
                "one served, the others destroyed");
        });
  };
  expect_whole("mailbox_throws", body);
}

// A thread that finds the error, and has not joined, sees what the handler did.
TEST(mailbox_model, a_thread_that_reads_the_error_sees_what_the_handler_did) {
  const auto body = [](execution& e) {
    e.thread("owner", [] {
      account served;
      executor threads(1);
      auto box = threads.make_mailbox<int>([&served](int) {
        served.serve();
        throw std::runtime_error("it fails");
      });
      static_cast<void>(box.send(1));
      while (box.error() == nullptr) base::yield_thread();
      check(served.count() == 1, "it was called");
    });
  };
  expect_holds(model::exhaustive("mailbox_error", 1), body);
}

// The drain asks the second mailbox first. Of the first one's handler it knows only that it was called.
TEST(mailbox_model, a_drain_sees_what_a_handler_has_sent) {
  const auto body = [](execution& e) {
    e.thread("owner", [] {
      account served;
      executor threads(1);
      address<int> to;
      auto first = threads.make_mailbox<int>([&to](int n) { static_cast<void>(to.send(n)); });
      auto second = threads.make_mailbox<int>([&served](int) { served.serve(); });
      to = second.address();
      static_cast<void>(first.send(1));
      while (first.stats().served == 0) base::yield_thread();
      threads.drain();
      check(served.count() == 1, "what a handler sent was served");
    });
  };
  testing::options o = model::exhaustive("mailbox_drain_stale", 1);
  o.stale_reads = 4;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota::gate
