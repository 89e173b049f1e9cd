#include "gate/executor_core.hpp"

#include "base/tls_slot.hpp"
#include "gate/mailbox_parts.hpp"

#include <system_error>

namespace rota::gate::detail {

namespace {

constexpr std::uint32_t to_stop = 1;
constexpr std::uint32_t to_pause = 2;
/// Of so many takes one begins at a lower band, each in its turn; and of so many one begins at another consumer's list.
constexpr unsigned takes_from_above = 9;
constexpr unsigned takes_from_home = 61;

}  // namespace

// ---- bed

void bed::sleep() noexcept {
  std::uint32_t seen = awake;
  // acq_rel. Same word as call(): what the claimer did is seen. failure: acquire. It was called already: the same.
  if (word_.compare_exchange_strong(seen, asleep, base::order::acq_rel, base::order::acquire)) {
    do {
      // No deadline: a wake that is lost is a bug, and must look like one.
      static_cast<void>(base::futex_wait(word_, asleep, base::never));
      // acquire. Pairs with the exchange in call().
    } while (word_.load(base::order::acquire) == asleep);
  }
  // acq_rel. Same word as call(): consumes it.
  word_.exchange(awake, base::order::acq_rel);
}

void bed::call() noexcept {
  // acq_rel. Same word as sleep(): what the caller did before is seen by the consumer.
  if (word_.exchange(called, base::order::acq_rel) == asleep) base::futex_wake(&word_, 1);
}

// ---- its life

executor_core::executor_core(unsigned threads) : ready_(threads), idle_(threads), consumers_(threads) {
  for (unsigned i = 0; i < threads; ++i) {
    consumers_[i].all = this;
    consumers_[i].index = i;
  }
}

executor_core& executor_core::create(unsigned threads) {
  auto* const made = new executor_core(threads);
  for (consumer& each : made->consumers_) {
    auto started = base::thread::start("rota-gate", run_consumer, &each);
    if (!started.has_value()) {
      made->stop_threads();
      made->drop_reference();
      throw std::system_error(started.error(), "rota::gate::executor: a thread");
    }
    each.thread = std::move(*started);
  }
  return *made;
}

void executor_core::drop_reference() noexcept {
  // acq_rel. The last one frees, and sees what all others did.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

std::uint32_t executor_core::next_number() noexcept {
  // relaxed. A number and nothing more.
  return numbers_.fetch_add(1, base::order::relaxed);
}

bool executor_core::is_stopping() const noexcept {
  // seq_cst. After the announcement of a park, against shut_down()'s order before it looks for sleepers.
  return (orders_.load(base::order::seq_cst) & to_stop) != 0;
}

bool executor_core::is_paused() const noexcept {
  // seq_cst. As above, against resume().
  return (orders_.load(base::order::seq_cst) & to_pause) != 0;
}

void executor_core::pause() noexcept {
  // relaxed. A message: visits that have begun go on to their end.
  orders_.fetch_or(to_pause, base::order::relaxed);
}

void executor_core::resume() noexcept {
  // seq_cst. Before the looks for sleepers: who announces later sees it.
  orders_.fetch_and(~to_pause, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) consumers_[i].rest.call();
  }
}

void executor_core::stop_threads() noexcept {
  // seq_cst. As in resume().
  orders_.fetch_or(to_stop, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) consumers_[i].rest.call();
  }
  for (consumer& each : consumers_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

void executor_core::shut_down() noexcept {
  // Those that run nowhere end here; a handler that runs is waited for; what is in a list is left for below.
  for (;;) {
    mailbox_core* next = nullptr;
    {
      const base::lock_guard guard(lock_);
      if (alive_.is_alone()) break;
      registry_links& first = *alive_.next;
      first.unlink();
      first.insert_after(told_);
      next = first.whose;
      next->add_reference();
    }
    next->abandon();
    next->drop_reference();
  }
  stop_threads();
  // What is in a list has its last round here. Whoever was admitted and has not delivered yet does so in a moment.
  for (;;) {
    bool found = false;
    for (unsigned i = 0; i < ready_.shards(); ++i) {
      mailbox_core* const left = ready_.take(i, 0).item;
      if (left == nullptr) continue;
      left->visit();
      found = true;
    }
    if (found) continue;
    {
      const base::lock_guard guard(lock_);
      if (told_.is_alone()) return;
    }
    base::yield_thread();
  }
}

// ---- the registry

void executor_core::enrol(mailbox_core& made) noexcept {
  const base::lock_guard guard(lock_);
  made.parts_->registered.whose = &made;
  made.parts_->registered.insert_after(alive_);
}

void executor_core::strike_off(mailbox_core& ended) noexcept {
  const base::lock_guard guard(lock_);
  ended.parts_->registered.unlink();
  add(of_ended_, ended.stats());
}

void executor_core::add(executor_stats& sum, const mailbox_stats& one) noexcept {
  sum.depth += one.depth;
  sum.served += one.served;
  sum.failed += one.failed;
  sum.dropped += one.dropped;
  sum.visits += one.visits;
}

executor_stats executor_core::totals() noexcept {
  const base::lock_guard guard(lock_);
  executor_stats sum = of_ended_;
  sum.depth = 0;
  for (const auto* ring : {&alive_, &told_}) {
    for (const auto* each = ring->next; each != ring; each = each->next) {
      ++sum.mailboxes;
      add(sum, each->whose->stats());
    }
  }
  return sum;
}

void executor_core::wait_until_all_were_empty() {
  std::vector<mailbox_core*> all;
  std::vector<mailbox_core::emptiness> asked;
  do {
    const std::size_t count = totals().mailboxes;
    all.reserve(count + count / 8 + 1);
    asked.reserve(all.capacity());
  } while (!collect(all));
  for (mailbox_core* const each : all) asked.push_back(each->ask_for_emptiness());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->wait_until_emptied(asked[i]);
    all[i]->drop_reference();
  }
}

/// False: there is no room for all of them, and memory is not asked for under the lock.
bool executor_core::collect(std::vector<mailbox_core*>& all) noexcept {
  const base::lock_guard guard(lock_);
  for (auto* each = alive_.next; each != &alive_; each = each->next) {
    if (all.size() == all.capacity()) {
      for (mailbox_core* const one : all) one->drop_reference();  // not the last: who is in the ring has one
      all.clear();
      return false;
    }
    each->whose->add_reference();
    all.push_back(each->whose);
  }
  return true;
}

// ---- publish and look

void executor_core::publish(mailbox_core& ready) noexcept {
  auto* const here = static_cast<consumer*>(base::this_thread_locals().consumer);
  const unsigned shard = here != nullptr && here->all == this ? here->index : ready.parts_->home;
  ready_.push(shard, ready.parts_->band, ready);
  look();
}

void executor_core::look() noexcept {
  if (const auto whom = idle_.after_ring()) consumers_[whom->worker].rest.call();
}

// ---- a consumer

bool executor_core::runs_here() const noexcept {
  const auto* const here = static_cast<const consumer*>(base::this_thread_locals().consumer);
  return here != nullptr && here->all == this;
}

void executor_core::run_consumer(void* raw) noexcept {
  auto& me = *static_cast<consumer*>(raw);
  base::this_thread_locals().consumer = &me;
  me.all->serve(me);
  base::this_thread_locals().consumer = nullptr;
}

void executor_core::serve(consumer& me) noexcept {
  while (!is_stopping()) {
    if (mailbox_core* const ready = find(me)) ready->visit();
  }
  if (me.searching) leave_search(me);
}

mailbox_core* executor_core::find(consumer& me) noexcept {
  me.met_holder = false;
  if (!is_paused()) {
    // Whoever always has something at home would leave alone what waits behind a consumer that is held up.
    if (me.takes % takes_from_home == takes_from_home - 1 && consumers() > 1) {
      const unsigned far = me.index + 1 + me.takes / takes_from_home % (consumers() - 1);
      if (mailbox_core* const found = take(me, far % consumers())) return found;
    }
    if (mailbox_core* const found = take(me, me.index)) return found;
    if (!me.searching) me.searching = idle_.try_search();
    for (unsigned i = 1; me.searching && i < consumers(); ++i) {
      if (mailbox_core* const found = take(me, (me.index + i) % consumers())) return found;
    }
  }
  if (me.met_holder) {
    base::yield_thread();
  } else {
    sleep(me);
  }
  return nullptr;
}

mailbox_core* executor_core::take(consumer& me, unsigned shard) noexcept {
  const unsigned first =
      (me.takes + 1) % takes_from_above != 0 ? 0 : 1 + me.takes / takes_from_above % (priority_bands - 1);
  const auto found = ready_.take(shard, first);
  me.met_holder = me.met_holder || found.held;
  if (found.item == nullptr) return nullptr;
  ++me.takes;
  if (me.searching) leave_search(me);
  if (found.more) look();
  return found.item;
}

/// Who was the last searcher looks: who published meanwhile saw a searcher and relied on it.
void executor_core::leave_search(consumer& me) noexcept {
  me.searching = false;
  if (idle_.leave_with_work() && ready_.has_items()) look();
}

void executor_core::sleep(consumer& me) noexcept {
  idle_.announce_park(me.index, me.searching);
  me.searching = false;
  const bool stays = is_stopping() || (!is_paused() && ready_.has_items());
  if (!stays) me.rest.sleep();
  bool first_awake = false;
  // Claimed: the call has to be consumed, if it was not slept for.
  if (idle_.rise(me.index, first_awake) == queue::idle::on_rise::claimed && stays) me.rest.sleep();
  me.searching = true;
}

}  // namespace rota::gate::detail
