// The watch: a value is read whole and never goes back, each change is noticed, an unread value ends once.
#include "model/waiting.hpp"

#include <rota/channel/watch.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
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
  in_node& operator=(const in_node& other) {
    value.set(other.number());
    return *this;
  }
  ~in_node() { value.set(99); }

  [[nodiscard]] static in_node of(std::uint64_t n) { return in_node(n); }
  [[nodiscard]] std::uint64_t number() const {
    check(value.get() != 99, "it is there");
    return value.get();
  }

  base::cell<std::uint64_t> value;
};

template <class T>
class watch_model : public ::testing::Test {
 protected:
  using halves = pair_of<watch_sender<T>, watch_receiver<T>>;
  static std::string named(const char* scene) {
    return std::string("watch_") + scene + (detail::lies_in_words<T> ? "_words" : "_node");
  }
  static std::uint64_t see(const watch_receiver<T>& rx) {
    return rx.borrow([](const T& value) { return value.number(); });
  }
  static std::uint64_t update(watch_receiver<T>& rx) {
    return rx.borrow_and_update([](const T& value) { return value.number(); });
  }
};
using both = ::testing::Types<in_words, in_node>;
TYPED_TEST_SUITE(watch_model, both);

TYPED_TEST(watch_model, a_value_is_whole_and_never_goes_back) {
  struct scene {
    TestFixture::halves made = watch(TypeParam::of(0));
    base::cell<int> before;
  };
  expect_holds_everywhere(this->named("whole"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] {
      x.before.set(1);
      check(x.made.sender.send(TypeParam::of(1)) == send_status::sent, "nobody closes it");
      check(x.made.sender.send(TypeParam::of(2)) == send_status::sent, "nobody closes it");
    });
    e.thread("reader", [&x] {
      const std::uint64_t first = TestFixture::see(x.made.receiver);
      const std::uint64_t second = TestFixture::see(x.made.receiver);
      check(first <= second && second <= 2, "it never goes back");
      check(second == 0 || x.before.get() == 1, "what was done before is seen");
    });
  });
}

// It waits after a check without the lock.
TYPED_TEST(watch_model, a_waiter_is_woken_for_a_value_that_it_has_not_seen) {
  expect_holds_everywhere(this->named("hears"), [](execution& e) {
    auto made = watch(TypeParam::of(0));
    e.thread("sender", [tx = std::move(made.sender)]() mutable {
      check(tx.send(TypeParam::of(1)) == send_status::sent, "nobody closes it");
      check(tx.send(TypeParam::of(2)) == send_status::sent, "nobody closes it");
      auto gone = std::move(tx);
    });
    e.thread("receiver", [rx = std::move(made.receiver)]() mutable {
      std::uint64_t seen = TestFixture::update(rx);
      for (;;) {
        const auto more = rx.blocking_changed();
        if (!more.has_value()) {
          check(more.error() == recv_status::closed, "it has waited");
          break;
        }
        const std::uint64_t now = TestFixture::update(rx);
        check(now > seen, "it is new");
        seen = now;
      }
      check(seen == 2 && TestFixture::see(rx) == 2, "the last one is not missed");
      auto gone = std::move(rx);
    });
  });
}

TYPED_TEST(watch_model, every_receiver_is_woken_by_a_send) {
  struct scene {
    TestFixture::halves made = watch(TypeParam::of(0));
    watch_receiver<TypeParam> other = made.receiver;
    base::cell<int> before;
  };
  expect_holds_everywhere(this->named("all"), [](execution& e) {
    auto& x = e.make<scene>();
    for (watch_receiver<TypeParam>* const rx : {&x.made.receiver, &x.other})
      e.thread("receiver", [&x, rx] {
        check(rx->blocking_changed().has_value(), "nobody closes it");
        check(x.before.get() == 1, "what was done before is seen");
      });
    e.thread("sender", [&x] {
      x.before.set(1);
      check(x.made.sender.send(TypeParam::of(1)) == send_status::sent, "nobody closes it");
    });
  });
}

TYPED_TEST(watch_model, modifications_are_all_made) {
  struct scene {
    TestFixture::halves made = watch(TypeParam::of(0));
  };
  expect_holds_everywhere(this->named("modify"), [](execution& e) {
    auto& x = e.make<scene>();
    for (int i = 0; i < 2; ++i)
      e.thread("sender", [tx = x.made.sender]() mutable {
        const auto change = [](TypeParam& value) { value = TypeParam::of(value.number() + 1); };
        check(tx.send_modify(change) == send_status::sent, "nobody closes it");
        auto gone = std::move(tx);
      });
    e.finally([&x] { check(TestFixture::see(x.made.receiver) == 2, "both are made"); });
  });
}

TYPED_TEST(watch_model, a_close_refuses_values_and_wakes_waiters) {
  struct scene {
    TestFixture::halves made = watch(TypeParam::of(0));
    base::cell<int> before;
    base::cell<int> sent;
  };
  expect_holds_everywhere(this->named("close"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("receiver", [&x, rx = x.made.receiver]() mutable {
      while (rx.blocking_changed().has_value()) {
      }
      check(x.before.get() == 1, "what was done before the close is seen");
      const std::uint64_t last = TestFixture::see(rx);
      check(TestFixture::see(rx) == last, "nothing comes after the end");
      auto gone = std::move(rx);
    });
    e.thread("sender",
             [&x] { x.sent.set(x.made.sender.send(TypeParam::of(1)) == send_status::sent ? 1 : 0); });
    e.thread("closer", [&x] {
      x.before.set(1);
      x.made.sender.close();
    });
    e.finally([&x] {
      check(TestFixture::see(x.made.receiver) == static_cast<std::uint64_t>(x.sent.get()), "sent means sent");
    });
  });
}

TYPED_TEST(watch_model, the_halves_can_be_destroyed_in_any_order) {
  expect_holds_everywhere(this->named("halves"), [](execution& e) {
    auto made = watch(TypeParam::of(0));
    e.thread("sender", [tx = std::move(made.sender)]() mutable {
      static_cast<void>(tx.send(TypeParam::of(1)));
      if (tx.has_receivers()) static_cast<void>(TestFixture::see(tx.subscribe()));
      auto gone = std::move(tx);
    });
    e.thread("receiver", [rx = made.receiver]() mutable {
      static_cast<void>(TestFixture::see(rx));
      auto gone = std::move(rx);
    });
    e.thread("receiver", [rx = std::move(made.receiver)]() mutable {
      const auto copy = rx;
      auto gone = std::move(rx);
    });
  });
}

template <class T>
task<void> hears(watch_receiver<T>& of) {
  const auto more = co_await of.changed();
  check(more.has_value(), "nobody closes it");
}

// Cancelled beside the send: the other waiter is woken, and so is a later one at the same receiver.
TYPED_TEST(watch_model, a_cancelled_wait_has_seen_nothing) {
  struct scene {
    scene() {
      base::this_thread_locals().worker = &s.core();
      while (s.run_one()) {
      }
      base::this_thread_locals().worker = nullptr;
    }
    TestFixture::halves made = watch(TypeParam::of(0));
    watch_receiver<TypeParam> of_second = made.receiver;
    model_scheduler s;
    watched<void> first{s, hears<TypeParam>(made.receiver)};
    watched<void> second{s, hears<TypeParam>(of_second)};
    canceller of_first{first.header()};
  };
  expect_holds_everywhere(this->named("cancel"), [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("sender",
             [&x] { check(x.made.sender.send(TypeParam::of(1)) == send_status::sent, "it is open"); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(x.made.receiver.has_changed() == x.first.was_cancelled(), "seen, or cancelled");
    });
  });
}

TYPED_TEST(watch_model, a_wait_that_times_out_has_seen_nothing) {
  struct scene {
    TestFixture::halves made = watch(TypeParam::of(0));
  };
  expect_holds_everywhere(this->named("late"), [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("receiver", [&x] {
      const auto more = x.made.receiver.blocking_changed_for(std::chrono::milliseconds(1));
      if (!more.has_value()) {
        check(more.error() == recv_status::timed_out, "nobody closes it");
        check(x.made.receiver.blocking_changed().has_value(), "it comes");
      }
      check(!x.made.receiver.has_changed() && TestFixture::see(x.made.receiver) == 1, "it is seen");
    });
    e.thread("sender",
             [&x] { check(x.made.sender.send(TypeParam::of(1)) == send_status::sent, "it is open"); });
  });
}

}  // namespace
}  // namespace rota::channel
