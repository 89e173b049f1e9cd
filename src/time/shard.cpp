#include "time/shard.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rota::timing {

namespace {
constexpr unsigned batch_size = 32;
constexpr unsigned moves_per_lock = 256;  // a few microseconds: other threads may want to cancel
}  // namespace

/// The wakers of due timers: filled under the lock, woken after it.
struct shard::batch {
  std::array<waker, batch_size> wakers;
  unsigned size = 0;

  void wake() noexcept {
    for (unsigned i = 0; i < size; ++i) wakers[i].wake();
  }
};

shard::~shard() {
  const auto now = counts();
  if (now.armed != now.fired + now.cancelled) {
    ROTA_FATAL("a timer shard was destroyed with timers armed", now.armed - now.fired - now.cancelled);
  }
}

arm_result shard::arm(timer_node& node, base::time_point deadline, waker wake) noexcept {
  // relaxed: only the owner, which calls this, brings a node to a shard.
  shard* const holder = node.shard_.load(base::order::relaxed);
  if (holder != nullptr && holder != this) static_cast<void>(cancel(node));

  const base::lock_guard held(mutex_);
  // relaxed: another thread may have fired or cancelled the node, but under this lock.
  if (node.state_.load(base::order::relaxed) == node_state::armed) {
    wheel_.remove(node);
    count(cancelled_, 1);
  }
  // The old waker is dropped with the argument: after the lock.
  wake = std::exchange(node.waker_, std::move(wake));
  // relaxed: the store of `armed` publishes it.
  node.shard_.store(this, base::order::relaxed);
  wheel_.insert(node, deadline);
  // release: pairs with the acquire in state(): a cancel() that sees `armed` sees the shard.
  node.state_.store(node_state::armed, base::order::release);
  count(armed_, 1);
  const base::time_point before = earliest();
  publish();
  return {earliest() < before ? on_arm::announce_earlier : on_arm::nothing, earliest()};
}

cancel_result shard::cancel(timer_node& node) noexcept {
  waker dropped;  // outlives the lock below
  for (;;) {
    const node_state seen = node.state();
    if (seen == node_state::fired) return cancel_result::already_fired;
    if (seen != node_state::armed) return cancel_result::was_not_armed;
    // relaxed: a thread that sees `armed` sees the shard, and it is checked again below.
    shard* const holder = node.shard_.load(base::order::relaxed);
    const base::lock_guard held(holder->mutex_);
    // The state first: a node that was fired here and is being armed elsewhere gets its new shard before it
    // gets `armed`. In the other order, the two loads could see the old shard and the new `armed`.
    if (node.state() != node_state::armed) continue;
    // relaxed: ordered by the acquire in state(). Another shard: the node was moved; try again.
    if (node.shard_.load(base::order::relaxed) != holder) continue;
    holder->take_out(node, dropped);
    return cancel_result::cancelled;
  }
}

void shard::take_out(timer_node& node, waker& into) noexcept {
  wheel_.remove(node);
  into = std::move(node.waker_);
  count(cancelled_, 1);
  publish();
  // release: pairs with the acquire in state(): the owner may free the node now.
  node.state_.store(node_state::cancelled, base::order::release);
}

unsigned shard::poll(base::time_point now, unsigned limit) noexcept {
  if (earliest() > now) return 0;
  {
    const base::lock_guard held(mutex_);
    wheel_.begin_poll(now);
  }
  unsigned woken = 0;
  auto next = on_collect::look_again;
  while (woken < limit && next == on_collect::look_again) {
    batch due;
    next = collect(due, std::min(limit - woken, batch_size));
    due.wake();
    woken += due.size;
  }
  return woken;
}

shard::on_collect shard::collect(batch& due, unsigned limit) noexcept {
  const base::lock_guard held(mutex_);
  unsigned effort = moves_per_lock;
  timer_node* node = nullptr;
  while (due.size < limit && (node = wheel_.pop(effort)) != nullptr) {
    base::note_write(node);
    due.wakers[due.size++] = std::move(node->waker_);
    // release: pairs with the acquire in state(): the owner may free the node now, so this is the poll's last
    // touch.
    node->state_.store(node_state::fired, base::order::release);
  }
  count(fired_, due.size);
  publish();
  // NOT IN A MODEL: 256 timers that have to be moved
  return due.size == limit || effort == 0 ? on_collect::look_again : on_collect::finished;
}

void shard::publish() noexcept {
  const std::int64_t next = wheel_.next_deadline().time_since_epoch().count();
  // relaxed: only the holder of the lock writes it.
  if (next == earliest_.load(base::order::relaxed)) return;
  // release: pairs with the acquire in earliest(): a thread that sees the deadline sees what was armed.
  earliest_.store(next, base::order::release);
}

void shard::count(counter& which, std::uint64_t n) noexcept {
  // relaxed, both: only the holder of the lock writes; readers need a sum, not an order.
  which.store(which.load(base::order::relaxed) + n, base::order::relaxed);
}

timer_counts shard::counts() const noexcept {
  timer_counts seen;
  // relaxed, all three: exact when the shard is idle; before that, a guess.
  seen.armed = armed_.load(base::order::relaxed);
  seen.fired = fired_.load(base::order::relaxed);
  seen.cancelled = cancelled_.load(base::order::relaxed);
  return seen;
}

timers::timers(unsigned shards, base::time_point now) {
  ROTA_ASSERT(shards > 0);
  shards_.reserve(shards);
  for (unsigned i = 0; i < shards; ++i) shards_.push_back(std::make_unique<shard>(now));
}

base::time_point timers::earliest() const noexcept {
  base::time_point least = base::never;
  for (const auto& each : shards_) least = std::min(least, each->earliest());
  return least;
}

// NOT IN A MODEL: more timers than one poll wakes
unsigned timers::poll(unsigned first, base::time_point now, unsigned limit) noexcept {
  unsigned woken = 0;
  for (unsigned i = 0; i < size() && woken < limit; ++i) {
    woken += at((first + i) % size()).poll(now, limit - woken);
  }
  return woken;
}

timer_counts timers::counts() const noexcept {
  timer_counts sum;
  for (const auto& each : shards_) {
    const timer_counts one = each->counts();
    sum.armed += one.armed;
    sum.fired += one.fired;
    sum.cancelled += one.cancelled;
  }
  return sum;
}

}  // namespace rota::timing
