// The broadcast: each receiver gets each value once and in order, or counts it as lost. A value is whole.
#include "model/waiting.hpp"

#include <rota/channel/broadcast.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace rota::channel {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

/// Two words that belong together.
struct in_words {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  [[nodiscard]] static in_words of(std::uint64_t n) { return {n, n}; }
  [[nodiscard]] std::uint64_t number() const {
    check(first == second, "it is whole");
    return first;
  }
};
static_assert(detail::lies_in_words<in_words>);

/// The same in a node. The model detects an access at the wrong time.
struct in_node {
  explicit in_node(std::uint64_t n) : value(n) {}
  in_node(const in_node& other) : value(other.number()) {}
  in_node(in_node&& other) noexcept : value(other.number()) {}
  in_node& operator=(const in_node&) = delete;
  ~in_node() { value.set(99); }

  [[nodiscard]] static in_node of(std::uint64_t n) { return in_node(n); }
  [[nodiscard]] std::uint64_t number() const {
    check(value.get() != 99, "it is there");
    return value.get();
  }

  base::cell<std::uint64_t> value;
};

/// The values that one receiver got or lost, of those that are sent as 1, 2, 3...
struct account {
  std::uint64_t next = 1;

  template <class T>
  void note(const std::expected<T, no_item>& got) {
    if (got.has_value()) {
      check(got->number() == next, "each comes once, in order");
      ++next;
    } else if (got.error().why == recv_status::lagged) {
      check(got.error().lagged != 0, "nothing is not lost");
      next += got.error().lagged;
    }
  }
};

template <class T>
class broadcast_model : public ::testing::Test {
 protected:
  using halves = pair_of<broadcast_sender<T>, broadcast_receiver<T>>;
  static std::string named(const char* scene) {
    return std::string("broadcast_") + scene + (detail::lies_in_words<T> ? "_words" : "_node");
  }
  static void send(broadcast_sender<T>& tx, std::uint64_t n) {
    check(tx.send(T::of(n)) == send_status::sent, "it is open, and somebody receives");
  }
};
using both = ::testing::Types<in_words, in_node>;
TYPED_TEST_SUITE(broadcast_model, both);

// One place, three values: a value is overwritten while it is read.
TYPED_TEST(broadcast_model, received_and_lost_values_add_up) {
  expect_holds_everywhere(this->named("add_up"), [](execution& e) {
    auto made = broadcast<TypeParam>(1);
    auto& before = e.make<base::cell<int>>();
    e.thread("sender", [&before, tx = std::move(made.sender)]() mutable {
      before.set(1);
      for (std::uint64_t n = 1; n <= 3; ++n) TestFixture::send(tx, n);
      auto gone = std::move(tx);
    });
    e.thread("receiver", [&before, rx = std::move(made.receiver)]() mutable {
      account mine;
      for (;;) {
        const auto got = rx.blocking_recv();
        check(before.get() == 1, "what was done before is seen");
        if (!got.has_value() && got.error().why != recv_status::lagged) {
          check(got.error().why == recv_status::closed, "it has waited");
          break;
        }
        mine.note(got);
      }
      check(mine.next == 4, "all are accounted for");
      auto gone = std::move(rx);
    });
  });
}

TYPED_TEST(broadcast_model, two_receivers_each_get_all_in_one_order) {
  struct scene {
    TestFixture::halves made = broadcast<TypeParam>(2);
    broadcast_receiver<TypeParam> other = made.sender.subscribe();
    base::cell<std::uint64_t> first;
  };
  expect_holds_everywhere(this->named("order"), [](execution& e) {
    auto& x = e.make<scene>();
    for (std::uint64_t n = 1; n <= 2; ++n)
      e.thread("sender", [&x, n] { TestFixture::send(x.made.sender, n); });
    e.thread("receiver", [&x] {
      const auto one = x.made.receiver.blocking_recv();
      const auto two = x.made.receiver.blocking_recv();
      check(one.has_value() && two.has_value() && one->number() + two->number() == 3, "both came");
      x.first.set(one->number());
    });
    e.finally([&x] {
      const auto one = x.other.try_recv();
      const auto two = x.other.try_recv();
      check(one.has_value() && two.has_value() && one->number() + two->number() == 3, "both came here, too");
      check(one->number() == x.first.get(), "in the same order");
    });
  });
}

// Two that wait are woken by one send.
TYPED_TEST(broadcast_model, one_send_wakes_all_waiting_receivers) {
  struct scene {
    TestFixture::halves made = broadcast<TypeParam>(1);
    broadcast_receiver<TypeParam> other = made.sender.subscribe();
  };
  expect_holds_everywhere(this->named("all"), [](execution& e) {
    auto& x = e.make<scene>();
    for (broadcast_receiver<TypeParam>* const rx : {&x.made.receiver, &x.other})
      e.thread("receiver", [rx] {
        const auto got = rx->blocking_recv();
        check(got.has_value() && got->number() == 1, "it is there");
      });
    e.thread("sender", [&x] { TestFixture::send(x.made.sender, 1); });
  });
}

TYPED_TEST(broadcast_model, a_new_receiver_gets_what_is_sent_after_it) {
  struct scene {
    TestFixture::halves made = broadcast<TypeParam>(2);
  };
  expect_holds_everywhere(this->named("subscribe"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] {
      TestFixture::send(x.made.sender, 1);
      TestFixture::send(x.made.sender, 2);
      x.made.sender.close();
    });
    e.thread("subscriber", [&x] {
      auto rx = x.made.sender.subscribe();
      account mine;
      mine.next = 0;
      while (const auto got = rx.blocking_recv()) {
        if (mine.next == 0) mine.next = got->number();
        mine.note(got);
      }
      check(mine.next == 0 || mine.next == 3, "from some one on it gets all");
    });
    e.finally([&x] {
      account old;
      old.note(x.made.receiver.try_recv());
      old.note(x.made.receiver.try_recv());
      check(old.next == 3, "it has missed nothing");
    });
  });
}

// The last receiver destroys the kept values, beside a new receiver and a sender.
TYPED_TEST(broadcast_model, receivers_may_leave_and_subscribe_during_a_send) {
  expect_holds_everywhere(this->named("leave"), [](execution& e) {
    auto made = broadcast<TypeParam>(1);
    TestFixture::send(made.sender, 1);
    e.thread("sender", [tx = made.sender]() mutable {
      static_cast<void>(tx.send(TypeParam::of(2)));
      auto gone = std::move(tx);
    });
    e.thread("leaves", [rx = std::move(made.receiver)]() mutable { auto gone = std::move(rx); });
    e.thread("comes", [tx = std::move(made.sender)]() mutable {
      auto rx = tx.subscribe();
      const auto by_other = rx.try_recv();
      check(!by_other.has_value() || by_other->number() == 2, "it begins at now");
      check(tx.send(TypeParam::of(3)) == send_status::sent, "somebody receives");
      const auto got = rx.try_recv();
      const bool lagged = !got.has_value() && got.error().why == recv_status::lagged;
      check(!lagged || (got.error().lagged == 1 && !by_other.has_value()), "what the other sent was lost");
      check(lagged || (got.has_value() && got->number() >= 2), "it is there");
      auto gone_rx = std::move(rx);
      auto gone_tx = std::move(tx);
    });
  });
}

TYPED_TEST(broadcast_model, close_refuses_later_sends_and_wakes_waiting_receivers) {
  struct scene {
    TestFixture::halves made = broadcast<TypeParam>(2);
    base::cell<int> before;
    base::cell<int> sent;
    base::cell<int> received;
  };
  expect_holds_everywhere(this->named("close"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("receiver", [&x] {
      while (x.made.receiver.blocking_recv().has_value()) x.received.set(x.received.get() + 1);
      check(x.before.get() == 1, "what was done before the close is seen");
    });
    e.thread("sender",
             [&x] { x.sent.set(x.made.sender.send(TypeParam::of(1)) == send_status::sent ? 1 : 0); });
    e.thread("closer", [&x] {
      x.before.set(1);
      x.made.sender.close();
    });
    e.finally([&x] { check(x.sent.get() == x.received.get(), "sent means received"); });
  });
}

template <class T>
task<void> receives(broadcast_receiver<T>& from) {
  const auto got = co_await from.recv();
  check(got.has_value() && got->number() == 1, "nobody closes it");
}

TYPED_TEST(broadcast_model, a_cancelled_receive_has_taken_nothing) {
  struct scene {
    scene() {
      base::this_thread_locals().worker = &s.core();
      while (s.run_one()) {
      }
      base::this_thread_locals().worker = nullptr;
    }
    TestFixture::halves made = broadcast<TypeParam>(1);
    broadcast_receiver<TypeParam> of_second = made.sender.subscribe();
    model_scheduler s;
    watched<void> first{s, receives<TypeParam>(made.receiver)};
    watched<void> second{s, receives<TypeParam>(of_second)};
    canceller of_first{first.header()};
  };
  expect_holds_everywhere(this->named("cancel"), [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("sender", [&x] { TestFixture::send(x.made.sender, 1); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(x.made.receiver.try_recv().has_value() == x.first.was_cancelled(), "taken, or cancelled");
    });
  });
}

TYPED_TEST(broadcast_model, timed_out_receive_has_taken_nothing) {
  struct scene {
    TestFixture::halves made = broadcast<TypeParam>(1);
  };
  expect_holds_everywhere(this->named("late"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("receiver", [&x] {
      const auto first = x.made.receiver.blocking_recv_for(std::chrono::milliseconds(1));
      if (first.has_value()) return;
      check(first.error().why == recv_status::timed_out, "nobody closes it");
      check(x.made.receiver.blocking_recv().has_value(), "it comes");
    });
    e.thread("sender", [&x] { TestFixture::send(x.made.sender, 1); });
  });
}

}  // namespace
}  // namespace rota::channel
