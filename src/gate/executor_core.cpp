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
constexpr std::uint32_t gone = 4;    // nobody comes by any more: see Protocol executor
constexpr std::uint32_t ending = 8;  // mailboxes that are made now end at once
/// A task gives its worker back after so many messages.
constexpr std::uint32_t messages_for_a_turn = 64;
/// Of so many takes one begins at a lower band, each in its turn; and of so many one begins at another consumer's list.
constexpr unsigned takes_from_above = 9;
constexpr unsigned takes_from_home = 61;

/// Gives their references back.
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
  // acq_rel. Same word as call(): what the claimer did is seen. failure: acquire. It was called already: the same.
  if (word_.compare_exchange_strong(seen, asleep, base::order::acq_rel, base::order::acquire)) {
    do {
      // Without a deadline, mostly: a wake that is lost is a bug, and must look like one.
      if (base::futex_wait(word_, asleep, deadline) == base::wait_result::timed_out) {
        seen = asleep;
        // relaxed. Nobody has called. failure: relaxed. The exchange below acquires.
        if (word_.compare_exchange_strong(seen, awake, base::order::relaxed, base::order::relaxed))
          return false;
      }
      // acquire. Pairs with the exchange in call().
    } while (word_.load(base::order::acquire) == asleep);
  }
  // acq_rel. Same word as call(): consumes it.
  word_.exchange(awake, base::order::acq_rel);
  return true;
}

void bed::call() noexcept {
  // acq_rel. Same word as sleep(): what the caller did before is seen by the consumer.
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
  // acq_rel. The last one frees, and sees what all others did.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

void executor_core::demand_own_process() const {
  if (!is_own_process()) throw error(errc::forked, "an executor");
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

void executor_core::call(unsigned index) noexcept {
  if (by_tasks_) {
    consumers_[index].place.call();
  } else {
    consumers_[index].rest.call();
  }
}

void executor_core::resume() noexcept {
  // seq_cst. Before the looks for sleepers: who announces later sees it.
  orders_.fetch_and(~to_pause, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
}

/// Tasks are told, threads have ended.
void executor_core::stop_consumers() noexcept {
  // seq_cst. As in resume().
  orders_.fetch_or(to_stop, base::order::seq_cst);
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
  for (consumer& each : consumers_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

void executor_core::shut_down() noexcept {
  // Those that run nowhere end here; handlers that run are told.
  ask_all_to_end();
  stop_consumers();
  // seq_cst. Before the sweep: who publishes later sees it, and sweeps.
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
      // Before it leaves the ring: who finds nobody there sweeps, and a sweep must serve nobody.
      next->order_to_discard();
      first.unlink();
      first.insert_after(told_);
      next->add_reference();
    }
    static_cast<void>(next->ask_to_end());
    next->drop_reference();
  }
}

/// What is in a list has its last round here.
void executor_core::sweep() noexcept {
  // The look is seq_cst, and comes after `gone`; what take() sees first may be older.
  for (unsigned looks = 0; ready_.has_items(); ++looks) {
    bool found = false;
    for (unsigned i = 0; i < ready_.shards(); ++i) {
      mailbox_core* const left = ready_.take(i, 0).item;
      if (left == nullptr) continue;
      left->visit();
      found = true;
    }
    if (found) looks = 0;
    if (!found) base::back_off(looks);  // another has them in its hands
  }
}

void executor_core::wait_until_all_have_ended() noexcept {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const base::lock_guard guard(lock_);
      if (alive_.is_alone() && told_.is_alone()) return;
      // relaxed. Under the lock, under which it is counted.
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
    // relaxed. Whoever ends them all takes the lock after it has said so.
    if ((orders_.load(base::order::relaxed) & ending) == 0) return;
  }
  ask_all_to_end();
}

void executor_core::strike_off(mailbox_core& ended) noexcept {
  const base::lock_guard guard(lock_);
  ended.parts_->registered.unlink();
  remove_rest(ended);
  add(of_ended_, ended.stats());
  // relaxed. Under the lock. Only an executor that is about to go waits for them.
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

/// Each with a reference.
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

/// As executor::drain(), with another kind of wait.
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
    // relaxed. Under the lock, under which it is written.
    is_first = when.time_since_epoch().count() < next_rest_.load(base::order::relaxed);
    insert_rest(box, when);
  }
  if (is_first) call_sleepers();
}

/// After the deadline has become earlier. Each sleeper is called, not one: the called consumer may find a ready mailbox first, and its
/// handler may run for long; the others would sleep until the old deadline.
void executor_core::call_sleepers() noexcept {
  for (unsigned i = 0; i < consumers(); ++i) {
    if (idle_.claim_parked(i).has_value()) call(i);
  }
}

/// Under the lock, as the next two.
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
  // seq_cst. Before claim_parked(), against the load after a sleeper's announcement.
  next_rest_.store(first.time_since_epoch().count(), base::order::seq_cst);
}

/// Those whose time has come.
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

/// After a push, or after a list was taken of which something is left.
void executor_core::sweep_if_gone() noexcept {
  // seq_cst. After both, against the sweep of who has said so.
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
  // relaxed. Gone, nobody comes by who could be held up; and another runtime may be where the tasks' own was.
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

/// While this thread plays it; runs of tasks nest.
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
  // relaxed. A guess; who is about to sleep looks again.
  const base::time_point::rep first = next_rest_.load(base::order::relaxed);
  if (first != no_rest && base::now().time_since_epoch().count() >= first) [[unlikely]]
    end_rests();
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

/// Who was the last searcher looks: who published meanwhile saw a searcher and relied on it.
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
    // seq_cst. After the announcement, against set_next_rest() and the claim_parked() that follows it.
    const base::time_point deadline{base::time_point::duration(next_rest_.load(base::order::seq_cst))};
    was_called = me.rest.sleep(deadline);
  }
  bool first_awake = false;
  // Claimed: the call has to be consumed.
  if (idle_.rise(me.index, first_awake) == queue::idle::on_rise::claimed && !was_called) me.rest.sleep();
  me.searching = true;
}

// ---- a consumer that is a task

/// In its frame from the beginning: it leaves whatever becomes of the task.
class executor_core::seat {
 public:
  seat(executor_core& core, unsigned index) noexcept : core_(core), index_(index) {
    // relaxed. A count; the last one that leaves acquires.
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
    core::disinherit(*core::task_in_sight());  // not what whoever made the executor has
    try {
      this_task::set_name("gate consumer");
    } catch (const std::bad_alloc&) {
      return;  // then it has none
    }
  }
  [[nodiscard]] pause_kind serve() const noexcept { return core_->serve_for_a_while(me()); }

 private:
  core_reference core_;
  unsigned index_;
};

/// Until the consumer is called, or may have to look again.
class executor_core::nap_leaf final : public leaf {
 public:
  explicit nap_leaf(const seat& mine) noexcept : core_(&mine.core()), me_(&mine.me()) {}
  ~nap_leaf() {
    // Claimed, and cancelled: the token is given back when it leaves.
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
  /// False: somebody has claimed it, and calls it in a moment.
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
      // The holder was preempted, perhaps: let it on, and the worker's other tasks.
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
  // acq_rel. The last one comes after all others.
  if (living_.fetch_sub(1, base::order::acq_rel) == 1 && !is_stopping()) {
    // The runtime shuts down.
    // relaxed. The lock that follows hands it to enrol().
    orders_.fetch_or(ending, base::order::relaxed);
    ask_all_to_end();
    // seq_cst. Before the sweep: who publishes later sees it, and sweeps. Not before all have their orders: a sweep serves nobody.
    orders_.fetch_or(gone, base::order::seq_cst);
  }
  sweep_if_gone();
}

}  // namespace rota::gate::detail
