// A watch and a broadcast with their halves, beside their reference models, and the waits of their receivers.
#pragma once

#include <array>
#include <chrono>
#include <expected>
#include <optional>
#include <utility>

#include "news_reference.hpp"
#include "sequence.hpp"
#include "waits.hpp"

#include <rota/channel/broadcast.hpp>
#include <rota/channel/watch.hpp>

namespace fuzz {

namespace channel = rota::channel;

inline constexpr unsigned most = 3;

template <class T>
number code_of_news(std::expected<T, channel::no_item>& got) {
  if (got.has_value()) return got->what();
  return got.error().why == channel::recv_status::lagged ? broadcast_reference::lagged(got.error().lagged)
                                                         : code_of(got.error().why);
}
inline number code_of_change(const std::expected<void, channel::recv_status>& got) {
  return got.has_value() ? yes : code_of(got.error());
}

template <class T>
struct change_wait {
  channel::watch_receiver<T>* of;
  auto leaf() { return of->changed(); }
  auto timed(std::chrono::milliseconds limit) { return of->changed_for(limit); }
  static number got(std::expected<void, channel::recv_status> how) { return code_of_change(how); }
};

template <class T>
struct news_wait {
  channel::broadcast_receiver<T>* of;
  auto leaf() { return of->recv(); }
  auto timed(std::chrono::milliseconds limit) { return of->recv_for(limit); }
  static number got(std::expected<T, channel::no_item> how) { return code_of_news(how); }
};

template <class T>
rota::task<void> waits_for_value(scene::seat me, channel::watch_receiver<T>* of, number least) {
  const auto is_wanted = [least](const T& value) { return value.what() >= least; };
  me.made();
  if (me.how().hesitates) co_await rota::yield();
  me.begin(false);
  number code = closed;
  if (me.how().limit == plan::never) {
    auto wait = of->when(is_wanted);
    const auto got = co_await std::move(wait);
    if (got.has_value()) code = got->what();
  } else {
    auto wait = of->when_for(me.limit(), is_wanted);
    const auto got = co_await std::move(wait);
    code = got.has_value() ? got->what() : code_of(got.error());
  }
  code == late ? me.end_late() : me.end(0, code);
}

template <class Half>
using halves = std::array<std::optional<Half>, most>;

template <class Half>
unsigned count(const halves<Half>& of) {
  unsigned n = 0;
  for (const auto& each : of) n += each.has_value() ? 1 : 0;
  return n;
}
template <class Half>
std::optional<Half>* any(halves<Half>& of, number which) {
  for (unsigned i = 0; i < most; ++i) {
    if (of[(which + i) % most].has_value()) return &of[(which + i) % most];
  }
  return nullptr;
}
/// `which`, and a value that is not there yet.
template <class Half>
std::optional<Half>* absent(halves<Half>& of) {
  for (auto& each : of) {
    if (!each.has_value()) return &each;
  }
  return nullptr;
}

template <class T>
class watch_beside {
 public:
  explicit watch_beside(scene& in) : in_(&in) { renew(); }

  void step(const operation& next) {
    const number which = next.which;
    switch (next.what) {
      case 0:
      case 1: return wait(next, 0);
      case 2: return wait(next, first_item + which / 4 % 8);
      case 3:
      case 4: return send(first_item + which / 4 % 8, which % 4 == 0);
      case 5: return look(which);
      case 6: return change_senders(which);
      case 7: return change_receivers(which);
      case 8: return try_change(which);
      default: return which % 4 == 0 ? close() : renew();
    }
  }
  /// Returns a receiver without a wait, or null.
  [[nodiscard]] channel::watch_receiver<T>* free_receiver(number which) {
    auto& one = receivers_[which % most];
    return one.has_value() && !in_->is_staked(should_->receivers[which % most]) ? &*one : nullptr;
  }
  [[nodiscard]] watch_reference::receiver& should(number which) { return should_->receivers[which % most]; }

  void compare() {
    const auto* const sender = any(senders_, 0);
    if (sender != nullptr) {
      in_->check((*sender)->is_closed() == should_->is_closed, "a watch is closed that is");
      in_->check((*sender)->has_receivers() == should_->has_receivers(), "somebody would hear of it");
      in_->check((*sender)->get().what() == should_->value, "a watch has the last value");
    }
    for (unsigned i = 0; i < most; ++i) {
      if (!receivers_[i].has_value()) continue;
      const bool has_changed = should_->count != should_->receivers[i].seen;
      in_->check(receivers_[i]->has_changed() == has_changed, "a value has come that was not seen");
      in_->check(receivers_[i]->is_closed() == should_->is_closed, "a watch is closed that is");
      in_->check(receivers_[i]->get().what() == should_->value, "all see the last value");
    }
  }
  [[nodiscard]] number alive() const { return count(senders_) + count(receivers_) != 0 ? 1 : 0; }
  [[nodiscard]] number unseen() const { return should_->count - should_->receivers[0].seen; }

  void drain() {
    close();
    for (number i = 0; i < most; ++i) {
      drop_sender(i);
      drop_receiver(i);
    }
  }

 private:
  void wait(const operation& next, number least) {
    channel::watch_receiver<T>* const of = free_receiver(next.which);
    if (of == nullptr) return;
    plan how = plan_of(next.how);
    how.stakes[0] = {&should(next.which), least};
    if (least == 0) return start_wait(*in_, how, change_wait<T>{of});
    in_->start(how, [&](scene::seat me) { return waits_for_value(std::move(me), of, least); });
  }
  void send(number value, bool modifies) {
    auto* const by = any(senders_, value);
    if (by == nullptr) return;
    const auto did = modifies ? (*by)->send_modify([value](T& is) { is = T(value); }) : (*by)->send(T(value));
    in_->check(code_of(did) == should_->send(value), "a value is sent unless it is closed");
  }
  void look(number which) {
    channel::watch_receiver<T>* const of = free_receiver(which);
    if (of == nullptr) return;
    const number seen = which / 4 % 2 == 0
                            ? of->get_and_update().what()
                            : of->borrow_and_update([](const T& value) { return value.what(); });
    should(which).seen = should_->count;
    in_->check(seen == should_->value, "who looks sees the last value");
  }
  void try_change(number which) {
    channel::watch_receiver<T>* const of = free_receiver(which);
    if (of == nullptr) return;
    const number expected = should(which).try_changed();
    const bool tries = which / 4 % 2 == 0;
    const number got =
        code_of_change(tries ? of->try_changed() : of->blocking_changed_for(std::chrono::milliseconds(0)));
    in_->check(got == (expected == empty && !tries ? late : expected), "a change is heard of once");
  }
  void change_senders(number which) {
    if (which % 2 == 0) return drop_sender(which / 2);
    auto* const from = any(senders_, which / 2);
    auto* const to = absent(senders_);
    if (from == nullptr || to == nullptr) return;
    to->emplace(**from);
    ++should_->senders;
  }
  void change_receivers(number which) {
    if (which % 4 == 0) return drop_receiver(which / 4);
    auto* const from = any(receivers_, which / 4);
    auto* const by = any(senders_, which / 4);
    auto* const to = absent(receivers_);
    if (to == nullptr) return;
    number seen = should_->count;
    if (which % 4 == 1 && by != nullptr) {
      to->emplace((*by)->subscribe());
    } else if (from != nullptr) {
      seen = should(index_of(from)).seen;
      to->emplace(**from);
    } else {
      return;
    }
    should(index_of(to)).is_here = true;
    should(index_of(to)).seen = seen;
  }
  [[nodiscard]] number index_of(const std::optional<channel::watch_receiver<T>>* one) const {
    return static_cast<number>(one - receivers_.data());
  }
  void drop_sender(number which) {
    if (!senders_[which % most].has_value()) return;
    senders_[which % most].reset();
    should_->drop_sender();
  }
  void drop_receiver(number which) {
    if (free_receiver(which) == nullptr) return;
    receivers_[which % most].reset();
    should(which).is_here = false;
  }
  void close() {
    auto* const by = any(senders_, 0);
    if (by == nullptr) return;
    (*by)->close();
    should_->is_closed = true;
  }
  void renew() {
    if (alive() != 0) return;
    auto made = channel::watch<T>(T(first_item));
    senders_[0].emplace(std::move(made.sender));
    receivers_[0].emplace(std::move(made.receiver));
    should_.emplace(first_item);
  }

  scene* in_;
  halves<channel::watch_sender<T>> senders_;
  halves<channel::watch_receiver<T>> receivers_;
  std::optional<watch_reference> should_;
};

template <class T>
class broadcast_beside {
 public:
  broadcast_beside(scene& in, number room) : in_(&in), room_(room) { renew(); }

  void step(const operation& next) {
    const number which = next.which;
    switch (next.what) {
      case 0:
      case 1: return wait(next);
      case 2:
      case 3:
      case 4: return send(which);
      case 5: return receive(which);
      case 6: return change_senders(which);
      case 7: return change_receivers(which);
      default: return which % 4 == 0 ? close() : renew();
    }
  }
  [[nodiscard]] channel::broadcast_receiver<T>* free_receiver(number which) {
    auto& one = receivers_[which % most];
    return one.has_value() && !in_->is_staked(should_->receivers[which % most]) ? &*one : nullptr;
  }
  [[nodiscard]] broadcast_reference::receiver& should(number which) {
    return should_->receivers[which % most];
  }

  void compare() {
    const auto* const sender = any(senders_, 0);
    if (sender != nullptr) {
      in_->check((*sender)->is_closed() == should_->is_closed, "a broadcast is closed that is");
      in_->check((*sender)->has_receivers() == should_->has_receivers(), "somebody receives");
    }
    for (unsigned i = 0; i < most; ++i) {
      if (!receivers_[i].has_value()) continue;
      in_->check(receivers_[i]->is_closed() == should_->is_closed, "a broadcast is closed that is");
      in_->check(receivers_[i]->size() == should_->receivers[i].behind(),
                 "so many were sent and not received");
    }
  }
  [[nodiscard]] number alive() const { return should_->kept.size(); }

  void drain() {
    close();
    for (number i = 0; i < most; ++i) {
      drop_sender(i);
      drop_receiver(i);
    }
  }

 private:
  void wait(const operation& next) {
    channel::broadcast_receiver<T>* const of = free_receiver(next.which);
    if (of == nullptr) return;
    plan how = plan_of(next.how);
    how.stakes[0] = {&should(next.which), 0};
    start_wait(*in_, how, news_wait<T>{of});
  }
  void send(number which) {
    auto* const by = any(senders_, which);
    if (by == nullptr) return;
    const number value = first_item + ++sent_;
    in_->check(code_of((*by)->send(T(value))) == should_->send(value), "a value is sent to who receives");
  }
  void receive(number which) {
    channel::broadcast_receiver<T>* const of = free_receiver(which);
    if (of == nullptr) return;
    const number expected = should(which).receive();
    const bool tries = which / 4 % 2 == 0;
    auto got = tries ? of->try_recv() : of->blocking_recv_for(std::chrono::milliseconds(0));
    in_->check(code_of_news(got) == (expected == empty && !tries ? late : expected), "each value comes once");
  }
  void change_senders(number which) {
    if (which % 2 == 0) return drop_sender(which / 2);
    auto* const from = any(senders_, which / 2);
    auto* const to = absent(senders_);
    if (from == nullptr || to == nullptr) return;
    to->emplace(**from);
    ++should_->senders;
  }
  void change_receivers(number which) {
    if (which % 4 == 0) return drop_receiver(which / 4);
    auto* const from = any(receivers_, which / 4);
    auto* const by = any(senders_, which / 4);
    auto* const to = absent(receivers_);
    if (to == nullptr) return;
    if (which % 4 == 1 && by != nullptr) {
      to->emplace((*by)->subscribe());
    } else if (from != nullptr) {
      to->emplace((*from)->subscribe());
    } else {
      return;
    }
    should_->subscribe(static_cast<unsigned>(to - receivers_.data()));
  }
  void drop_sender(number which) {
    if (!senders_[which % most].has_value()) return;
    senders_[which % most].reset();
    should_->drop_sender();
  }
  void drop_receiver(number which) {
    if (free_receiver(which) == nullptr) return;
    receivers_[which % most].reset();
    should_->drop_receiver(static_cast<unsigned>(which % most));
  }
  void close() {
    auto* const by = any(senders_, 0);
    if (by == nullptr) return;
    (*by)->close();
    should_->is_closed = true;
  }
  void renew() {
    if (count(senders_) + count(receivers_) != 0) return;
    auto made = channel::broadcast<T>(room_);
    senders_[0].emplace(std::move(made.sender));
    receivers_[0].emplace(std::move(made.receiver));
    should_.emplace(room_);
  }

  scene* in_;
  number room_;
  number sent_ = 0;
  halves<channel::broadcast_sender<T>> senders_;
  halves<channel::broadcast_receiver<T>> receivers_;
  std::optional<broadcast_reference> should_;
};

}  // namespace fuzz
