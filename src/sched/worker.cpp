#include "sched/worker.hpp"

#include "base/chance.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "base/uninitialized.hpp"
#include "sched/scheduler.hpp"
#include "task/harness.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace rota::sched {

using core::header;

worker::worker(scheduler& shared, unsigned index, std::uint64_t seed) noexcept
    : shared_(shared),
      index_(index),
      mine_(ring_.take_owner_end()),
      forks_(queue::best_pop_barrier(), shared),
      births_(shared.newborn().range_of(index)),
      random_(seed + index),
      neighbour_(index) {}

void worker::enter_thread() noexcept {
  base::thread_locals& here = base::this_thread_locals();
  here.worker = this;
  here.forks = &forks_;
  here.births = &births_;
#if !ROTA_MODEL
  // relaxed: see thread_id().
  thread_id_.store(base::this_thread_id(), base::order::relaxed);
#endif
}

void worker::leave_thread() noexcept {
  base::thread_locals& here = base::this_thread_locals();
  here.worker = nullptr;
  here.forks = nullptr;
  here.births = nullptr;
}

worker::on_play worker::play() noexcept {
  enter_thread();
  note_poll(0);  // a role that was offered still names the task that blocked
  while (shared_.current_phase() != phase::stopping) {
    // A woken worker searches first: it holds a searching token, and a producer may rely on its search.
    if (!searching_) tick();
    if (!lost_role() && (searching_ || polls_this_tick_ == 0)) {
      if (header* const found = find_or_park()) run(*found);
    }
    if (lost_role()) return on_play::role_lent;
  }
  // The worker was told to stop before it read that the scheduler closes: it must not keep private counts.
  close_books();
  leave_thread();
  return on_play::stopped;
}

/// Makes up to 128 task polls; then the driver and the timers get their turn.
void worker::tick() noexcept {
  maintain(due::by_polls);
  budget_ = polls_per_tick;
  polls_this_tick_ = 0;
  lifo_polls_ = 0;
  const base::time_point began = shared_.now();
  while (budget_ != 0) {
    header* task = next_running();
    // If there was no poll in this tick this worker searches, or parks.
    if (task == nullptr && polls_this_tick_ != 0) task = from_neighbour();
    if (task == nullptr) break;
    run(*task);
    if (lost_role()) return;
  }
  if (polls_this_tick_ == 0) return;
  pace_.measured(static_cast<std::uint64_t>((shared_.now() - began).count()), polls_this_tick_);
  if (injector_is_due_after_ != least_between_injector_looks) injector_is_due_after_ = pace_.interval();
}

void worker::run(header& task) noexcept {
  just_woken_ = false;
  const std::uint64_t outer = current_task_id();
  note_poll(task.id);
  const std::uint32_t looks = core::run(task);
  if (lost_role()) return;
  // relaxed: a value for reports; the stamp does not change.
  task_id_.store(outer, base::order::relaxed);
  counts_.polled.add(looks);
  polls_this_tick_ += looks;
  budget_ -= looks < budget_ ? looks : budget_;
  since_driver_ += looks;
  since_injector_ += looks;
  if (!driver_is_due(since_driver_)) return;
  maintain(since_driver_ >= polls_between_driver_looks ? due::by_polls : due::by_time);
}

/// Returns true if `polls`, the task polls since the last poll of the driver, have reached their limit, or if
/// the time slice of that poll has ended.
bool worker::driver_is_due(std::uint32_t polls) const noexcept {
  return polls >= polls_between_driver_looks || slice_of_driver_look_ != shared_.slice();
}

/// Polls the driver and the timers, without waiting. If another worker holds the token, that worker polls the
/// timers of all: it waits no longer than until the first, or is about to poll them. But it may be preempted
/// in the middle of that, so this worker polls its own timers.
void worker::maintain(due why) noexcept {
  note_slice();
  close_books();
  shared_.flush_driver();
  const bool is_refused = !leaves_events_where_they_are(why) && !dispatch_events();
  // Timers for which the ring has no free space now are polled at the next call.
  fire_timers(is_refused ? timers_of::this_worker : timers_of::all,
              std::clamp(mine_.free_space(), 1U, polls_per_tick));
}

/// Polls the driver for events. Returns false if another worker holds the token.
bool worker::dispatch_events() noexcept {
  if (!shared_.poll().try_take()) return false;
  ROTA_UNINITIALIZED event_buffer found;
  const driver_port& driver = shared_.around.driver;
  const unsigned events = driver.ops->wait(driver.self, base::time_point::min(), found);
  shared_.poll().give_back();
  newest_goes_ = newest::to_ring_told_later;  // a task is chosen next
  if (events != 0) driver.ops->dispatch(driver.self, found, events);
  newest_goes_ = newest::to_slot;
  return true;
}

/// Wakes at most `limit` due timers. A task is chosen next.
void worker::fire_timers(timers_of whose, unsigned limit) noexcept {
  newest_goes_ = newest::first_to_slot;
  timing::timers& clocks = shared_.clocks();
  if (whose == timers_of::all) {
    clocks.poll(index_, shared_.now(), limit);
  } else {
    clocks.at(index_).poll(shared_.now(), limit);
  }
  newest_goes_ = newest::to_slot;
}

/// Decides whether this poll of the driver leaves the events out. Events wait in the driver in their order.
/// Events for which the ring has no space would go to the injector, behind later ones. So a poll waits until
/// there is space, except every fourth one, since tasks that yield keep the ring full for ever. Only polls
/// that are due by a number of task polls count as such a fourth, since a poll by time may come after one
/// long task. A poll by time does not reset that number either; otherwise tasks of 1 ms in a full ring would
/// keep the driver from being polled for ever.
bool worker::leaves_events_where_they_are(due why) noexcept {
  const bool has_room = mine_.free_space() >= ring_capacity / 2;
  if (!has_room && why == due::by_time) return true;
  since_driver_ = 0;
  if (has_room || ++looks_left_out_ == 4) looks_left_out_ = 0;
  return looks_left_out_ != 0;
}

void worker::close_books() noexcept {
  if (books_closed_ || shared_.takes_tasks()) return;
  books_closed_ = true;
  const auto sum = [](const counter& c) { return static_cast<std::int64_t>(c.read()); };
  shared_.books().close_books(sum(counts_.spawned) - sum(counts_.ended),
                              sum(counts_.made) - sum(counts_.freed));
}

void worker::count_spawned() noexcept {
  counts_.spawned.add(1);
  if (books_closed_) shared_.books().spawned();
  count_made();
}

void worker::count_made() noexcept {
  counts_.made.add(1);
  if (books_closed_) shared_.books().made();
}

void worker::count_ended(bool was_cancelled) noexcept {
  counts_.ended.add(1);
  if (was_cancelled) counts_.cancelled.add(1);
  if (books_closed_) shared_.books().ended();
}

bool worker::count_freed() noexcept {
  counts_.freed.add(1);
  return books_closed_ && shared_.books().freed();
}

// ---- work of its own --------------------------------------------------------------------------------------

/// Returns the next task, its word `running`. Drops stale entries on the way.
header* worker::next_running() noexcept {
  while (header* const entry = next_entry()) {
    if (header* const task = start(entry)) return task;
  }
  return nullptr;
}

header* worker::next_entry() noexcept {
  header* const chosen = choose();
  // The chosen task needs no other worker; the rest does.
  settle();
  return chosen;
}

void worker::settle() noexcept {
  if (!owes_look_) return;
  owes_look_ = false;
  if (!mine_.is_empty()) shared_.look_after_ring();
}

/// Called when a poll of the driver begins, or when one would find nothing. In a new time slice the injector
/// is due as well: its interval counts tasks of average length, and a long task counts as one. So a choice
/// compares two numbers of this worker, and does not read the slice.
void worker::note_slice() noexcept {
  slice_of_driver_look_ = shared_.slice();
  if (slice_of_injector_look_ != slice_of_driver_look_) injector_is_due_after_ = least_between_injector_looks;
}

void worker::note_slice_for_injector() noexcept {
  if (slice_of_injector_look_ != shared_.slice()) injector_is_due_after_ = least_between_injector_looks;
}

header* worker::choose() noexcept {
  // A task of the injector may wake another one, which would displace the timer's task from the slot.
  if (!std::exchange(timer_is_next_, false) && since_injector_ >= injector_is_due_after_) {
    if (header* const entry = from_injector()) return entry;
  }
  if (header* const entry = from_lifo()) return entry;
  lifo_polls_ = 0;
  timers_in_a_row_ = 0;
  if (!forks_.waiting.is_empty()) [[unlikely]]
    return choose_beside_forks();
  if (header* const entry = mine_.pop()) return entry;
  return from_injector();
}

/// Chooses a child that a task has left in the fork deque, from the owner's end. Now and then it chooses from
/// the ring or the injector instead; also after a call, which the watchdog makes when the last chosen task
/// computes for long.
header* worker::choose_beside_forks() noexcept {
  const std::uint32_t calls = forks_.waiting.calls();
  const bool was_called = std::exchange(calls_heard_, calls) != calls;
  if (forks_in_a_row_ == 0 || (forks_in_a_row_ < most_forks_in_a_row && !was_called)) {
    if (header* const entry = from_forks()) return entry;
  }
  forks_in_a_row_ = 0;
  if (header* const entry = mine_.pop()) return entry;
  if (header* const entry = from_injector()) return entry;
  return from_forks();
}

header* worker::from_forks() noexcept {
  core::promise_base* const child = forks_.waiting.pop();
  if (child == nullptr) return nullptr;
  ++forks_in_a_row_;
  return &core::fork_group::adopt(*child);
}

/// Returns null if the entry was stale.
header* worker::start(header* entry) noexcept {
  shared_.pass_end_on(*entry);
  switch (entry->word.pop()) {
    case core::on_pop::run: return entry;
    case core::on_pop::free: core::free_task(*entry); break;
    case core::on_pop::nothing: break;
  }
  return nullptr;
}

header* worker::from_lifo() noexcept {
  if (slot_.is_empty()) return nullptr;
  if (lifo_polls_ >= lifo_polls_in_a_row) {
    flush_lifo();
    return nullptr;
  }
  header* const entry = slot_.take();
  if (entry == nullptr) return nullptr;
  ++lifo_polls_;
  counts_.lifo_hits.add(1);
  return entry;
}

/// After three tasks from the slot in a row the others get their turn: the task goes to the end of the ring,
/// where all workers can take it.
void worker::flush_lifo() noexcept {
  lifo_polls_ = 0;
  if (header* const entry = slot_.take()) push_last(*entry);
}

header* worker::from_injector() noexcept {
  since_injector_ = 0;
  injector_is_due_after_ = pace_.interval();
  slice_of_injector_look_ = shared_.slice();
  ROTA_UNINITIALIZED std::array<header*, 32> batch;
  // The first one runs at once, so the batch may hold one more than fits into the ring.
  const std::size_t wanted = queue::fetch_count(
      shared_.injector().length_guess(), shared_.workers(), mine_.free_space() + std::size_t{1});
  const std::size_t count = shared_.injector().pop_batch(std::span(batch).first(wanted));
  if (count == 0) return nullptr;
  counts_.injector_fetches.add(1);
  if (count > 1) {
    mine_.push_batch(std::span(batch).subspan(1, count - 1));
    shared_.look_after_ring();
  }
  return batch[0];
}

void worker::push_newest(header& task) noexcept {
  if (newest_goes_ == newest::first_to_slot) {
    newest_goes_ = newest::to_ring_told_later;
    if (!timer_is_next_ && timers_in_a_row_ < lifo_polls_in_a_row && !base::chance()) return push_first(task);
  }
  if (newest_goes_ == newest::to_ring_told_later) {
    push_last(task);
  } else if (newest_goes_ == newest::to_ring || base::chance()) {
    push_ring(task);
  } else if (header* const displaced = slot_.put(task)) {
    push_ring(*displaced);
  }
}

/// Puts the task of a due timer into the slot. It gets one poll, even if the slot has had all of its own; the
/// displaced task goes into the ring.
void worker::push_first(header& task) noexcept {
  timer_is_next_ = true;
  ++timers_in_a_row_;
  lifo_polls_ = std::min(lifo_polls_, lifo_polls_in_a_row - 1);
  if (header* const displaced = slot_.put(task)) push_last(*displaced);
}

void worker::push_ring(header& task) noexcept {
  if (store(task)) shared_.look_after_ring();
}

void worker::push_last(header& task) noexcept {
  if (store(task)) owes_look_ = true;
}

/// Returns false if the task did not fit and went to the injector: that push has notified.
bool worker::store(header& task) noexcept { return mine_.push_if_room(task) || store_beside_full_ring(task); }

bool worker::store_beside_full_ring(header& task) noexcept {
  ROTA_UNINITIALIZED task_ring::batch batch;
  switch (mine_.push(task, batch)) {
    case queue::on_push::stored: return true;
    case queue::on_push::refused: shared_.inject(task); break;
    case queue::on_push::moved_half: move_to_injector(batch); break;
  }
  return false;
}

bool worker::keeps_turn(unsigned looks) noexcept {
  if (!slot_.is_empty() || !mine_.is_empty() || !forks_.waiting.is_empty() || shared_.injector().has_items())
    return false;
  if (!shared_.takes_tasks()) return false;
  if (driver_is_due(since_driver_ + looks + 1) || looks + 1 >= budget_) return false;
  // For the watchdog it is another poll.
  note_poll(current_task_id());
  return true;
}

/// Moves half of a full ring, as one chain. Drops entries of tasks that are not runnable.
void worker::move_to_injector(task_ring::batch& batch) noexcept {
  counts_.overflows.add(1);
  header* first = nullptr;
  header* last = nullptr;
  std::size_t count = 0;
  for (header* const entry : batch) {
    const core::on_drop_entry duty = entry->word.drop_entry();
    if (duty == core::on_drop_entry::free) core::free_task(*entry);
    if (duty != core::on_drop_entry::keep) continue;
    entry->next.set(nullptr);
    if (last != nullptr) last->next.set(entry);
    if (first == nullptr) first = entry;
    last = entry;
    ++count;
  }
  if (count != 0) shared_.inject_batch(*first, *last, count);
}

// ---- work of others ---------------------------------------------------------------------------------------

/// Searches everywhere once: the own queues and the injector, the rings and fork deques of the other workers,
/// their ripe slots, and the own queues and the injector again. A stale entry is not work.
header* worker::search() noexcept {
  if (header* const task = next_running()) return task;
  counts_.searches.add(1);
  const unsigned n = shared_.workers();
  const unsigned first = random_.below(n) + (base::chance() ? 1 : 0);
  for (unsigned i = 0; i < n; ++i) {
    worker& victim = shared_.at((first + i) % n);
    if (&victim == this) continue;
    if (header* const task = steal_from(victim)) return task;
    if (header* const task = steal_fork(victim)) return task;
  }
  for (unsigned i = 0; i < n; ++i) {
    worker& victim = shared_.at((first + i) % n);
    header* const entry = &victim == this ? nullptr : victim.slot_.steal();
    if (entry == nullptr) continue;
    counts_.stolen.add(1);
    counts_.steals.add(1);
    if (header* const task = start(entry)) return task;
  }
  return next_running();
}

/// Called between two polls of the driver when this worker has no task left. A worker that finds events at
/// each poll never comes to search, and the tasks in the ring of a preempted neighbour would wait until the
/// neighbour runs again. A neighbour that has begun another task poll since the last check runs, and keeps
/// its tasks. One neighbour at a time, each in its turn.
header* worker::from_neighbour() noexcept {
  worker& other = shared_.at(neighbour_);
  const bool runs = other.poll_stamp() != stamp_of_neighbour_;
  choose_neighbour();
  if (runs || &other == this || !other.thief_end().has_items() || !shared_.idle_.try_search()) return nullptr;
  header* const task = steal_from(other);
  leave_behind();
  return task;
}

/// Moves on to the next neighbour, and records its current poll.
void worker::choose_neighbour() noexcept {
  const unsigned n = shared_.workers();
  neighbour_ = (neighbour_ + 1) % n;
  if (neighbour_ == index_) neighbour_ = (neighbour_ + 1) % n;
  stamp_of_neighbour_ = shared_.at(neighbour_).poll_stamp();
}

header* worker::steal_from(worker& victim) noexcept {
  for (;;) {
    const task_ring::steal_result got = victim.thief_end().steal_into(mine_);
    if (got.status != queue::on_steal::stolen) return nullptr;
    counts_.stolen.add(got.count);
    counts_.steals.add(1);
    if (got.count > 1) shared_.look_after_ring();
    if (header* const task = start(got.first)) return task;
    if (header* const task = next_running()) return task;
  }
}

/// Steals the oldest child, which is the largest part of the tree that was forked there.
header* worker::steal_fork(worker& victim) noexcept {
  queue::fork_thief other(victim.forks_.waiting);
  for (;;) {
    const auto got = other.steal();
    if (got.status == queue::on_fork_steal::empty) return nullptr;
    if (got.status == queue::on_fork_steal::lost) continue;
    counts_.stolen.add(1);
    counts_.steals.add(1);
    if (other.has_items()) shared_.look_after_ring();
    if (header* const task = start(&core::fork_group::adopt(*got.item))) return task;
  }
}

/// Returns the searching token, with work in hand.
header* worker::leave_search(header& found) noexcept {
  if (searching_) {
    searching_ = false;
    leave_behind();
  }
  return &found;
}

/// The last searcher notifies if others have work: a producer may have seen a searcher and relied on it. A
/// load is enough: the publish came before the read-modify-write that ends the search, and a worker that
/// parks after that sees the task.
void worker::leave_behind() noexcept {
  if (shared_.idle_.leave_with_work() && others_have_work()) shared_.look_after_ring();
}

/// Searches, and sleeps if there is nothing. Returns null if it woke for another reason than a task; the
/// caller loops.
header* worker::find_or_park() noexcept {
  close_books();
  if (!searching_) searching_ = shared_.idle_.try_search();
  header* const task = searching_ ? search() : next_running();
  if (task != nullptr) return leave_search(*task);
  if (just_woken_) {
    counts_.wakes_spurious.add(1);
    just_woken_ = false;
  }
  // First the bit, then the end of the search, then the re-scan: in this order no task is overlooked.
  shared_.idle_.announce_park(index_, searching_);
  searching_ = false;
  if (sees_work()) {
    get_up(false);
  } else {
    sleep();
  }
  return nullptr;
}

/// Returns true if there is anything that this worker, or a searcher, could take. All loads are seq_cst,
/// after the seq_cst RMW of announce_park(), except those of forks: a parking worker need not see a fork
/// (README, "Forks beside the ring").
bool worker::sees_work() noexcept {
  const phase now = shared_.current_phase();
  if (now == phase::stopping || (now >= phase::cancelling && !books_closed_)) return true;
  return !slot_.is_empty() || !forks_.waiting.is_empty() || others_have_work();
}

/// Returns true if there is anything that a searcher could take, from this worker too. The loads are seq_cst
/// as in sees_work(), after a seq_cst RMW of the idle word.
bool worker::others_have_work() noexcept {
  if (shared_.injector().has_items()) return true;
  for (unsigned i = 0; i < shared_.workers(); ++i) {
    worker& other = shared_.at(i);
    if (other.thief_end().has_items() || (&other != this && other.slot_.is_ripe())) return true;
    if (queue::fork_thief(other.forks_.waiting).has_items()) return true;
  }
  return false;
}

/// Becomes a searcher: by itself, or because it was claimed; then it must consume the unpark first.
void worker::get_up(bool consumed) noexcept {
  bool first_awake = false;
  const queue::idle::on_rise how = shared_.idle_.rise(index_, first_awake);
  if (how == queue::idle::on_rise::claimed && !consumed) parker_.park();
  if (first_awake) shared_.note_first_awake();
  shared_.pass_jump();
  // No task has waited for this worker while it slept.
  note_slice();
  searching_ = true;
  just_woken_ = how == queue::idle::on_rise::claimed;
}

void worker::sleep() noexcept {
  counts_.parked.add(1);
  // The events that were dispatched last may have prepared operations.
  shared_.flush_driver();
  if (shared_.poll().try_take()) {
    wait_in_driver();
  } else {
    shared_.tell_poller_of_sleep();
    parker_.park();
    get_up(true);
  }
}

unsigned worker::wait_for_events(base::time_point until, event_buffer& found) noexcept {
  const driver_port& driver = shared_.around.driver;
  if (shared_.around.clock == nullptr) return driver.ops->wait(driver.self, until, found);
  // The time is not the machine's. Events of the driver come first; then time may jump; else only an
  // interrupt helps. The poll may have consumed the interrupt of an unpark, so is_notified() comes after it.
  const unsigned events = driver.ops->wait(driver.self, base::time_point::min(), found);
  if (events != 0 || parker_.is_notified() || shared_.time_has_come()) return events;
  return driver.ops->wait(driver.self, base::never, found);
}

/// The poller sleeps until an event, a timer or an unpark. It returns the token first, becomes a searcher,
/// and then puts the tasks of the events where all can take them. If there is only one, this worker runs it
/// and wakes no other.
void worker::wait_in_driver() noexcept {
  poller& turn = shared_.poll();
  ROTA_UNINITIALIZED event_buffer found;
  unsigned events = 0;
  const driver_port& driver = shared_.around.driver;
  // Polling the parker word would notice neither timers nor events. So it ends before the first timer, and
  // after an event it is not repeated.
  bool notified = parker_.enter_driver(shared_.clocks().earliest()) == on_enter::notified;
  if (!notified) {
    base::time_point until = shared_.clocks().earliest();
    turn.announce(until);
    // A timer that was armed before the announcement has interrupted nothing.
    until = std::min(until, shared_.clocks().earliest());
    events = wait_for_events(until, found);
    turn.announce_awake();
    notified = parker_.leave_driver();
  }
  turn.give_back();
  get_up(notified);
  newest_goes_ = newest::to_ring;
  if (events != 0) driver.ops->dispatch(driver.self, found, events);
  shared_.clocks().poll(index_, shared_.now(), polls_per_tick);
  newest_goes_ = newest::to_slot;
}

void worker::drain() noexcept {
  const auto drop = [](header* entry) {
    if (entry->word.drop_entry() == core::on_drop_entry::free) core::free_task(*entry);
  };
  if (header* const entry = slot_.take()) drop(entry);
  while (header* const entry = mine_.pop()) drop(entry);
}

// ---- help -------------------------------------------------------------------------------------------------

bool worker::help_once() noexcept {
  // Forks of the tasks that run here meanwhile must not lie above those of one in place.
  static_cast<void>(core::current_task());
  // The waiting task may have computed for long since the last poll of the driver.
  note_slice_for_injector();
  header* task = next_running();
  if (task == nullptr) task = search_for_help();
  if (task == nullptr) return false;
  run(*task);
  // The caller goes on with a task of its own, without choosing.
  if (!lost_role()) settle();
  return true;
}

/// Only a searcher steals, so a helper becomes one, whatever the limit on searchers.
header* worker::search_for_help() noexcept {
  shared_.idle_.force_search();
  header* const task = search();
  leave_behind();
  return task;
}

}  // namespace rota::sched
