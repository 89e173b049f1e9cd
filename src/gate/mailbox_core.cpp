#include <rota/detail/mailbox_core.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "gate/executor_core.hpp"
#include "gate/mailbox_parts.hpp"
#include "task/header.hpp"
#include "task/scheduler_here.hpp"
#include "task/unhandled.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/error.hpp>
#include <rota/this_task.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rota::gate::detail {

namespace {

/// Messages between two checks of the clock and of the orders.
constexpr std::uint32_t chunk = 16;
/// The wait of one visit in so many is measured.
constexpr std::uint64_t visits_for_a_wait = 64;

}  // namespace

mailbox_core::mailbox_core(executor_core& owner, const mailbox_options& options)
    : bounded_(options.capacity != unbounded),
      drops_(options.capacity != unbounded && options.on_full == overflow::drop_oldest),
      owner_(&owner),
      parts_(new parts(options)),
      process_(owner.process()) {
  parts_->band = static_cast<unsigned>(options.band);
  parts_->number = owner.next_number();
  parts_->home = parts_->number % owner.consumers();
  owner.add_reference();
}

mailbox_core::~mailbox_core() {
  // relaxed: every reference has been dropped.
  if (error_ != nullptr && !error_is_seen_.load(base::order::relaxed)) report_unseen(error_);
  delete parts_;
  owner_->drop_reference();
}

bool mailbox_core::is_own_process() const noexcept { return base::is_this_process(process_); }

void mailbox_core::demand_own_process() const {
  if (!is_own_process()) throw rota::error(errc::forked, "a mailbox or an actor");
}

bool mailbox_core::lets_wait() const noexcept { return parts_->options.on_full == overflow::wait; }

void mailbox_core::enrol() noexcept { owner_->enrol(*this); }

void mailbox_core::drop_reference() noexcept {
  // acq_rel: the last drop frees, and sees what all others did.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

void mailbox_core::publish() noexcept {
  if (parts_->visits.read() % visits_for_a_wait == 0) parts_->ready_since.set(base::now());
  owner_->publish(*this);
}

void mailbox_core::note_wait() noexcept {
  const base::time_point since = parts_->ready_since.get();
  if (since == base::time_point{}) [[likely]]
    return;
  parts_->ready_since.set(base::time_point{});
  const auto took = static_cast<std::uint64_t>((base::now() - since).count());
  parts_->waits.add(1);
  parts_->waited.add(took);
  if (took > parts_->longest_wait.read()) parts_->longest_wait.add(took - parts_->longest_wait.read());
}

/// A visit that this thread is inside of. Visits nest: a handler may destroy another mailbox, and then runs
/// the last round of that mailbox itself.
struct mailbox_core::visiting {
  explicit visiting(const mailbox_core& visited) noexcept
      : here(base::this_thread_locals()), whose(&visited), outer(std::exchange(here.mailbox, this)) {
    core::demand_unguarded();
  }
  visiting(const visiting&) = delete;
  visiting& operator=(const visiting&) = delete;
  ~visiting() { here.mailbox = outer; }

  base::thread_locals& here;
  const mailbox_core* whose;
  void* outer;
};

bool mailbox_core::runs_here() const noexcept {
  const auto* at = static_cast<const visiting*>(base::this_thread_locals().mailbox);
  while (at != nullptr && at->whose != this) at = static_cast<const visiting*>(at->outer);
  if (at != nullptr) return true;
  const std::uint64_t task = this_task::id().value;
  // relaxed, both: an id is equal to this task's only if this task has stored it.
  return task != 0 && (parts_->runner_id.load(base::order::relaxed) == task ||
                       parts_->helper_id.load(base::order::relaxed) == task);
}

void mailbox_core::note_helper() noexcept {
  // relaxed: same reason as in runs_here().
  parts_->helper_id.store(this_task::id().value, base::order::relaxed);
}

bool mailbox_core::has_tasks() const noexcept { return owner_->has_tasks(); }
bool mailbox_core::help_once() noexcept { return owner_->help_once(); }
bool mailbox_core::help_before(base::time_point deadline) noexcept { return owner_->help_before(deadline); }
bool mailbox_core::is_alone() const noexcept { return owner_->is_alone(); }
base::time_point mailbox_core::now() const noexcept { return owner_->now(); }

bool mailbox_core::would_deadlock() const noexcept { return runs_here() || owner_->would_deadlock(); }

// ---- admission

std::size_t mailbox_core::try_admit(std::size_t wanted, send_status& status) noexcept {
  status = send_status::sent;
  if (!bounded_ || drops_) {
    // relaxed: the result depends on the modification order of this word alone; the gate orders the rest.
    if ((size_.fetch_add(wanted, base::order::relaxed) & closed) == 0) [[likely]]
      return wanted;
    take_back(wanted);
    status = send_status::closed;
    return 0;
  }
  // relaxed: a hint; the compare-exchange decides.
  std::uint64_t seen = size_.load(base::order::relaxed);
  for (;;) {
    if ((seen & closed) != 0) {
      status = send_status::closed;
      return 0;
    }
    const std::uint64_t count = seen & count_mask;
    const std::size_t room = parts_->options.capacity > count ? parts_->options.capacity - count : 0;
    const std::size_t granted = std::min(room, wanted);
    if (granted < wanted) status = send_status::full;
    if (granted == 0) return 0;
    // relaxed: same reason as for the fetch_add above. failure: relaxed: again a hint.
    if (size_.compare_exchange_weak(seen, seen + granted, base::order::relaxed, base::order::relaxed))
      return granted;
    status = send_status::sent;
  }
}

bool mailbox_core::admit_regardless() noexcept {
  if (!is_own_process()) [[unlikely]]
    return false;
  // relaxed: same reason as in try_admit().
  if ((size_.fetch_add(1, base::order::relaxed) & closed) == 0) return true;
  take_back(1);
  return false;
}

inline std::size_t mailbox_core::admit_here(std::size_t wanted,
                                            bool may_block,
                                            send_status& status) noexcept {
  const std::size_t granted = try_admit(wanted, status);
  if (status != send_status::full) [[likely]]
    return granted;
  const base::thread_locals& here = base::this_thread_locals();
  // A task would block its worker; a handler might block the only consumer.
  if (parts_->options.on_full != overflow::wait || granted != 0 || !may_block || here.task != nullptr ||
      here.mailbox != nullptr)
    return granted;
  return admit_waiting(wanted, status);
}

std::size_t mailbox_core::admit(std::size_t wanted, bool may_block, send_status& status) noexcept {
  // The fast path of each send: the complete check is a tail call, so no register has to be saved for it.
  if (!base::is_noted_process(process_)) [[unlikely]]
    return admit_unless_forked(wanted, may_block, status);
  return admit_here(wanted, may_block, status);
}

/// The slow path of admit(): forks are not counted, or this is a forked child.
[[gnu::noinline, gnu::cold]] std::size_t mailbox_core::admit_unless_forked(std::size_t wanted,
                                                                           bool may_block,
                                                                           send_status& status) noexcept {
  if (is_own_process()) return admit_here(wanted, may_block, status);
  status = send_status::forked;
  return 0;
}

/// Under the lock no append is half done when a sender searches for the oldest message.
void mailbox_core::append_and_trim(queue::mpsc_link& first, queue::mpsc_link& last) noexcept {
  std::size_t count = 1;
  // relaxed: the chain belongs to the sender until it is appended.
  for (const queue::mpsc_link* at = &first; at != &last; at = at->next.load(base::order::relaxed)) ++count;
  {
    const base::lock_guard guard(parts_->drops);
    tail_.append(first, last);
    parts_->length.set(parts_->length.get() + count);
  }
  trim();
}

/// A sender calls it after its append and before its schedule. The check of the length and the removal are
/// one step under the lock: two senders that find one message too many drop one, not two.
void mailbox_core::trim() noexcept {
  while (destroy_oldest(1, parts_->options.capacity) != 0) note_dropped(1);
}

std::size_t mailbox_core::admit_waiting(std::size_t wanted, send_status& status) noexcept {
  for (bool again = false;; again = true) {
    mailbox_waiter me;
    {
      const base::lock_guard guard(parts_->lock);
      // relaxed: in the modification order of this word: a thread that makes space later sees the bit, and
      // takes the lock.
      size_.fetch_or(waiting, base::order::relaxed);
      const std::size_t granted = try_admit(wanted, status);
      if (status != send_status::full || granted != 0) return granted;
      // A sender that was woken and found no space goes ahead of those that have not been woken yet.
      me.insert_after(again ? parts_->senders : *parts_->senders.before);
    }
    while (!me.was_woken()) static_cast<void>(base::futex_wait(me.woken, 0, base::never));
  }
}

void mailbox_core::wake_senders(std::uint32_t count) noexcept {
  for (; count != 0; --count) {
    mailbox_waiter* first = nullptr;
    base::atomic<std::uint32_t>* woken = nullptr;
    waker task;
    {
      const base::lock_guard guard(parts_->lock);
      if (!parts_->senders.is_alone()) {
        first = parts_->senders.next;
        first->unlink();
      }
      // relaxed: under the lock, where the bit is set.
      if (parts_->senders.is_alone()) size_.fetch_and(~waiting, base::order::relaxed);
      if (first != nullptr) {
        task = std::move(first->by_task);
        woken = &first->woken;
        // release: the last access: the waiter may be destroyed as soon as it sees this.
        woken->store(1, base::order::release);
      }
    }
    if (first == nullptr) return;
    if (task) {
      task.wake();
    } else {
      core::demand_unguarded();
      base::futex_wake(woken, 1);
    }
  }
}

void mailbox_core::make_room(std::uint32_t count) noexcept {
  // release: pairs with is_at_rest(), which ask_for_emptiness() calls.
  const std::uint64_t before = size_.fetch_sub(count, base::order::release);
  if ((before & waiting) != 0) wake_senders(count);
}

/// Called in a round of an unbounded mailbox. Returns the size word. If closed or draining, it first
/// subtracts what was served.
std::uint64_t mailbox_core::settle() noexcept {
  // relaxed: in the modification order of this word: a later close or drain schedules.
  const std::uint64_t seen = size_.load(base::order::relaxed);
  if ((seen & (closed | draining)) == 0) return seen;
  // relaxed: only rounds write it.
  const std::uint64_t served = unsettled_.load(base::order::relaxed);
  if (served == 0) return seen;
  // relaxed: before the size word: is_at_rest() reads that word first, and must not find it reduced while
  // this is not yet 0.
  unsettled_.store(0, base::order::relaxed);
  // release: pairs with is_at_rest().
  return size_.fetch_sub(served, base::order::release) - served;
}

void mailbox_core::take_back(std::size_t count) noexcept {
  // relaxed: the result depends on the modification order of this word alone.
  const std::uint64_t after = size_.fetch_sub(count, base::order::relaxed) - count;
  if ((after & waiting) != 0) wake_senders(static_cast<std::uint32_t>(count));
  if ((after & closed) == 0 || (after & ended) != 0 || (after & count_mask) != 0) return;
  schedule();
}

bool mailbox_core::remove_beside_others(removal& now, std::size_t keep) noexcept {
  const base::lock_guard guard(parts_->drops);
  const std::size_t length = parts_->length.get();
  if (length <= keep) return false;
  now.link = taker_.front();
  ROTA_ASSERT(now.link != nullptr);
  now.before = taker_.pop(*now.link);
  parts_->length.set(length - 1);
  if (removal* const other = std::exchange(parts_->being_emptied, &now)) {
    other->frees = true;
    now.before = nullptr;
  }
  return true;
}

bool mailbox_core::settle_removal(const removal& now) noexcept {
  const base::lock_guard guard(parts_->drops);
  if (now.frees) return true;
  ROTA_ASSERT(parts_->being_emptied == &now);
  parts_->being_emptied = nullptr;
  return false;
}

void mailbox_core::note_dropped(std::uint32_t count) noexcept {
  // relaxed: a sum for a report.
  parts_->dropped.fetch_add(count, base::order::relaxed);
}

// ---- orders

void mailbox_core::close() noexcept {
  if (!is_own_process()) return;
  // relaxed: the result depends on the modification order of this word alone; the gate orders the rest.
  const std::uint64_t before = size_.fetch_or(closed, base::order::relaxed);
  if ((before & waiting) != 0) wake_senders(UINT32_MAX);
  schedule();
}

void mailbox_core::pause() noexcept {
  // relaxed: a message without data: the message that is being served is served to its end.
  orders_.fetch_or(to_pause, base::order::relaxed);
}

void mailbox_core::resume() noexcept {
  // relaxed: the schedule that follows releases it to the round that begins after it.
  orders_.fetch_and(~to_pause, base::order::relaxed);
  schedule();
}

void mailbox_core::discard_and_close() noexcept {
  order_to_discard();
  // relaxed: same reason as in order_to_discard().
  const std::uint64_t before = size_.fetch_or(closed, base::order::relaxed);
  if ((before & waiting) != 0) wake_senders(UINT32_MAX);
}

bool mailbox_core::ask_to_end() noexcept {
  discard_and_close();
  switch (flags_.schedule()) {
    case on_schedule::publish: visit(); return false;  // this thread runs the last round
    case on_schedule::published: return false;         // a round begins later, and sees the order
    case on_schedule::executing:
    case on_schedule::executing_on: break;
  }
  if (runs_here()) return false;
  // relaxed: the lock that follows hands it to the thread that stores the handle.
  orders_.fetch_or(to_cancel, base::order::relaxed);
  cancel_runner();
  return true;
}

void mailbox_core::abandon() noexcept {
  // A child of fork() has this mailbox, but not the threads that would end it.
  if (!is_own_process()) return;
  if (!ask_to_end()) return;
  // The handler may need this worker to finish.
  const executor_core::waiting_section section;
  wait_until(at_rest);
}

void mailbox_core::wait_until_ended() noexcept { wait_until(over); }

void mailbox_core::wait_until(std::uint32_t least) noexcept {
  for (;;) {
    // acquire: pairs with come_to().
    const std::uint32_t seen = over_.load(base::order::acquire);
    if (seen >= least) return;
    if (owner_->help_once()) continue;
    const executor_core::waiting_section section;
    static_cast<void>(base::futex_wait(over_, seen, base::never));
  }
}

void mailbox_core::come_to(std::uint32_t state) noexcept {
  // release: pairs with wait_until() and has_ended().
  over_.store(state, base::order::release);
  base::futex_wake(&over_, INT32_MAX);
}

void mailbox_core::schedule() noexcept {
  if (flags_.schedule() == on_schedule::publish) publish();
}

/// Returns true if the mailbox is empty and its handler does not run: what was sent before has been handled.
bool mailbox_core::is_at_rest() const noexcept {
  // acquire: pairs with make_room() and settle(): a thread that took out an earlier message had begun a
  // round. The read of the flags that follows sees that round, or its end.
  const std::uint64_t admitted = size_.load(base::order::acquire) & count_mask;
  // acquire: pairs with note_done().
  return admitted <= unsettled_.load(base::order::acquire) && flags_.is_idle();
}

mailbox_core::emptiness mailbox_core::ask_for_emptiness() noexcept {
  if (is_at_rest()) return {0, true};
  std::uint32_t seen = 0;
  {
    const base::lock_guard guard(parts_->lock);
    // relaxed, both: under the lock, which the rounds take to update them. The schedule that follows begins a
    // round that sees the bit.
    seen = parts_->emptied.load(base::order::relaxed);
    size_.fetch_or(draining, base::order::relaxed);
  }
  schedule();
  return {seen, false};
}

void mailbox_core::wait_until_emptied(emptiness asked) noexcept {
  // acquire: pairs with tell_of_emptiness().
  while (!asked.is_empty && !has_ended() && parts_->emptied.load(base::order::acquire) == asked.seen) {
    if (owner_->help_once()) continue;
    const executor_core::waiting_section section;
    static_cast<void>(base::futex_wait(parts_->emptied, asked.seen, base::never));
  }
}

void mailbox_core::tell_of_emptiness(bool at_the_end) noexcept {
  std::uint32_t told = 0;
  {
    const base::lock_guard guard(parts_->lock);
    // relaxed: in the modification order of this word. A thread that has asked under the lock has sent
    // before: its messages are counted.
    const std::uint64_t seen = size_.load(base::order::relaxed);
    if (!at_the_end && ((seen & draining) == 0 || (seen & count_mask) != 0)) return;
    // relaxed: under the lock, where the bit is set.
    size_.fetch_and(~draining, base::order::relaxed);
    // release: pairs with wait_until_emptied().
    told = parts_->emptied.fetch_add(1, base::order::release) + 1;
  }
  base::futex_wake(&parts_->emptied, INT32_MAX);
  while (wake_a_watcher(told, at_the_end)) {
  }
}

/// Wakes one of the tasks that wait for emptiness and came before `emptied` was raised to `told`; at the end,
/// any task that waits. Returns false if there is none.
bool mailbox_core::wake_a_watcher(std::uint32_t told, bool at_the_end) noexcept {
  waker task;
  {
    const base::lock_guard guard(parts_->lock);
    mailbox_waiter* one = parts_->watchers.next;
    while (one != &parts_->watchers && !at_the_end && (one->until_over || one->seen == told)) one = one->next;
    if (one == &parts_->watchers) return false;
    one->unlink();
    task = std::move(one->by_task);
    // release: the last access: the waiter may be destroyed as soon as it sees this.
    one->woken.store(1, base::order::release);
  }
  task.wake();
  return true;
}

// ---- tasks that wait

bool turn_leaf::start() { return true; }

bool room_leaf::start() {
  waker mine = make_waker();
  const base::lock_guard guard(box_->parts_->lock);
  // relaxed: in the modification order of this word: a thread that makes space later sees the bit, and takes
  // the lock.
  const std::uint64_t seen = box_->size_.fetch_or(mailbox_core::waiting, base::order::relaxed);
  const bool full = (seen & mailbox_core::count_mask) >= box_->parts_->options.capacity;
  at_once_ = (seen & mailbox_core::closed) != 0 || !full;
  if (at_once_) return true;
  me_.by_task = std::move(mine);
  me_.insert_after(again_ ? box_->parts_->senders : *box_->parts_->senders.before);
  return false;
}

cancel_progress room_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  if (at_once_) return cancel_progress::ended;
  waker dropped;
  {
    const base::lock_guard guard(box_->parts_->lock);
    if (!me_.was_woken()) {
      me_.unlink();
      dropped = std::move(me_.by_task);
      return cancel_progress::ended;
    }
  }
  // The space for which this leaf was woken goes to the next waiter.
  box_->wake_senders(1);
  return cancel_progress::ended;
}

bool rest_leaf::start() {
  at_once_ = !me_.until_over && box_->is_at_rest();
  if (at_once_) return true;
  waker mine = make_waker();
  {
    const base::lock_guard guard(box_->parts_->lock);
    at_once_ = box_->has_ended();
    if (at_once_) return true;
    // relaxed, both: under the lock, which the rounds take to update them. The schedule that follows begins a
    // round that sees the bit.
    me_.seen = box_->parts_->emptied.load(base::order::relaxed);
    if (!me_.until_over) box_->size_.fetch_or(mailbox_core::draining, base::order::relaxed);
    me_.by_task = std::move(mine);
    me_.insert_after(*box_->parts_->watchers.before);
  }
  if (!me_.until_over) box_->schedule();
  return false;
}

cancel_progress rest_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  waker dropped;
  const base::lock_guard guard(box_->parts_->lock);
  if (!me_.was_woken()) me_.unlink();
  dropped = std::move(me_.by_task);
  return cancel_progress::ended;
}

mailbox_stats mailbox_core::stats() const noexcept {
  mailbox_stats s;
  // What is served between the two reads is subtracted too early, or not at all: so read again, a few times.
  std::uint64_t done = 0;
  std::uint64_t again = 0;
  unsigned tries = 0;
  do {
    // acquire, three times: the reads happen in this order.
    done = unsettled_.load(base::order::acquire);
    s.depth = size_.load(base::order::acquire) & count_mask;
    again = unsettled_.load(base::order::acquire);
  } while (done != again && ++tries < 4);
  s.depth -= std::min(s.depth, std::min(done, again));
  // relaxed: for a report.
  s.dropped = parts_->dropped.load(base::order::relaxed);
  s.served = parts_->served.read();
  s.failed = parts_->failed.read();
  s.visits = parts_->visits.read();
  s.restarts = parts_->restarts.read();
  s.waits = parts_->waits.read();
  s.waited = std::chrono::nanoseconds(parts_->waited.read());
  s.longest_wait = std::chrono::nanoseconds(parts_->longest_wait.read());
  return s;
}

bool mailbox_core::note_failure(std::exception_ptr thrown) noexcept {
  parts_->failed.add(1);
  // The mailbox is being ended: the cancellation may have reached its handler through what the handler
  // awaits.
  const bool is_cut_off = is_to_discard() && core::is_cancellation(thrown);
  const bool skips = parts_->options.error_policy == on_error::skip;
  if (skips || (parts_->options.error_policy == on_error::restart && begin_restart())) {
    if (!is_cut_off) report_unseen(thrown);
    return skips;
  }
  error_ = std::move(thrown);
  discard_and_close();
  gave_up(error_);
  if (is_cut_off) note_error_seen();
  return false;
}

/// Gives an exception that no caller can see any more to options.on_unhandled. In a forked child nothing is
/// reported: the parent has the same exception.
void mailbox_core::report_unseen(const std::exception_ptr& thrown) const noexcept {
  if (!is_own_process()) return;
  core::give_unhandled(parts_->options.on_unhandled,
                       {.id = {},
                        .name = {},
                        .what = "",
                        .file = nullptr,
                        .line = 0,
                        .from = unhandled_from::mailbox,
                        .number = parts_->number},
                       thrown);
}

// ---- the round

bool mailbox_core::try_end(std::uint64_t seen) noexcept {
  while ((seen & closed) != 0 && (seen & count_mask) == 0) {
    const std::uint64_t end = ended | closed;
    // relaxed: the result depends on the modification order of this word alone; run() informs the waiters.
    // failure: relaxed: the same reason.
    if (size_.compare_exchange_weak(seen, end, base::order::relaxed, base::order::relaxed)) return true;
  }
  return false;
}

std::uint32_t mailbox_core::visit() noexcept {
  flags_.begin(parts_->number);
  note_wait();
  parts_->visits.add(1);
  const std::uint32_t budget = parts_->options.budget;
  turn t{.left = budget};
  if (run(t)) go_on_as_task(t);
  return budget - t.left;
}

/// Runs the round. Returns true if the handler waits; then the rest of the round has to go on in a task.
bool mailbox_core::run(turn& t) noexcept {
  after_round how = after_round::finished;
  {
    // The handler's own objects may be destroyed in here, and one of them may own this mailbox.
    const visiting here(*this);
    how = round(t);
    if (how == after_round::ended) retire_for_good();
  }
  if (how == after_round::ended) {
    // The gate stays EXECUTING, so this was the last round, and no thread publishes the mailbox any more.
    parts_->rest.cancel();
    parts_->rest.detach();
    owner_->strike_off(*this);
    come_to(over);
    tell_of_emptiness(true);
    drop_reference();
  }
  return how == after_round::pending;
}

/// Returns true if the time slice is over. The slice begins with the first call, which comes after the first
/// chunk of messages: a single message needs no clock.
bool mailbox_core::time_is_up(base::time_point& until) const noexcept {
  const base::time_point now = owner_->now();
  if (until == base::time_point{}) until = now + parts_->options.time_slice;
  return now >= until;
}

/// Ends the round so that other mailboxes are served, although there may be more messages. Returns false if
/// there is an order to discard; then this round goes on.
bool mailbox_core::give_way() noexcept {
  flags_.finish_and_schedule(parts_->number);
  if (!is_to_discard()) {
    publish();
    return true;
  }
  // The thread that abandons the mailbox saw this round, and waits for its end. The gate is not published
  // yet, so it still belongs to this round.
  flags_.begin(parts_->number);
  return false;
}

// ---- another handler

/// Returns false if the limit of restarts is exceeded.
bool mailbox_core::begin_restart() noexcept {
  const restart_options& how = parts_->options.restarts;
  const base::time_point now = owner_->now();
  const std::uint64_t before = parts_->restarts.read();
  const std::uint64_t known = std::min<std::uint64_t>(before, how.limit);
  std::uint32_t recent = 0;
  for (std::uint64_t i = before - known; i < before; ++i) {
    if (now - parts_->restarted[i % how.limit] < how.within) ++recent;
  }
  if (recent == how.limit) return false;
  parts_->restarted[before % how.limit] = now;
  parts_->restarts.add(1);
  {
    const visiting here(*this);
    retire();
  }
  std::chrono::nanoseconds pause = std::min(how.pause, how.longest_pause);
  while (recent-- != 0 && pause < how.longest_pause) pause = std::min(pause * 2, how.longest_pause);
  // relaxed: this round sees it.
  orders_.fetch_or(pause.count() == 0 ? to_remake : to_remake | to_rest, base::order::relaxed);
  if (pause.count() != 0) owner_->end_rest_later(*this, now + pause);
  return true;
}

bool mailbox_core::try_remake() noexcept {
  try {
    const visiting here(*this);
    remake();
  } catch (...) {
    static_cast<void>(note_failure(std::current_exception()));
    return false;
  }
  // relaxed: only rounds read it.
  orders_.fetch_and(~to_remake, base::order::relaxed);
  return true;
}

void mailbox_core::end_rest() noexcept {
  // relaxed: the schedule that follows releases it to the round that begins after it.
  orders_.fetch_and(~to_rest, base::order::relaxed);
  schedule();
}

void mailbox_core::begin_chunk(turn& t) noexcept {
  t.is_in_chunk = true;
  for (;;) {
    // relaxed: same reason as in is_to_stop().
    const std::uint32_t orders = orders_.load(base::order::relaxed);
    t.discards = (orders & to_discard) != 0;
    t.rests = !t.discards && (orders & (to_pause | to_rest)) != 0;
    if (t.discards || t.rests || (orders & to_remake) == 0 || try_remake()) break;
  }
  t.count = 0;
  t.counted = 0;
  t.wanted = t.discards ? UINT32_MAX : std::min(t.left, chunk);
}

/// Counts the served messages of this chunk that are not counted yet. The handler may still wait in the last
/// one; then the gate is EXECUTING.
void mailbox_core::count_served(turn& t) noexcept {
  const std::uint32_t more = t.count - t.counted;
  if (more == 0) return;
  parts_->served.add(more);
  t.left -= more;
  t.counted = t.count;
  note_done(more);
}

void mailbox_core::note_done(std::uint32_t count) noexcept {
  if (bounded_) return;
  // relaxed: only rounds write it. release: pairs with is_at_rest(): these messages were handled.
  unsettled_.store(unsettled_.load(base::order::relaxed) + count, base::order::release);
}

mailbox_core::after_round mailbox_core::round(turn& t) noexcept {
  for (;;) {
    if (!t.is_in_chunk) begin_chunk(t);
    if (t.discards) {
      // relaxed: only rounds write it.
      if (over_.load(base::order::relaxed) == 0) come_to(at_rest);
      t.count = destroy_oldest(t.wanted, 0);
      note_dropped(t.count);
      note_done(t.count);
    } else if (!t.rests) {
      t.count += serve(t.wanted - t.count);
      count_served(t);
      if (is_pending_) return after_round::pending;
    }
    t.is_in_chunk = false;
    // relaxed: in the modification order of this word: a later close schedules.
    const std::uint64_t seen = bounded_ ? size_.load(base::order::relaxed) : settle();
    if (try_end(seen)) return after_round::ended;
    if ((seen & draining) != 0 && (seen & count_mask) == 0) tell_of_emptiness(false);
    if (!t.discards && is_to_stop() && !t.rests) continue;  // an order came meanwhile
    if (!t.rests && t.count == t.wanted) {
      if (t.left != 0 && !time_is_up(t.until)) continue;
      if (give_way()) return after_round::finished;
      t.left = parts_->options.budget;
      continue;
    }
    // It was seen empty; or it rests, and the thread that ends the rest schedules.
    if (!flags_.finish_or_continue(parts_->number)) return after_round::finished;
    // A push came meanwhile. A mailbox to which pushes keep coming has a time slice like every other.
    if (time_is_up(t.until) && give_way()) return after_round::finished;
  }
}

// ---- a round that goes on in a task

task<void> mailbox_core::take_pending() { ROTA_FATAL("a handler that gives no tasks has given one", 0); }

/// A round that goes on in a task. It is in the task's frame from the beginning, so the round is finished
/// however the task ends.
class mailbox_core::runner {
 public:
  /// Takes over a reference.
  runner(mailbox_core& box, const turn& t, std::uint64_t visit) noexcept
      : box_(&box), turn_(t), visit_(visit) {}
  runner(runner&& other) noexcept
      : box_(std::exchange(other.box_, nullptr)), turn_(other.turn_), visit_(other.visit_) {}
  runner& operator=(runner&&) = delete;
  ~runner() {
    if (box_ == nullptr) return;
    if (box_->parts_->runner_begun.get() == visit_) {
      box_->cut_off(turn_);
      leave();
    } else {
      box_->drop_reference();  // the task has no frame
    }
  }

  [[nodiscard]] mailbox_core& box() const noexcept { return *box_; }
  void note_task() const noexcept {
    // relaxed: each task compares it only with its own id.
    box_->parts_->runner_id.store(this_task::id().value, base::order::relaxed);
  }
  [[nodiscard]] bool continues(std::exception_ptr thrown) noexcept {
    if (box_->continues(turn_, std::move(thrown))) return true;
    leave();
    return false;
  }

 private:
  void leave() noexcept {
    mailbox_core* const box = std::exchange(box_, nullptr);
    {
      join_handle<void> mine;
      const base::lock_guard guard(box->parts_->lock);
      box->parts_->runners_over = std::max(box->parts_->runners_over, visit_);
      if (box->parts_->runner_visit == visit_) mine = std::move(box->parts_->runner);
    }
    box->drop_reference();
  }

  mailbox_core* box_;
  turn turn_;
  std::uint64_t visit_;
};

task<void> mailbox_core::go_on(runner whole) {
  whole.note_task();
  for (;;) {
    std::exception_ptr thrown;
    {
      task<void> work = whole.box().take_pending();
      try {
        co_await std::move(work);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (!whole.continues(std::move(thrown))) co_return;
  }
}

/// Moves the round into a task. If there is no memory for the frame, that counts as an exception of the
/// handler.
void mailbox_core::go_on_as_task(turn& t) noexcept {
  for (;;) {
    add_reference();  // the task's
    std::exception_ptr thrown;
    try {
      task<void> work = go_on(runner(*this, t, parts_->visits.read()));
      start_runner(std::move(work));
      return;
    } catch (...) {
      thrown = std::current_exception();
    }
    if (!continues(t, std::move(thrown))) return;
  }
}

void mailbox_core::start_runner(task<void> work) noexcept {
  const std::uint64_t visit = parts_->visits.read();
  add_reference();  // the task may end, and drop its own, before this returns
  parts_->runner_begun.set(visit);
  join_handle<void> started = core::spawn_on(core::scheduler_here(), std::move(work));
  {
    const base::lock_guard guard(parts_->lock);
    if (visit > parts_->runners_over && visit > parts_->runner_visit) {
      parts_->runner_visit = visit;
      std::swap(parts_->runner, started);
    }
  }
  // A thread that gave the order before the handle was stored has not found the handle.
  // relaxed: the lock above orders it.
  if ((orders_.load(base::order::relaxed) & to_cancel) != 0) cancel_runner();
  drop_reference();
}

void mailbox_core::cancel_runner() noexcept {
  join_handle<void> task;
  {
    const base::lock_guard guard(parts_->lock);
    task = std::move(parts_->runner);
  }
  // Not under the lock, because cancellation runs hooks that may take any lock.
  task.cancel();
}

/// Continues the round after the handler's task, which may have thrown.
bool mailbox_core::continues(turn& t, std::exception_ptr thrown) noexcept {
  {
    const visiting here(*this);
    is_pending_ = false;
    drop_pending();
    if (thrown != nullptr) static_cast<void>(note_failure(std::move(thrown)));
  }
  return run(t);
}

/// Ends the round after its task was cancelled: the mailbox was abandoned, or the runtime shuts down.
void mailbox_core::cut_off(turn& t) noexcept {
  {
    const visiting here(*this);
    is_pending_ = false;
    drop_pending();
  }
  discard_and_close();
  static_cast<void>(run(t));
}

}  // namespace rota::gate::detail
