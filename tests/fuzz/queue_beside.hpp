// A channel with its halves, beside its reference model.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "queues_reference.hpp"
#include "scene.hpp"

#include <rota/channel/status.hpp>

namespace fuzz {

/// A half that exists as long as it is in use.
template <class Half>
struct shared_half {
  std::optional<Half> it;
  unsigned uses = 0;
};

/// The half that a task uses: one of its own, or one of the shared ones.
template <class Half>
class loan {
 public:
  loan(shared_half<Half>& of, bool is_own) : from_(is_own ? nullptr : &of) {
    if (is_own) {
      own_ = of.it;
    } else {
      ++of.uses;
    }
  }
  loan(loan&& other) noexcept : from_(std::exchange(other.from_, nullptr)), own_(std::move(other.own_)) {}
  loan(const loan&) = delete;
  loan& operator=(const loan&) = delete;
  ~loan() {
    if (from_ != nullptr) --from_->uses;
  }
  [[nodiscard]] Half& get() { return from_ != nullptr ? *from_->it : *own_; }

 private:
  shared_half<Half>* from_;
  std::optional<Half> own_;
};

/// A channel with up to three halves on each side, besides those of tasks, and its reference model.
template <class Sender, class Receiver>
class queue_beside {
 public:
  static constexpr unsigned most = 3;
  using sender_half = Sender;
  using receiver_half = Receiver;

  /// Does nothing if the current one still has halves.
  template <class Pair>
  void begin(number room, queue_reference::policy on_full, Pair make) {
    if (should.has_value() && should->has_halves()) return;
    auto made = make();
    senders[0].it.emplace(std::move(made.sender));
    receivers[0].it.emplace(std::move(made.receiver));
    should.emplace(room, on_full);
  }

  template <class Half>
  [[nodiscard]] static shared_half<Half>* any(std::array<shared_half<Half>, most>& of, number which) {
    for (unsigned i = 0; i < most; ++i) {
      shared_half<Half>& one = of[(which + i) % most];
      if (one.it.has_value()) return &one;
    }
    return nullptr;
  }
  [[nodiscard]] shared_half<Sender>* sender(number which) { return any(senders, which); }
  [[nodiscard]] shared_half<Receiver>* receiver(number which) { return any(receivers, which); }

  void copy_sender(number which) {
    if (copy(senders, which)) should->add_sender();
  }
  void copy_receiver(number which) {
    if (copy(receivers, which)) should->add_receiver();
  }
  void drop_sender(number which) {
    if (drop(senders, which)) should->drop_sender();
  }
  void drop_receiver(number which) {
    if (drop(receivers, which)) should->drop_receiver();
  }
  void close(number which) {
    if (which % 2 == 0 && sender(which) != nullptr) {
      sender(which)->it->close();
    } else if (receiver(which) != nullptr) {
      receiver(which)->it->close();
    } else {
      return;
    }
    should->close();
  }

  void compare(const scene& in) {
    if (const auto* const one = sender(0)) compare_with(in, *one->it);
    if (const auto* const one = receiver(0)) compare_with(in, *one->it);
  }

  std::array<shared_half<Sender>, most> senders;
  std::array<shared_half<Receiver>, most> receivers;
  std::optional<queue_reference> should;

 private:
  template <class Half>
  static bool copy(std::array<shared_half<Half>, most>& of, number which) {
    shared_half<Half>* const from = any(of, which);
    shared_half<Half>& to = of[(which + 1) % most];
    if (from == nullptr || to.it.has_value()) return false;
    to.it = from->it;
    return true;
  }
  template <class Half>
  static bool drop(std::array<shared_half<Half>, most>& of, number which) {
    shared_half<Half>& one = of[which % most];
    if (!one.it.has_value() || one.uses != 0) return false;
    one.it.reset();
    return true;
  }
  template <class Half>
  void compare_with(const scene& in, const Half& half) const {
    in.check(half.is_closed() == should->is_closed(), "a channel is closed that is");
    in.check(half.size() == should->size(), "so many items are in a channel");
    if constexpr (requires { half.stats(); }) {
      const rota::channel::channel_stats stats = half.stats();
      in.check(stats.refused == should->refused, "so many were refused");
      in.check(stats.dropped_oldest == should->dropped_oldest, "so many old ones were dropped");
      in.check(stats.dropped_newest == should->dropped_newest, "so many new ones were dropped");
    }
  }
};

}  // namespace fuzz
