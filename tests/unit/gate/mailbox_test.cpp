#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate {
namespace {

using namespace std::chrono_literals;

/// What a handler may be held in.
class door {
 public:
  void open() { opened_.count_down(); }
  void pass() {
    entered_.count_down();
    opened_.wait();
  }
  void wait_for_somebody() { entered_.wait(); }

 private:
  std::latch entered_{1};
  std::latch opened_{1};
};

TEST(a_mailbox, handles_messages_in_order_one_at_a_time) {
  executor threads(2);
  std::vector<int> seen;
  std::atomic<int> inside{0};
  auto box = threads.make_mailbox<int>([&](int value) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    seen.push_back(value);
    inside.fetch_sub(1);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(box.send(i), send_status::sent);
  box.drain();
  ASSERT_EQ(seen.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen.at(static_cast<std::size_t>(i)), i);
  EXPECT_EQ(box.stats().served, 1000U);
  EXPECT_EQ(box.stats().depth, 0U);
}

TEST(a_mailbox, serves_what_is_in_it_after_a_close) {
  executor threads(1);
  std::vector<int> seen;
  door held;
  auto box = threads.make_mailbox<int>([&](int value) {
    if (value == 0) held.pass();
    seen.push_back(value);
  });
  for (int i = 0; i < 10; ++i) static_cast<void>(box.send(i));
  held.wait_for_somebody();
  box.close();
  box.close();
  EXPECT_EQ(box.send(99), send_status::closed);
  held.open();
  box.join();
  box.join();
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(box.error(), nullptr);
}

TEST(a_mailbox, ends_at_once_when_it_is_closed_empty) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  box.close();
  box.join();
  EXPECT_EQ(threads.stats().mailboxes, 0U);
}

TEST(a_mailbox, destroys_what_waits_when_it_goes) {
  executor threads(1);
  auto message = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = message;
  int handled = 0;
  address<std::shared_ptr<int>> late;
  {
    auto box = threads.make_mailbox<std::shared_ptr<int>>([&](const std::shared_ptr<int>&) { ++handled; });
    late = box.address();
    box.pause();
    static_cast<void>(box.send(std::move(message)));
  }
  EXPECT_EQ(handled, 0);
  threads.drain();
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(late.send(nullptr), send_status::closed);
  EXPECT_EQ(threads.stats().dropped, 1U);
  EXPECT_TRUE(late);
}

TEST(a_mailbox, waits_for_its_handler_when_it_goes) {
  executor threads(1);
  door held;
  std::atomic<bool> done{false};
  std::optional<mailbox<int>> box = threads.make_mailbox<int>([&](int value) {
    EXPECT_EQ(value, 1);
    held.pass();
    std::this_thread::sleep_for(5ms);
    done = true;
  });
  static_cast<void>(box->send(1));
  held.wait_for_somebody();
  std::jthread later([&] {
    std::this_thread::sleep_for(5ms);
    held.open();
  });
  box.reset();
  EXPECT_TRUE(done);
}

TEST(a_mailbox, may_be_destroyed_by_its_own_handler) {
  executor threads(1);
  std::unique_ptr<mailbox<int>> box;
  std::latch gone(1);
  box = std::make_unique<mailbox<int>>(threads.make_mailbox<int>([&](int) {
    box.reset();
    gone.count_down();
  }));
  const auto to = box->address();
  static_cast<void>(to.send(1));
  gone.wait();
  threads.drain();
  EXPECT_EQ(to.send(2), send_status::closed);
  EXPECT_EQ(threads.stats().served, 1U);
}

TEST(a_mailbox, its_handler_may_send_to_itself) {
  executor threads(2);
  address<int> self;
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int left) {
    seen.push_back(left);
    if (left > 0) {
      EXPECT_EQ(self.send(left - 1), send_status::sent);
    }
  });
  self = box.address();
  static_cast<void>(box.send(100));
  threads.drain();
  EXPECT_EQ(seen.size(), 101U);
}

TEST(a_mailbox, cannot_wait_for_itself) {
  executor threads(1);
  std::promise<std::string> said;
  mailbox<int>* mine = nullptr;
  auto box = threads.make_mailbox<int>([&](int) {
    std::string all;
    for (const auto& wait :
         {+[](const mailbox<int>& m) { m.join(); }, +[](const mailbox<int>& m) { m.drain(); }}) {
      try {
        wait(*mine);
      } catch (const rota::error& e) {
        all += e.code() == errc::would_deadlock ? "would deadlock " : "else ";
      }
    }
    try {
      threads.drain();
    } catch (const rota::error& e) {
      all += e.code() == errc::would_deadlock ? "would deadlock" : "else";
    }
    said.set_value(all);
  });
  mine = &box;
  static_cast<void>(box.send(1));
  EXPECT_EQ(said.get_future().get(), "would deadlock would deadlock would deadlock");
}

TEST(a_mailbox, that_was_moved_from_says_so) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  const auto other = std::move(box);
  EXPECT_TRUE(other);
  EXPECT_FALSE(box);
  EXPECT_THROW(static_cast<void>(box.send(1)), std::logic_error);
  EXPECT_THROW(static_cast<void>(box.stats()), std::logic_error);
  EXPECT_THROW(static_cast<void>(address<int>().send(1)), std::logic_error);
}

// The usual actor: its handler owns it.
TEST(a_mailbox, may_be_owned_by_its_own_handler) {
  struct self {
    mailbox<int> box;
  };
  executor threads(1);
  std::weak_ptr<self> seen;
  address<int> to;
  {
    const auto owner = std::make_shared<self>();
    owner->box = threads.make_mailbox<int>([owner](int) {});
    seen = owner;
    to = owner->box.address();
    owner->box.close();
  }
  threads.drain();
  EXPECT_EQ(to.send(1), send_status::closed);
  while (!seen.expired()) std::this_thread::yield();
}

TEST(a_mailbox, may_go_in_the_last_round_of_another) {
  executor threads(1);
  std::latch gone(1);
  mailbox<int> first;
  mailbox<std::shared_ptr<mailbox<int>>> second =
      threads.make_mailbox<std::shared_ptr<mailbox<int>>>([](const std::shared_ptr<mailbox<int>>&) {});
  auto owned = std::make_shared<mailbox<int>>();
  *owned = threads.make_mailbox<int>([&](int) {
    second = {};  // destroys a message that owns the mailbox whose handler this is
    gone.count_down();
  });
  const auto to = owned->address();
  second.pause();
  static_cast<void>(second.send(std::move(owned)));
  static_cast<void>(to.send(1));
  gone.wait();
  threads.drain();
  EXPECT_EQ(to.send(1), send_status::closed);
}

TEST(a_mailbox, is_not_waited_for_by_a_thread_of_its_executor) {
  executor threads(1);
  std::promise<bool> said;
  auto other = threads.make_mailbox<int>([](int) {});
  auto box = threads.make_mailbox<int>([&](int) {
    static_cast<void>(other.send(1));
    try {
      other.drain();
      said.set_value(false);
    } catch (const rota::error& e) {
      said.set_value(e.code() == errc::would_deadlock);
    }
  });
  static_cast<void>(box.send(1));
  EXPECT_TRUE(said.get_future().get());
}

TEST(a_mailbox, ends_while_it_is_paused_and_empty) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  box.pause();
  box.close();
  box.join();
}

// --- errors

TEST(a_mailbox, stops_when_its_handler_throws) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int value) {
    if (value == 3) throw std::runtime_error("three");
  });
  box.pause();
  for (int i = 1; i <= 5; ++i) static_cast<void>(box.send(i));
  box.resume();
  box.join();
  EXPECT_EQ(box.send(6), send_status::closed);
  const mailbox_stats s = box.stats();
  EXPECT_EQ(s.served, 3U);
  EXPECT_EQ(s.failed, 1U);
  EXPECT_EQ(s.dropped, 2U);
  EXPECT_THROW(std::rethrow_exception(box.error()), std::runtime_error);
}

TEST(a_mailbox, goes_on_when_its_handler_throws) {
  executor threads(1);
  auto box = threads.make_mailbox<int>(
      [](int value) {
        if (value % 2 == 0) throw std::runtime_error("even");
      },
      {.error_policy = on_error::skip});
  for (int i = 0; i < 10; ++i) static_cast<void>(box.send(i));
  box.drain();
  EXPECT_EQ(box.stats().served, 10U);
  EXPECT_EQ(box.stats().failed, 5U);
  EXPECT_EQ(box.error(), nullptr);
}

// --- bounds

TEST(a_bounded_mailbox, refuses_what_has_no_room_and_leaves_it_alone) {
  executor threads(1);
  auto box = threads.make_mailbox<std::unique_ptr<int>>([](std::unique_ptr<int>&&) {}, {.capacity = 2});
  box.pause();
  EXPECT_EQ(box.send(std::make_unique<int>(1)), send_status::sent);
  EXPECT_EQ(box.send(std::make_unique<int>(2)), send_status::sent);
  auto third = std::make_unique<int>(3);
  EXPECT_EQ(box.send(std::move(third)), send_status::full);
  ASSERT_NE(third, nullptr);  // NOLINT: it was not taken
  box.resume();
  box.drain();
  EXPECT_EQ(box.send(std::move(third)), send_status::sent);
  EXPECT_EQ(third, nullptr);  // NOLINT: it was taken
}

TEST(a_bounded_mailbox, does_not_count_what_is_being_handled) {
  executor threads(1);
  door held;
  auto box = threads.make_mailbox<int>(
      [&](int value) {
        if (value == 0) held.pass();
      },
      {.capacity = 1});
  static_cast<void>(box.send(0));
  held.wait_for_somebody();
  EXPECT_EQ(box.send(1), send_status::sent);
  EXPECT_EQ(box.send(2), send_status::full);
  held.open();
}

TEST(a_bounded_mailbox, blocks_a_thread_until_there_is_room) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 1, .on_full = overflow::wait});
  box.pause();
  static_cast<void>(box.send(-1));
  EXPECT_EQ(box.try_send(99), send_status::full);
  std::vector<std::jthread> senders;
  for (int s = 0; s < 3; ++s) {
    senders.emplace_back([to = box.address(), s] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(to.send(s * 1000 + i), send_status::sent);
    });
  }
  box.resume();
  senders.clear();
  box.drain();
  EXPECT_EQ(seen.size(), 601U);
  std::array<int, 3> last{-1, -1, -1};
  for (std::size_t i = 1; i < seen.size(); ++i) {
    int& before = last.at(static_cast<std::size_t>(seen[i] / 1000));
    EXPECT_EQ(seen[i] % 1000, before + 1) << "in the order of its sender";
    before = seen[i] % 1000;
  }
}

TEST(a_bounded_mailbox, tells_those_that_wait_that_it_is_closed) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {}, {.capacity = 1, .on_full = overflow::wait});
  box.pause();
  static_cast<void>(box.send(0));
  std::vector<std::future<send_status>> ends;
  for (int i = 0; i < 3; ++i) {
    ends.push_back(std::async(std::launch::async, [to = box.address(), i] { return to.send(i); }));
  }
  std::this_thread::sleep_for(5ms);  // most often they wait by now; if not, they find it closed
  box.close();
  for (auto& each : ends) EXPECT_EQ(each.get(), send_status::closed);
}

TEST(a_bounded_mailbox, a_handler_that_finds_it_full_is_refused) {
  executor threads(1);
  std::promise<send_status> said;
  auto narrow = threads.make_mailbox<int>([](int) {}, {.capacity = 1, .on_full = overflow::wait});
  narrow.pause();
  static_cast<void>(narrow.send(0));
  auto box =
      threads.make_mailbox<int>([&, to = narrow.address()](int value) { said.set_value(to.send(value)); });
  static_cast<void>(box.send(1));
  EXPECT_EQ(said.get_future().get(), send_status::full) << "it may be the only consumer";
}

TEST(a_bounded_mailbox, drops_the_oldest) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 3, .on_full = overflow::drop_oldest});
  box.pause();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(box.send(i), send_status::sent);
  EXPECT_EQ(box.stats().depth, 3U);
  box.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<int>{7, 8, 9}));
  EXPECT_EQ(box.stats().dropped, 7U);
}

TEST(a_bounded_mailbox, drops_of_a_batch_what_is_too_much) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 3, .on_full = overflow::drop_oldest});
  box.pause();
  std::array<int, 5> numbers{1, 2, 3, 4, 5};
  EXPECT_EQ(box.send_n(numbers).count, 5U);
  EXPECT_EQ(box.stats().depth, 3U);
  box.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<int>{3, 4, 5}));
}

TEST(a_bounded_mailbox, drops_beside_its_consumer) {
  executor threads(1);
  std::atomic<int> seen{0};
  auto box = threads.make_mailbox<std::shared_ptr<int>>([&](const std::shared_ptr<int>& p) { seen += *p; },
                                                        {.capacity = 2, .on_full = overflow::drop_oldest});
  {
    std::vector<std::jthread> senders;
    for (int s = 0; s < 3; ++s) {
      senders.emplace_back([to = box.address()] {
        for (int i = 0; i < 3000; ++i) EXPECT_EQ(to.send(std::make_shared<int>(1)), send_status::sent);
      });
    }
  }
  box.drain();
  EXPECT_EQ(static_cast<std::uint64_t>(seen) + box.stats().dropped, 9000U);
}

TEST(a_mailbox, takes_several_at_a_time) {
  executor threads(1);
  std::vector<std::string> seen;
  auto box = threads.make_mailbox<std::string>([&](std::string&& s) { seen.push_back(std::move(s)); },
                                               {.capacity = 3});
  box.pause();
  std::array<std::string, 4> words{"one", "two", "three", "four"};
  const sent_count first = box.send_n(words);
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.status, send_status::full);
  EXPECT_EQ(words[3], "four");
  EXPECT_EQ(box.send_n({}).count, 0U);
  box.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_LE(box.stats().visits, 2U) << "a round for the drain's question, and one for them all, at most";
  box.close();
  EXPECT_EQ(box.send_n(std::span(words).subspan(3)).status, send_status::closed);
  EXPECT_EQ(words[3], "four");
}

// --- executors

TEST(an_executor, serves_others_while_one_handler_is_slow) {
  executor threads(2);
  door held;
  auto slow = threads.make_mailbox<int>([&](int) { held.pass(); });
  std::deque<mailbox<int>> others;
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) others.push_back(threads.make_mailbox<int>([&](int) { ++done; }));
  static_cast<void>(slow.send(1));
  held.wait_for_somebody();
  for (auto& each : others) static_cast<void>(each.send(1));
  for (auto& each : others) each.drain();
  EXPECT_EQ(done, 100);
  held.open();
}

TEST(an_executor, takes_higher_bands_first_and_the_lowest_now_and_then) {
  executor threads(1);
  std::string order;
  std::deque<mailbox<char>> boxes;
  const auto add = [&](priority_band band, char name) {
    boxes.push_back(threads.make_mailbox<char>([&](char c) { order += c; }, {.band = band}));
    static_cast<void>(boxes.back().send(name));
  };
  threads.pause();
  for (int i = 0; i < 20; ++i) add(priority_band::low, 'l');
  for (int i = 0; i < 20; ++i) add(priority_band::normal, 'n');
  for (int i = 0; i < 20; ++i) add(priority_band::high, 'h');
  threads.resume();
  threads.drain();
  ASSERT_EQ(order.size(), 60U);
  const auto first_low = order.find('l');
  EXPECT_LT(first_low, 18U) << order;
  EXPECT_LT(order.find('n'), 18U) << order;
  EXPECT_GE(std::count(order.begin(), order.begin() + 22, 'h'), 18) << order;
  EXPECT_LT(order.rfind('h'), order.rfind('n')) << order;
}

/// Always ready.
class hot {
 public:
  hot(executor& threads, priority_band band)
      : box_(threads.make_mailbox<int>([this](int v) { static_cast<void>(self_.send(v)); },
                                       {.budget = 1, .band = band})),
        self_(box_.address()) {
    static_cast<void>(self_.send(1));
  }

 private:
  mailbox<int> box_;
  address<int> self_;
};

TEST(an_executor, leaves_no_band_alone) {
  executor threads(1);
  std::latch served(2);
  threads.pause();
  hot high(threads, priority_band::high);
  hot low(threads, priority_band::low);
  hot normal(threads, priority_band::normal);
  auto a = threads.make_mailbox<int>([&](int) { served.count_down(); });
  auto b = threads.make_mailbox<int>([&](int) { served.count_down(); }, {.band = priority_band::low});
  static_cast<void>(a.send(1));
  static_cast<void>(b.send(1));
  threads.resume();
  served.wait();
}

// A thread that always has something in its own list, and one that waits for what is in its list.
TEST(an_executor, leaves_nothing_behind_a_handler_that_waits_for_it) {
  executor threads(2);
  std::promise<void> answered;
  auto other = threads.make_mailbox<int>([&](int) { answered.set_value(); });
  std::optional<hot> busy;
  door held;
  auto asking = threads.make_mailbox<int>([&, to = other.address()](int) {
    held.pass();
    static_cast<void>(to.send(1));
    answered.get_future().wait();
  });
  static_cast<void>(asking.send(1));
  held.wait_for_somebody();
  busy.emplace(threads, priority_band::high);
  held.open();
  asking.drain();
  busy.reset();
}

TEST(an_executor, gives_each_a_turn) {
  executor threads(1);
  std::vector<int> order;
  std::deque<mailbox<int>> boxes;
  threads.pause();
  for (int b = 0; b < 3; ++b) {
    boxes.push_back(threads.make_mailbox<int>([&](int who) { order.push_back(who); }, {.budget = 2}));
    for (int i = 0; i < 6; ++i) static_cast<void>(boxes.back().send(b));
  }
  threads.resume();
  threads.drain();
  EXPECT_EQ(order, (std::vector<int>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST(an_executor, pauses_everybody) {
  executor threads(2);
  std::atomic<int> seen{0};
  auto box = threads.make_mailbox<int>([&](int) { ++seen; });
  threads.pause();
  for (int i = 0; i < 10; ++i) static_cast<void>(box.send(i));
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(seen, 0);
  threads.resume();
  threads.drain();
  EXPECT_EQ(seen, 10);
}

TEST(an_executor, drains_what_handlers_send_on) {
  executor threads(2);
  std::atomic<int> ends{0};
  std::deque<mailbox<int>> chain;
  chain.push_back(threads.make_mailbox<int>([&](int) { ++ends; }));
  for (int i = 0; i < 50; ++i) {
    chain.push_back(
        threads.make_mailbox<int>([to = chain.back().address()](int v) { static_cast<void>(to.send(v)); }));
  }
  for (int i = 0; i < 20; ++i) static_cast<void>(chain.back().send(i));
  threads.drain();
  EXPECT_EQ(ends, 20);
  EXPECT_EQ(threads.stats().served, 51U * 20U);
}

TEST(an_executor, ends_its_mailboxes_when_it_goes) {
  auto message = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = message;
  mailbox<std::shared_ptr<int>> box;
  {
    executor threads(2);
    box = threads.make_mailbox<std::shared_ptr<int>>([](const std::shared_ptr<int>&) {});
    threads.pause();
    static_cast<void>(box.send(std::move(message)));
  }
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(box.send(nullptr), send_status::closed);
  box.join();
  EXPECT_EQ(box.stats().dropped, 1U);
}

TEST(an_executor, says_which_option_is_out_of_range) {
  EXPECT_THROW(executor(257), std::invalid_argument);
  executor threads(1);
  const auto said = [&](const mailbox_options& options) -> std::string {
    try {
      static_cast<void>(threads.make_mailbox<int>([](int) {}, options));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said({.budget = 0}), "rota::gate: mailbox_options::budget is 0, and must be 1 to 65536");
  EXPECT_EQ(said({.budget = 65537}), "rota::gate: mailbox_options::budget is 65537, and must be 1 to 65536");
  EXPECT_NE(said({.capacity = (std::size_t{1} << 32U) + 1}).find("capacity"), std::string::npos);
  EXPECT_NE(said({.time_slice = -1ns}).find("time_slice is -1 ns"), std::string::npos);
  EXPECT_NE(said({.time_slice = std::chrono::nanoseconds::max()}).find("0 to a day"), std::string::npos);
  EXPECT_NE(said({.on_full = overflow{7}}).find("on_full is 7"), std::string::npos);
  EXPECT_NE(said({.band = priority_band{3}}).find("band is 3"), std::string::npos);
  EXPECT_NE(said({.error_policy = on_error{2}}).find("error_policy is 2"), std::string::npos);
  EXPECT_EQ(said({.capacity = 1, .budget = 65536, .time_slice = 0ns}), "nothing");
}

// Everything at once: many boxes, many senders, some boxes go while they are sent to. What was sent was served or dropped.
TEST(an_executor, accounts_for_every_message) {
  executor threads(2);
  constexpr int boxes = 64;
  constexpr int senders = 3;
  constexpr int each = 4000;
  std::array<std::atomic<std::uint64_t>, boxes> handled{};
  std::array<std::optional<mailbox<int>>, boxes> all;
  std::array<address<int>, boxes> to;
  for (std::size_t b = 0; b < boxes; ++b) {
    all.at(b) = threads.make_mailbox<int>([&count = handled.at(b)](int) { ++count; }, {.budget = 3});
    to.at(b) = all.at(b)->address();
  }
  std::atomic<std::uint64_t> sent{0};
  {
    std::vector<std::jthread> work;
    for (int s = 0; s < senders; ++s) {
      work.emplace_back([&, s] {
        for (int i = 0; i < each; ++i) {
          const auto b = static_cast<std::size_t>(i * 31 + s) % boxes;
          if (to.at(b).send(i) == send_status::sent) ++sent;
        }
      });
    }
    work.emplace_back([&] {
      for (std::size_t b = 0; b < boxes; b += 4) {
        all.at(b).reset();
        std::this_thread::yield();
      }
    });
  }
  threads.drain();
  std::uint64_t sum = 0;
  for (const auto& count : handled) sum += count;
  const executor_stats s = threads.stats();
  EXPECT_EQ(s.served, sum);
  EXPECT_EQ(s.served + s.dropped, sent);
  EXPECT_EQ(s.depth, 0U);
  EXPECT_EQ(s.mailboxes, boxes - boxes / 4U);
}

}  // namespace
}  // namespace rota::gate
