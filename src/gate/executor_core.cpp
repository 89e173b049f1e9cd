#include "gate/executor_core.hpp"

#include "base/tls_slot.hpp"
#include "gate/mailbox_parts.hpp"
#include "task/header.hpp"
#include "task/ports.hpp"
#include "task/scheduler_here.hpp"

#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <algorithm>
#include <system_error>

namespace rota::gate::detail {

namespace {

constexpr std::uint32_t to_stop = 1;
constexpr std::uint32_t to_pause = 2;
constexpr std::uint32_t gone = 4;    // no consumer polls the lists any more: see PROTOCOL: executor
constexpr std::uint32_t ending = 8;  // mailboxes that are made from now on end at once
/// A task gives its worker back after this number of messages.
constexpr std::uint32_t messages_for_a_turn = 64;
/// One of so many takes begins at a lower band, the lower bands in turns; and one of so many begins at
/// another consumer's list.
constexpr unsigned takes_from_above = 9;
constexpr unsigned takes_from_home = 61;

/// Mailboxes with a reference each; the destructor drops the references.
struct kept_mailboxes {
  explicit kept_mailboxes(std::vector<mailbox_core*> kept) noexcept : them(std::move(kept)) {}
  kept_mailboxes(const kept_mailboxes&) = delete;
  kept_mailboxes& operator=(const kept_mailboxes&) = delete;
  ~kept_mailboxes() {
    for (mailbox_core* const each : them) each->drop_reference();
  }
  std::vector<mailbox_core*> them;
};

}  // namespace

// ---- bed

bool bed::sleep(base::time_point deadline) noexcept {
  std::uint32_t seen = awake;
  // acq_rel: same word as call(): what the claimer did is seen. failure: acquire: it was called already; the
  // same reason.
  if (word_.compare_exchange_strong(seen, asleep, base::order::acq_rel, base::order::acquire)) {
    do {
      // Usually without a deadline: a lost wakeup is a bug, and must show as one.
      if (base::futex_wait(word_, asleep, deadline) == base::wait_result::timed_out) {
        seen = asleep;
        // relaxed: there was no call. failure: relaxed: the exchange below acquires.
        if (word_.compare_exchange_strong(seen, awake, base::order::relaxed, base::order::relaxed))
          return false;
      }
      // acquire: pairs with the exchange in call().
    } while (word_.load(base::order::acquire) == asleep);
  }
  // acq_rel: same word as call(): consumes the call.
  word_.exchange(awake, base::order::acq_rel);
  return true;
}

void bed::call() noexcept {
  // acq_rel: same word as sleep(): the consumer sees what the caller did before.
  if (word_.exchange(called, base::order::acq_rel) == asleep) base::futex_wake(&word_, 1);
}

// ---- its life

executor_core::executor_core(unsigned consumers, bool by_tasks)
    : by_tasks_(by_tasks), ready_(consumers), idle_(consumers), consumers_(consumers) {
  for (unsigned i = 0; i < consumers; ++i) {
    consumers_[i].all = this;
    consumers_[i].index = i;
  }
}

executor_core& executor_core::create(unsigned threads) {
  auto* const made = new executor_core(threads, false);
  for (consumer& each : made->consumers_) {
    auto started = base::thread::start("rota-gate", run_consumer, &each);
    if (!started.has_value()) {
      made->stop_consumers();
      made->drop_reference();
      throw std::system_error(started.error(), "rota::gate::executor: a thread");
    }
    each.thread = std::move(*started);
  }
  return *made;
}

executor_core& executor_core::create_for_tasks(unsigned tasks) { return *new executor_core(tasks, true); }

void executor_core::drop_reference() noexcept {
  // acq_rel: the last drop frees, and sees what all others did.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

void executor_core::demand_own_process() const {
  if (!is_own_process()) throw error(errc::forked, "an executor");
}

std::uint32_t executor_core::next_number() noexcept {
  // relaxed: only the number matters.
  return numbers_.fetch_add(1, base::order::relaxed);
}

bool executor_core::is_stopping() const noexcept {
  // seq_cst: after the announcement of a park; pairs with the order in stop_consumers(), which comes before
  // its check for sleepers.
  return (orders_.load(base::order::seq_cst) & to_stop) != 0;
}

bool executor_core::is_paused() const noexcept {
  // seq_cst: same reason as in is_stopping(), with resume().
  return (orders_.load(base::order::seq_cst) & to_pause) != 0;
}

void executor_core::pause() noexcept {
  // relaxed: a message without data: visits that have begun go on to their end.
  orders_.fetch_or(to_pause, base::order::relaxed);
}

void executor_core::call(unsigned index) noexcept {
  if (by_tasks_) {
    consumers_[index].place.call();
  } else {
    consumers_[index].rest.call();
  }
}

void executor_core::resume() noexcept {
  // seq_cst: before the checks for sleepers: a consumer that announces later sees it.
  orders_.fetch_and(~to_pause, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
}

/// Tells tasks to stop; joins threads.
void executor_core::stop_consumers() noexcept {
  // seq_cst: same reason as in resume().
  orders_.fetch_or(to_stop, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
  for (consumer& each : consumers_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

void executor_core::shut_down() noexcept {
  // Mailboxes of which no handler runs end here; handlers that run are told.
  ask_all_to_end();
  stop_consumers();
  // seq_cst: before the sweep: a thread that publishes later sees it, and sweeps.
  orders_.fetch_or(gone, base::order::seq_cst);
  sweep();
  wait_until_all_have_ended();
}

void executor_core::ask_all_to_end() noexcept {
  for (;;) {
    mailbox_core* next = nullptr;
    {
      const base::lock_guard guard(lock_);
      if (alive_.is_alone()) return;
      registry_links& first = *alive_.next;
      next = first.whose;
      // Before it leaves the ring: a thread that finds the ring empty sweeps, and a sweep must not call
      // handlers.
      next->order_to_discard();
      first.unlink();
      first.insert_after(told_);
      next->add_reference();
    }
    static_cast<void>(next->ask_to_end());
    next->drop_reference();
  }
}

/// Runs the last round of each mailbox that is in a list.
void executor_core::sweep() noexcept {
  // The check is seq_cst, and comes after `gone`. The first, relaxed reads of take() may be older.
  for (unsigned looks = 0; ready_.has_items(); ++looks) {
    bool found = false;
    for (unsigned i = 0; i < ready_.shards(); ++i) {
      mailbox_core* const left = ready_.take(i, 0).item;
      if (left == nullptr) continue;
      left->visit();
      found = true;
    }
    if (found) looks = 0;
    if (!found) base::back_off(looks);  // another thread has taken them and not kept them yet
  }
}

void executor_core::wait_until_all_have_ended() noexcept {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const base::lock_guard guard(lock_);
      if (alive_.is_alone() && told_.is_alone()) return;
      // relaxed: counted under the lock.
      seen = struck_off_.load(base::order::relaxed);
    }
    if (help_once()) continue;
    const waiting_section section;
    static_cast<void>(base::futex_wait(struck_off_, seen, base::never));
  }
}

// ---- the registry

void executor_core::enrol(mailbox_core& made) noexcept {
  {
    const base::lock_guard guard(lock_);
    made.parts_->registered.whose = &made;
    made.parts_->registered.insert_after(alive_);
    // relaxed: a thread that ends them all takes the lock after it has set the flag.
    if ((orders_.load(base::order::relaxed) & ending) == 0) return;
  }
  ask_all_to_end();
}

void executor_core::strike_off(mailbox_core& ended) noexcept {
  const base::lock_guard guard(lock_);
  ended.parts_->registered.unlink();
  remove_rest(ended);
  add(of_ended_, ended.stats());
  // relaxed: under the lock. Only an executor that is being destroyed waits for it.
  struck_off_.fetch_add(1, base::order::relaxed);
  if (is_stopping()) base::futex_wake(&struck_off_, INT32_MAX);
}

void executor_core::add(executor_stats& sum, const mailbox_stats& one) noexcept {
  sum.depth += one.depth;
  sum.served += one.served;
  sum.failed += one.failed;
  sum.dropped += one.dropped;
  sum.visits += one.visits;
  sum.restarts += one.restarts;
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

/// Returns all mailboxes, each with a reference.
std::vector<mailbox_core*> executor_core::all_that_live() {
  std::vector<mailbox_core*> all;
  do {
    const std::size_t count = totals().mailboxes;
    all.reserve(count + count / 8 + 1);
  } while (!collect(all));
  return all;
}

void executor_core::wait_until_all_were_empty() {
  const kept_mailboxes all(all_that_live());
  std::vector<mailbox_core::emptiness> asked;
  asked.reserve(all.them.size());
  for (mailbox_core* const each : all.them) asked.push_back(each->ask_for_emptiness());
  for (std::size_t i = 0; i < all.them.size(); ++i) all.them[i]->wait_until_emptied(asked[i]);
}

/// As executor::drain(), but the task waits.
task<void> executor_core::drain_all(core_reference of) {
  of->demand_own_process();
  if (of->handles_here()) throw_would_deadlock("drain of an executor by one of its handlers");
  std::uint64_t before = 0;
  do {
    before = of->totals().served;
    const kept_mailboxes all(of->all_that_live());
    for (mailbox_core* const each : all.them) {
      rest_leaf empty(*each, rest_leaf::until::empty);
      co_await empty;
    }
  } while (of->totals().served != before);
}

/// Returns false if `all` has not enough memory for all of them. Memory is not allocated under the lock.
bool executor_core::collect(std::vector<mailbox_core*>& all) noexcept {
  const base::lock_guard guard(lock_);
  for (auto* each = alive_.next; each != &alive_; each = each->next) {
    if (all.size() == all.capacity()) {
      // Not the last reference: a mailbox in the ring has another one.
      for (mailbox_core* const one : all) one->drop_reference();
      all.clear();
      return false;
    }
    each->whose->add_reference();
    all.push_back(each->whose);
  }
  return true;
}

// ---- handlers that rest

void executor_core::end_rest_later(mailbox_core& box, base::time_point when) noexcept {
  if (by_tasks_) {
    try {
      box.parts_->rest = core::spawn_on(core::scheduler_here(), end_rest_at(kept_mailbox(box), when));
    } catch (...) {
      box.end_rest();
    }
    return;
  }
  bool is_first = false;
  {
    const base::lock_guard guard(lock_);
    // relaxed: written under the lock.
    is_first = when.time_since_epoch().count() < next_rest_.load(base::order::relaxed);
    insert_rest(box, when);
  }
  if (is_first) call_sleepers();
}

/// Called after the deadline has become earlier. Calls each sleeper, not only one: the called consumer may
/// find a ready mailbox first, and its handler may run for long; the others would sleep until the old
/// deadline.
void executor_core::call_sleepers() noexcept {
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
}

/// Under the lock, as the next two functions.
void executor_core::insert_rest(mailbox_core& box, base::time_point until) noexcept {
  resting_mailbox& rest = box.parts_->resting;
  rest.whose = &box;
  rest.until = until;
  resting_.insert(rest);
  set_next_rest();
}

/// Does nothing for a mailbox that does not rest.
void executor_core::remove_rest(mailbox_core& box) noexcept {
  resting_mailbox& rest = box.parts_->resting;
  if (std::exchange(rest.whose, nullptr) == nullptr) return;
  resting_.remove(rest);
  set_next_rest();
}

void executor_core::set_next_rest() noexcept {
  const resting_mailbox* const earliest = resting_.top();
  const base::time_point first = earliest == nullptr ? base::never : earliest->until;
  // seq_cst: before claim_parked(); pairs with the load after a sleeper's announcement.
  next_rest_.store(first.time_since_epoch().count(), base::order::seq_cst);
}

/// Ends the rests of which the time has come.
void executor_core::end_rests() noexcept {
  const base::time_point now = base::now();
  for (;;) {
    mailbox_core* due = nullptr;
    {
      const base::lock_guard guard(lock_);
      const resting_mailbox* const earliest = resting_.top();
      if (earliest != nullptr && earliest->until <= now) {
        due = earliest->whose;
        due->add_reference();
        remove_rest(*due);
      }
    }
    if (due == nullptr) return;
    due->end_rest();
    due->drop_reference();
  }
}

task<void> executor_core::end_rest_at(kept_mailbox box, base::time_point when) {
  co_await sleep_until(when);
  box->end_rest();
}

// ---- publish and look

void executor_core::publish(mailbox_core& ready) noexcept {
  auto* const here = static_cast<consumer*>(base::this_thread_locals().consumer);
  const unsigned shard = here != nullptr && here->all == this ? here->index : ready.parts_->home;
  ready_.push(shard, ready.parts_->band, ready);
  look();
  sweep_if_gone();
}

/// Called after a push, and by a consumer that leaves.
void executor_core::sweep_if_gone() noexcept {
  // seq_cst: after the push, or the last take; pairs with the thread that sets `gone` and then sweeps.
  if ((orders_.load(base::order::seq_cst) & gone) != 0) [[unlikely]]
    sweep();
}

void executor_core::look() noexcept {
  if (const auto whom = idle_.after_ring()) call(whom->worker);
}

// ---- a consumer

bool executor_core::runs_here() const noexcept {
  const auto* const here = static_cast<const consumer*>(base::this_thread_locals().consumer);
  return here != nullptr && here->all == this;
}

bool executor_core::handles_here() noexcept {
  const base::lock_guard guard(lock_);
  for (const auto* ring : {&alive_, &told_}) {
    for (const auto* each = ring->next; each != ring; each = each->next) {
      if (each->whose->runs_here()) return true;
    }
  }
  return false;
}

bool executor_core::would_deadlock() const noexcept {
  const auto* const task = static_cast<const core::header*>(base::this_thread_locals().task);
  if (runs_here()) return true;
  // relaxed: after `gone` no consumer is left that could be delayed; and another runtime may have been made
  // at the address of the tasks' own one.
  return task != nullptr && task->owner == scheduler_ && (orders_.load(base::order::relaxed) & gone) == 0;
}

base::time_point executor_core::now() const noexcept {
  if (alone_ != nullptr) return alone_->ops->now(*alone_);
  const auto* const task = static_cast<const core::header*>(base::this_thread_locals().task);
  return by_tasks_ && task != nullptr ? task->owner->ops->now(*task->owner) : base::now();
}

executor_core::waiting_section::waiting_section() noexcept {
  if (core::task_in_sight() != nullptr) lent_.emplace();
}

bool executor_core::help_once() noexcept {
  if (alone_ == nullptr) return false;
  if (!alone_->ops->run_another(*alone_, base::never))
    ROTA_FATAL(
        "a wait for mailboxes on a testing::runtime, where nothing can run that would end it: co_await their "
        "async_join() or async_drain()",
        0);
  return true;
}

bool executor_core::help_before(base::time_point deadline) noexcept {
  return alone_ != nullptr && alone_->ops->run_another(*alone_, deadline);
}

void executor_core::note_scheduler(const core::header& task) noexcept {
  scheduler_ = task.owner;
  if (task.owner->ops->run_another != nullptr) alone_ = task.owner;
}

/// Marks this thread as the consumer's while it lives. Runs of tasks nest.
struct executor_core::on_thread {
  explicit on_thread(consumer& me) noexcept
      : here(base::this_thread_locals()), outer(std::exchange(here.consumer, &me)) {}
  on_thread(const on_thread&) = delete;
  on_thread& operator=(const on_thread&) = delete;
  ~on_thread() { here.consumer = outer; }

  base::thread_locals& here;
  void* outer;
};

void executor_core::run_consumer(void* raw) noexcept {
  auto& me = *static_cast<consumer*>(raw);
  const on_thread here(me);
  me.all->serve(me);
}

void executor_core::serve(consumer& me) noexcept {
  while (!is_stopping()) {
    if (mailbox_core* const ready = find(me)) {
      ready->visit();
    } else if (me.met_holder) {
      base::back_off(me.looks++);
    } else {
      sleep(me);
    }
  }
  if (me.searching) leave_search(me);
}

mailbox_core* executor_core::find(consumer& me) noexcept {
  me.met_holder = false;
  // relaxed: a hint; a consumer that is about to sleep reads it again.
  const base::time_point::rep first = next_rest_.load(base::order::relaxed);
  if (first != no_rest && base::now().time_since_epoch().count() >= first) [[unlikely]]
    end_rests();
  if (!is_paused()) {
    // Starvation: a consumer that always has mailboxes in its own list would never serve those behind a
    // delayed consumer.
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
  if (!me.met_holder) me.looks = 0;
  return nullptr;
}

mailbox_core* executor_core::take(consumer& me, unsigned shard) noexcept {
  const unsigned first =
      (me.takes + 1) % takes_from_above != 0 ? 0 : 1 + me.takes / takes_from_above % (priority_bands - 1);
  const auto found = ready_.take(shard, first);
  me.met_holder = me.met_holder || found.held;
  if (found.item == nullptr) return nullptr;
  ++me.takes;
  me.looks = 0;
  if (me.searching) leave_search(me);
  if (found.more) look();
  return found.item;
}

/// The last searcher checks the lists: a thread that published meanwhile saw a searcher and relied on it.
void executor_core::leave_search(consumer& me) noexcept {
  me.searching = false;
  if (idle_.leave_with_work() && ready_.has_items()) look();
}

bool executor_core::has_reason_to_stay() const noexcept {
  return is_stopping() || (!is_paused() && ready_.has_items());
}

void executor_core::sleep(consumer& me) noexcept {
  idle_.announce_park(me.index, me.searching);
  me.searching = false;
  bool was_called = false;
  if (!has_reason_to_stay()) {
    // seq_cst: after the announcement; pairs with set_next_rest() and the claim_parked() that follows it.
    const base::time_point deadline{base::time_point::duration(next_rest_.load(base::order::seq_cst))};
    was_called = me.rest.sleep(deadline);
  }
  bool first_awake = false;
  // If the consumer was claimed, the call has to be consumed.
  if (idle_.rise(me.index, first_awake) == queue::idle::on_rise::claimed && !was_called) me.rest.sleep();
  me.searching = true;
}

// ---- a consumer that is a task

/// A consumer that is a task. It is in the task's frame from the beginning, so it leaves however the task
/// ends.
class executor_core::seat {
 public:
  seat(executor_core& core, unsigned index) noexcept : core_(core), index_(index) {
    // relaxed: a count; the last one that leaves acquires.
    core.living_.fetch_add(1, base::order::relaxed);
  }
  seat(seat&&) noexcept = default;
  seat& operator=(seat&&) = delete;
  ~seat() {
    if (core_) core_->leave(me());
  }

  [[nodiscard]] executor_core& core() const noexcept { return *core_; }
  [[nodiscard]] consumer& me() const noexcept { return core_->consumers_[index_]; }
  void sit_down() const noexcept {
    core::disinherit(*core::task_in_sight());  // what it inherited from the maker of the executor
    try {
      this_task::set_name("gate consumer");
    } catch (const std::bad_alloc&) {
      return;  // then it has no name
    }
  }
  [[nodiscard]] pause_kind serve() const noexcept { return core_->serve_for_a_while(me()); }

 private:
  core_reference core_;
  unsigned index_;
};

/// Completes when the consumer is called, or has to check the lists again.
class executor_core::nap_leaf final : public leaf {
 public:
  explicit nap_leaf(const seat& mine) noexcept : core_(&mine.core()), me_(&mine.me()) {}
  ~nap_leaf() {
    // Claimed, and cancelled: the search token is given back when the consumer leaves.
    if (!is_over_ && me_->place.was_called()) get_up();
  }

  [[nodiscard]] bool is_ready() noexcept final { return at_once_ || me_->place.was_called(); }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept final {
    if (at_once_) return cancel_progress::ended;
    if (rises_alone()) {
      is_over_ = true;
      return cancel_progress::ended;
    }
    return me_->place.was_called() ? cancel_progress::ended : cancel_progress::pending;
  }
  [[nodiscard]] const char* what() const noexcept final { return "a ready mailbox"; }
  void await_resume() noexcept {
    if (!at_once_) get_up();
    is_over_ = true;
  }

 protected:
  bool start() final {
    me_->place.lie_down(make_waker());
    core_->idle_.announce_park(me_->index, me_->searching);
    me_->searching = false;
    at_once_ = core_->has_reason_to_stay() && rises_alone();
    if (at_once_) is_over_ = true;
    return at_once_;
  }

 private:
  /// Ends the sleep without a call. Returns false if a thread has claimed the consumer; that thread will call
  /// it.
  [[nodiscard]] bool rises_alone() noexcept {
    bool first_awake = false;
    if (core_->idle_.rise(me_->index, first_awake) == queue::idle::on_rise::claimed) return false;
    static_cast<void>(me_->place.get_up());
    me_->searching = true;
    return true;
  }
  void get_up() noexcept {
    me_->place.answer();
    me_->searching = true;
  }

  executor_core* core_;
  consumer* me_;
  bool at_once_ = false;
  bool is_over_ = false;
};

executor_core::pause_kind executor_core::serve_for_a_while(consumer& me) noexcept {
  const on_thread here(me);
  std::uint32_t served = 0;
  while (!is_stopping()) {
    mailbox_core* const ready = find(me);
    if (ready == nullptr) {
      // The holder of the lock may have been preempted: gives it, and the worker's other tasks, time.
      if (me.met_holder) base::back_off(me.looks++);
      return me.met_holder ? pause_kind::turn : pause_kind::nap;
    }
    served += 1 + ready->visit();
    if (served >= messages_for_a_turn) return pause_kind::turn;
  }
  return pause_kind::stop;
}

task<void> executor_core::consume(executor_core& core, unsigned index) { return sit(seat(core, index)); }

task<void> executor_core::sit(seat mine) {
  mine.sit_down();
  for (;;) {
    const pause_kind next = mine.serve();
    if (next == pause_kind::stop) co_return;
    if (next == pause_kind::turn) {
      co_await yield();
    } else {
      nap_leaf nap(mine);
      co_await nap;
    }
  }
}

void executor_core::leave(consumer& me) noexcept {
  if (me.searching) leave_search(me);
  // acq_rel: the last one comes after all others.
  if (living_.fetch_sub(1, base::order::acq_rel) == 1 && !is_stopping()) {
    // The runtime shuts down.
    // relaxed: the lock that follows hands it to enrol().
    orders_.fetch_or(ending, base::order::relaxed);
    ask_all_to_end();
    // seq_cst: before the sweep: a thread that publishes later sees it, and sweeps. Only after all have the
    // order to discard: a sweep calls no handler.
    orders_.fetch_or(gone, base::order::seq_cst);
  }
  sweep_if_gone();
}

}  // namespace rota::gate::detail
