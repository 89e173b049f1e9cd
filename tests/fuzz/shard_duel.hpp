// Two timer shards beside their references, with wakers that arm and cancel when they fire.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../unit/time/shard_support.hpp"
#include "../unit/time/timer_reference.hpp"
#include "support/verdict.hpp"

namespace time_test {

class shard_duel {
 public:
  static constexpr unsigned shards = 2;
  /// A timer's action when it fires.
  using reaction = void (*)(shard_duel& duel, unsigned i, void* chosen_by);

  shard_duel(time_point now, unsigned timers, reaction reacts, void* chosen_by)
      : now_(now),
        reacts_(reacts),
        chosen_by_(chosen_by),
        shards_(shards, now),
        client_(timers),
        reference_{timer_reference(now, timers), timer_reference(now, timers)} {
    for (unsigned i = 0; i < timers; ++i) client_[i].place(*this, i);
  }
  shard_duel(const shard_duel&) = delete;
  shard_duel& operator=(const shard_duel&) = delete;
  ~shard_duel() = default;

  [[nodiscard]] time_point now() const { return now_; }
  [[nodiscard]] time_point next_deadline() const { return shards_.earliest(); }
  [[nodiscard]] const timer_reference& reference(unsigned s) const { return reference_[s]; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(client_.size()); }
  [[nodiscard]] const std::string& broken() const { return verdict_.broken(); }

  void set_clock(time_point to) { now_ = to; }

  void arm(unsigned i, unsigned s, time_point deadline) {
    client& c = client_[i];
    const bool was_armed = is_pending(i);
    // Its waker is on the way: it has fired, and the reference does not know yet.
    if (was_armed && c.node.state() == node_state::fired) return;
    if (was_armed) ++c.to_drop;
    reference_[c.shard].erase(i);
    c.shard = s;
    reference_[s].insert(i, deadline);

    shard& on = shards_.at(s);
    const time_point before = on.earliest();
    const arm_result said = on.arm(c.node, deadline, {&c, &vtable});
    verdict_.expect(said.earliest == on.earliest(), "arm() says which is the earliest");
    const bool moved = on.earliest() < before;
    verdict_.expect(moved == (said.duty == on_arm::announce_earlier), "an earlier one is announced");
    verdict_.expect(c.to_drop == 0, "the waker that was replaced is dropped");
    check();
  }

  void cancel(unsigned i) {
    client& c = client_[i];
    const bool pending = is_pending(i);
    const node_state before = c.node.state();
    if (before == node_state::armed) ++c.to_drop;
    const cancel_result said = shard::cancel(c.node);
    if (before == node_state::armed) {
      verdict_.expect(said == cancel_result::cancelled && pending, "what is armed is cancelled");
      reference_[c.shard].erase(i);
    } else if (before == node_state::fired) {
      verdict_.expect(said == cancel_result::already_fired, "what has fired is not cancelled");
    } else {
      verdict_.expect(said == cancel_result::was_not_armed && !pending, "what is not armed is not cancelled");
    }
    verdict_.expect(c.to_drop == 0, "a cancelled waker is dropped");
    check();
  }

  void poll(unsigned s, unsigned limit) {
    shard& of = shards_.at(s);
    const bool looks = of.earliest() <= now_;
    if (looks) reference_[s].begin_poll(now_);
    polls_ = s;
    woken_ = 0;
    const unsigned said = of.poll(now_, limit);
    polls_ = shards;
    verdict_.expect(said == woken_, "poll() says how many it woke");
    verdict_.expect(said <= limit, "no more than the limit");
    if (looks && said < limit) {
      const char* const missing = reference_[s].end_poll();
      verdict_.expect(missing == nullptr, missing);
    }
    check();
  }

  /// Everything is taken back.
  void end() {
    for (unsigned i = 0; i < size(); ++i) cancel(i);
    verdict_.expect(next_deadline() == never, "empty shards have a deadline");
  }

 private:
  struct client {
    void place(shard_duel& in, unsigned i) {
      duel = &in;
      index = i;
    }

    shard_duel* duel = nullptr;
    unsigned index = 0;
    unsigned shard = 0;
    unsigned to_drop = 0;
    timer_node node;
  };

  static client& of(void* data) noexcept { return *static_cast<client*>(data); }
  static void wake(void* data) noexcept { of(data).duel->fired(of(data)); }
  static void drop(void* data) noexcept { of(data).duel->dropped(of(data)); }
  static void* clone(void* data) noexcept { return data; }
  static constexpr rota::waker_vtable vtable{wake, wake, clone, drop};

  [[nodiscard]] bool is_pending(unsigned i) const { return reference_[client_[i].shard].holds(i); }

  void fired(client& c) {
    ++woken_;
    verdict_.expect(c.shard == polls_, "a timer fires from the shard that is polled");
    const char* const complaint = reference_[c.shard].fire(c.index);
    verdict_.expect(complaint == nullptr, complaint);
    verdict_.expect(c.node.state() == node_state::fired, "a timer whose waker is woken has fired");
    reacts_(*this, c.index, chosen_by_);
  }
  void dropped(client& c) {
    verdict_.expect(c.to_drop == 1, "a waker is dropped that should be woken");
    c.to_drop = 0;
  }

  void check() {
    for (unsigned s = 0; s < shards; ++s) {
      verdict_.expect(shards_.at(s).earliest() <= first_armed(s), "the earliest deadline is too late");
    }
    const auto counts = shards_.counts();
    const std::size_t pending = reference_[0].armed() + reference_[1].armed();
    // While a batch is woken, those that have fired and are not woken yet count as fired.
    if (polls_ != shards) return;
    verdict_.expect(counts.armed == counts.fired + counts.cancelled + pending, "each arm is accounted for");
  }

  /// Of those that have not fired: a batch is taken out before it is woken.
  [[nodiscard]] time_point first_armed(unsigned s) const {
    if (polls_ != s) return reference_[s].earliest();
    time_point least = never;
    for (const client& c : client_) {
      if (c.shard != s || c.node.state() != node_state::armed) continue;
      least = std::min(least, reference_[s].deadline(c.index));
    }
    return least;
  }

  time_point now_;
  reaction reacts_;
  void* chosen_by_;
  rota::test::verdict verdict_;
  timers shards_;
  std::vector<client> client_;
  std::array<timer_reference, shards> reference_;
  unsigned polls_ = shards;  // the shard with a running poll; `shards`: none
  unsigned woken_ = 0;
};

}  // namespace time_test
