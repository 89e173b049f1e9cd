// P11, weak senders: one can be upgraded only while a sender exists, and the last half frees the channel.
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>

#include <utility>

namespace rota::channel {
namespace {

using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

/// An upgrade beside the end of the last sender: it keeps the channel open, or the end has come.
template <class Halves>
void expect_upgrade_holds(const char* name, Halves (*make)()) {
  expect_holds_everywhere(name, [make](execution& e) {
    auto& sent = e.make<base::cell<int>>();
    auto& received = e.make<base::cell<int>>();
    auto made = make();
    e.thread("weak", [&sent, weak = made.sender.downgrade()]() mutable {
      {
        auto tx = weak.upgrade();
        if (tx.has_value()) {
          check(tx->try_send(1) == send_status::sent, "nobody has closed it");
          sent.set(1);
        }
      }
      auto gone = std::move(weak);
    });
    e.thread("last", [tx = std::move(made.sender)]() mutable { auto gone = std::move(tx); });
    e.thread("receiver", [&received, rx = std::move(made.receiver)]() mutable {
      while (const auto got = rx.blocking_recv()) received.set(received.get() + *got);
      auto gone = std::move(rx);
    });
    e.finally([&sent, &received] { check(sent.get() == received.get(), "what was sent has come"); });
  });
}

TEST(weak_model, an_upgrade_during_the_end_of_the_last_sender_loses_no_item) {
  expect_upgrade_holds("weak_bounded", +[] { return bounded<int>(1); });
  expect_upgrade_holds("weak_unbounded", +[] { return unbounded<int>(); });
}

// Two upgrades and the end, all at once: each that succeeds counts.
TEST(weak_model, each_successful_upgrade_of_two_keeps_the_channel_open) {
  expect_holds_everywhere("weak_two", [](execution& e) {
    auto made = bounded<int>(2);
    for (int i = 0; i < 2; ++i)
      e.thread("weak", [weak = made.sender.downgrade()]() mutable {
        {
          auto tx = weak.upgrade();
          if (tx.has_value()) check(tx->try_send(1) == send_status::sent, "nobody has closed it");
        }
        auto gone = std::move(weak);
      });
    e.thread("last", [tx = std::move(made.sender)]() mutable { auto gone = std::move(tx); });
    auto& rx = e.make<receiver<int>>(std::move(made.receiver));
    e.finally([&rx] {
      while (rx.try_recv().has_value()) {
      }
      check(rx.is_closed() && rx.try_recv().error() == recv_status::closed, "it is the end");
    });
  });
}

// The weak one may be the last that goes, after both sides.
TEST(weak_model, the_last_half_frees_the_channel) {
  expect_holds_everywhere("weak_last", [](execution& e) {
    auto made = bounded<int>(1);
    e.thread("weak", [weak = made.sender.downgrade()]() mutable {
      static_cast<void>(weak.is_closed());
      auto gone = std::move(weak);
    });
    e.thread("sender", [tx = std::move(made.sender)]() mutable {
      static_cast<void>(tx.try_send(1));
      auto gone = std::move(tx);
    });
    e.thread("receiver", [rx = std::move(made.receiver)]() mutable { auto gone = std::move(rx); });
  });
}

}  // namespace
}  // namespace rota::channel
