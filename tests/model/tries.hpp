// A try beside another that is in the middle of its move: what channel_model and chain_model have in common.
#pragma once

#include "model/waiting.hpp"

#include <rota/channel/status.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace rota::model {

/// One sender is in its move, and another has overtaken it. From then on there is an item: the other's, or,
/// if that is taken first, one sent before the second is taken. `make`: the channel, with three places.
template <class Make>
auto a_try_says_empty_only_of_an_empty_channel(Make make) {
  struct meeting {
    explicit meeting(decltype(make()) made) : tx(std::move(made.sender)), rx(std::move(made.receiver)) {}
    decltype(make().sender) tx;
    decltype(make().receiver) rx;
    base::cell<bool> was_empty{false};
    base::cell<std::uint32_t> first{0};
  };
  return [make](testing::execution& e) {
    auto& x = e.make<meeting>(make());
    e.thread("is late", [&x] { static_cast<void>(x.tx.try_send(1)); });
    e.thread("goes past", [&x] {
      testing::check(x.tx.try_send(2) == channel::send_status::sent, "there is room");
      x.was_empty.set(!x.rx.try_recv().has_value());
    });
    e.thread("takes two", [&x] {
      x.first.set(x.rx.try_recv().value_or(0));
      static_cast<void>(x.tx.try_send(4));
      static_cast<void>(x.rx.try_recv());
    });
    e.finally([&x] { testing::check(!x.was_empty.get() || x.first.get() == 2, "one was there"); });
  };
}

/// One item is there at first, and another is sent before that one goes: a try beside it finds an item.
/// `make`: the channel with two places, or one if it drops the oldest. `goes_on`: sends one, then takes one.
template <class Make, class GoesOn>
void expect_one_is_always_there(std::string_view name, Make make, GoesOn goes_on) {
  testing::options stale = exhaustive(name);
  stale.stale_reads = 3;  // of the slot, and twice of the tail
  expect_holds(stale, [make, goes_on](testing::execution& e) {
    auto made = make();
    testing::check(made.sender.try_send(1) == channel::send_status::sent, "there is room");
    e.thread("goes on",
             [goes_on, tx = std::move(made.sender), rx = made.receiver]() mutable { goes_on(tx, rx); });
    e.thread("tries", [rx = std::move(made.receiver)]() mutable {
      testing::check(rx.try_recv().has_value(), "one was there");
    });
  });
}

/// A `goes_on`: receives.
inline constexpr auto sends_and_receives = [](auto& tx, auto& rx) {
  testing::check(tx.try_send(2) == channel::send_status::sent, "there is room");
  static_cast<void>(rx.try_recv());
};

}  // namespace rota::model
