// For channel models: the halves of a channel are dropped beside sends.
#pragma once

#include "model/waiting.hpp"

#include <optional>
#include <utility>

namespace rota::model {

/// Counts how many are alive.
class counted {
 public:
  // relaxed, all. A count of the model's.
  explicit counted(base::atomic<int>& alive) noexcept : alive_(&alive) {
    alive_->fetch_add(1, base::order::relaxed);
  }
  counted(counted&& from) noexcept : counted(*from.alive_) {}
  counted& operator=(counted&&) = delete;
  ~counted() { alive_->fetch_sub(1, base::order::relaxed); }

 private:
  base::atomic<int>* alive_;
};

/// The halves go in any order, beside `each` sends of two senders and a receive. `first` items are in it at
/// first.
template <class Make>
auto halves_go_in_any_order(Make make, int first, int each) {
  return [make, first, each](testing::execution& e) {
    auto& alive = e.make<base::atomic<int>>(0);
    auto made = make();
    for (int n = 0; n < first; ++n) static_cast<void>(made.sender.try_send(counted(alive)));
    for (int i = 0; i < 2; ++i)
      e.thread("sender", [&alive, each, tx = made.sender]() mutable {
        for (int n = 0; n < each; ++n) static_cast<void>(tx.try_send(counted(alive)));
        auto gone = std::move(tx);
      });
    e.thread("receiver", [rx = std::move(made.receiver)]() mutable {
      static_cast<void>(rx.try_recv());
      auto gone = std::move(rx);
    });
    {
      auto gone = std::move(made.sender);
    }
    // relaxed. All have ended.
    e.finally([&alive] { testing::check(alive.load(base::order::relaxed) == 0, "all are destroyed"); });
  };
}

/// The last receiver ends beside two sends: an item without a receiver is destroyed, though its sender stays.
template <class Make>
auto no_item_outlives_the_last_receiver(Make make) {
  struct meeting {
    explicit meeting(decltype(make()) made)
        : tx(std::move(made.sender)), rx(std::in_place, std::move(made.receiver)) {}
    decltype(make().sender) tx;
    std::optional<decltype(make().receiver)> rx;
    base::atomic<int> alive{0};
  };
  return [make](testing::execution& e) {
    auto& x = e.make<meeting>(make());
    for (int i = 0; i < 2; ++i)
      e.thread("sender", [&x] { static_cast<void>(x.tx.try_send(counted(x.alive))); });
    e.thread("goes", [&x] { x.rx.reset(); });
    e.finally([&x] {
      // relaxed. All have ended.
      testing::check(x.alive.load(base::order::relaxed) == 0, "no item is left");
    });
  };
}

}  // namespace rota::model
