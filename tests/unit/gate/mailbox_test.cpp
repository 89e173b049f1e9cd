#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>

#include "door.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::mailbox_test {
namespace {

using namespace std::chrono_literals;

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

TEST(a_mailbox, destroys_waiting_messages_when_it_is_destroyed) {
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

TEST(a_mailbox, waits_for_its_handler_when_it_is_destroyed) {
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

TEST(a_mailbox, refuses_calls_when_it_was_moved_from) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  const auto other = std::move(box);
  EXPECT_TRUE(other);
  EXPECT_FALSE(box);
  EXPECT_THROW(static_cast<void>(box.send(1)), std::logic_error);
  EXPECT_THROW(static_cast<void>(box.stats()), std::logic_error);
  EXPECT_THROW(static_cast<void>(address<int>().send(1)), std::logic_error);
}

// The usual actor: the handler owns its mailbox.
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

TEST(a_mailbox, may_be_owned_by_a_message_that_its_handler_destroys) {
  executor threads(1);
  std::latch gone(1);
  mailbox<int> first;
  mailbox<std::shared_ptr<mailbox<int>>> second =
      threads.make_mailbox<std::shared_ptr<mailbox<int>>>([](const std::shared_ptr<mailbox<int>>&) {});
  auto owned = std::make_shared<mailbox<int>>();
  *owned = threads.make_mailbox<int>([&](int) {
    second = {};  // destroys a message that owns this handler's mailbox
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

TEST(a_mailbox, refuses_a_drain_on_a_thread_of_its_executor) {
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

TEST(a_mailbox, continues_when_its_handler_throws_with_the_skip_policy) {
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

TEST(a_mailbox, takes_as_many_messages_of_a_batch_as_fit) {
  executor threads(1);
  std::vector<std::string> seen;
  auto box = threads.make_mailbox<std::string>([&](std::string&& s) { seen.push_back(std::move(s)); },
                                               {.capacity = 3});
  threads.pause();
  std::array<std::string, 4> words{"one", "two", "three", "four"};
  const sent_count first = box.send_n(words);
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.status, send_status::full);
  EXPECT_EQ(words[3], "four");
  EXPECT_EQ(box.send_n({}).count, 0U);
  threads.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_LE(box.stats().visits, 2U) << "a round for the drain's question, and one for them all, at most";
  box.close();
  EXPECT_EQ(box.send_n(std::span(words).subspan(3)).status, send_status::closed);
  EXPECT_EQ(words[3], "four");
}

}  // namespace
}  // namespace rota::gate::mailbox_test
