#include "sched/scheduler.hpp"

#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "task/harness.hpp"
#include "task/outside_polls.hpp"

#include <span>
#include <utility>

namespace rota::sched {

using core::header;

namespace {

scheduler& of(core::scheduler& self) noexcept { return static_cast<scheduler&>(self); }
const scheduler& of(const core::scheduler& self) noexcept { return static_cast<const scheduler&>(self); }
scheduler& owner_of(header& task) noexcept { return of(*task.owner); }

/// Returns the role that this thread plays, or null if that is none of this scheduler's.
worker* mine(const scheduler& self) noexcept {
  worker* const here = worker::current();
  return here != nullptr && &here->shared() == &self ? here : nullptr;
}

bool admit(core::scheduler& s) noexcept {
  scheduler& self = of(s);
  worker* const here = mine(self);
  // Count before the phase is read: a task counted before the phase changes is waited for, one counted after
  // it is refused.
  here != nullptr ? here->count_spawned() : self.note_foreign_spawn();
  return self.takes_tasks();
}

void schedule(header& task) noexcept {
  scheduler& self = owner_of(task);
  worker* const here = mine(self);
  here != nullptr ? here->push_newest(task) : self.inject(task);
}

void reschedule(header& task) noexcept {
  scheduler& self = owner_of(task);
  worker* const here = mine(self);
  here != nullptr ? here->push_last(task) : self.inject(task);
}

core::on_take take_entry(header& task) noexcept {
  worker* const here = mine(owner_of(task));
  if (here == nullptr) return core::on_take::not_here;
  return here->slot().take_if(task) ? core::on_take::entry : core::on_take::no_entry;
}

void enroll(core::scheduler& s, header& task) noexcept {
  scheduler& self = of(s);
  const worker* const here = mine(self);
  self.tasks().enroll(task,
                      here != nullptr ? here->index() : static_cast<unsigned>(task.id % self.workers()));
  // A sweep that announces a cancellation to every task, or cancels it, may have passed this list already.
  self.pass_end_on(task);
}

void born(core::scheduler& s, header& task) noexcept {
  task.birth = of(s).newborn().note_foreign(task.id, task.label.site());
  // The tried entries of the births are taken by tasks that have not suspended: this task enrols now instead
  // of later.
  if (task.birth == 0) core::enroll_once(task);
}

void ended(core::scheduler& s, header& /*task*/, bool was_cancelled) noexcept {
  scheduler& self = of(s);
  worker* const here = mine(self);
  here != nullptr ? here->count_ended(was_cancelled) : self.note_foreign_end(was_cancelled);
}

void deadline_moved(core::scheduler& s, base::time_point earliest) noexcept {
  scheduler& self = of(s);
  const driver_port& driver = self.around.driver;
  if (self.poll().must_interrupt(earliest)) driver.ops->interrupt(driver.self);
}

timing::shard& timer_shard(core::scheduler& s) noexcept {
  scheduler& self = of(s);
  const worker* const here = mine(self);
  return self.clocks().at(here != nullptr ? here->index() : 0);
}

}  // namespace

const core::scheduler_ops scheduler::ops_table{
    .admit = admit,
    .schedule = sched::schedule,
    .reschedule = sched::reschedule,
    .settle =
        [](core::scheduler& s) noexcept {
          // NOT IN A MODEL: a thread that awaits here has its role
          if (worker* const here = mine(of(s))) here->settle();
        },
    .keeps_turn =
        [](core::scheduler& s, unsigned looks) noexcept {
          worker* const here = mine(of(s));
          return here != nullptr && here->keeps_turn(looks);
        },
    .take_entry = sched::take_entry,
    .enroll = sched::enroll,
    .withdraw = [](core::scheduler& s, header& task) noexcept { of(s).tasks().withdraw(task); },
    .rename = [](core::scheduler& s, header& task, void* name) noexcept { of(s).tasks().rename(task, name); },
    .born = sched::born,
    .ended = sched::ended,
    .unhandled =
        [](core::scheduler& s, header& task, std::exception_ptr what) noexcept {
          const surroundings& around = of(s).around;
          around.unhandled(around.policy, task, std::move(what));
        },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now = [](const core::scheduler& s) noexcept { return of(s).now(); },
    .timer_shard = sched::timer_shard,
    .deadline_moved = sched::deadline_moved,
    .shield_overridden = [](core::scheduler& s,
                            header& task) noexcept { of(s).note_shield_overridden(task); },
    .suppressed = [](core::scheduler& s) noexcept { of(s).note_suppressed(); },
    .outside = [](core::scheduler& s, int by) noexcept { of(s).note_outside(by); },
    .blocking = [](core::scheduler& s) noexcept { return of(s).around.blocking; },
    .io = [](core::scheduler& s) noexcept { return of(s).around.io; },
    .flush = [](core::scheduler& s) noexcept { of(s).flush_driver(); },
    .held = [](core::scheduler& s) noexcept { of(s).note_made(); },
    .runs =
        [](header& task) noexcept {
          if (worker* const here = mine(owner_of(task))) here->note_poll(task.id);
        },
    .pass_end_on = [](core::scheduler& s, header& task) noexcept { of(s).pass_end_on(task); },
    .is_open = [](const core::scheduler& s) noexcept { return of(s).takes_tasks(); },
    .forked = [](core::scheduler& s) noexcept { of(s).look_after_ring(); },
    .has_waiting =
        [](core::scheduler& s) noexcept {
          worker* const here = mine(of(s));
          return here != nullptr && here->thief_end().has_items();
        },
    .help_until_end = [](core::scheduler& s, core::outside_helper& me) noexcept { of(s).help_until_end(me); },
    .polls_outside = [](core::scheduler& s) noexcept { return of(s).around.polls; },
    .draw =
        [](core::scheduler& s) noexcept {
          worker* const here = mine(of(s));
          return here != nullptr ? here->draw() : core::draw_of_thread();
        },
    .dump =
        [](core::scheduler& s) {
          const surroundings& around = of(s).around;
          return around.dump(around.holder);
        },
    .freed = [](core::scheduler& s) noexcept { of(s).note_freed(); },
};

scheduler::scheduler(unsigned workers, std::uint64_t seed, base::time_point now)
    : core::scheduler{&ops_table, &core::passed_on_steady_clock, base::this_process_id()},
      idle_(workers),
      timers_(workers, now),
      registry_(workers),
      newborn_(ROTA_MODEL ? 0 : workers),
      ledger_(workers) {
#if ROTA_MODEL
  passed = &passed_;
#else
  core::scheduler::births = newborn_.all();  // in the model the births have a test of their own
#endif
  workers_.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<worker>(*this, i, seed));
}

void scheduler::note_made() noexcept {
  worker* const here = mine(*this);
  here != nullptr ? here->count_made() : ledger_.made();
}

void scheduler::note_freed() noexcept {
  worker* const here = mine(*this);
  const bool last = here != nullptr ? here->count_freed() : ledger_.freed();
  if (last) around.abandoned(around.holder);
}

void scheduler::inject(header& task) noexcept {
  task.next.set(nullptr);
  inject_batch(task, task, 1);
}

void scheduler::inject_batch(header& first, header& last, std::size_t count) noexcept {
  // The injector is closed: only a task that a blocking call kept from ending can come so late. It is a
  // survivor, and was reported.
  // NOT IN A MODEL: a survivor stays in memory, which a model takes for a leak
  if (injector_.push_batch(first, last, count) != queue::on_inject::accepted) return;
  look_after_injector();
  // Even if a worker was found: a searching worker may find another task first and run it for ever.
  helpers_.call_one();
}

void scheduler::unpark(std::optional<queue::idle::claim> whom) noexcept {
  if (!whom.has_value()) return;
  if (worker* const here = mine(*this)) here->counts().wakes_sent.add(1);
  if (at(whom->worker).bed().unpark() == on_unpark::interrupt_driver)
    around.driver.ops->interrupt(around.driver.self);
  if (whom->first_awake) note_first_awake();
}

void scheduler::wake_all() noexcept {
  for (unsigned i = 0; i < workers(); ++i) unpark(idle_.claim_parked(i));
}

void scheduler::note_outside(int by) noexcept {
  if (around.clock == nullptr) return;
  {
    const base::lock_guard lock(jump_);
    outside_ += by;
    if (outside_ != 0) return;
  }
  around.driver.ops->interrupt(around.driver.self);
}

void scheduler::tell_poller_of_sleep() noexcept {
  if (around.clock != nullptr && idle_.all_parked()) around.driver.ops->interrupt(around.driver.self);
}

bool scheduler::time_has_come() noexcept {
  const base::lock_guard lock(jump_);
  if (timers_.earliest() <= now()) return true;
  if (outside_ != 0) return false;
  if (!idle_.all_parked() || injector_.has_items()) return false;
  // Only now: a worker that was awake a moment ago may have armed an earlier timer.
  return around.clock->all_blocked(timers_.earliest());
}

void scheduler::drain() noexcept {
  injector_.close();
  // NOT IN A MODEL: workers leave no entry here; one of a survivor may come after them
  for (header* entry = injector_.drain(); entry != nullptr;) {
    header* const next = entry->next.get();
    if (entry->word.drop_entry() == core::on_drop_entry::free) core::free_task(*entry);
    entry = next;
  }
  for (unsigned i = 0; i < workers(); ++i) at(i).drain();
}

// ---- threads that play no role ----------------------------------------------------------------------------

/// Returns true if a helper could take a task. Both loads are seq_cst: the re-scan of a helper that has
/// entered the list.
bool scheduler::helpers_have_work() const noexcept {
  return injector_.has_items() && current_phase() != phase::stopping;
}

/// Helps until the target of `me` has ended: each round runs a task, or sleeps until a task arrives or the
/// target has ended.
void scheduler::help_until_end(core::outside_helper& me) noexcept {
  while (!me.has_ended()) {
    if (help_once()) continue;
    helpers_.enter(me);
    if (!helpers_have_work()) me.sleep();
    helpers_.leave(me);
  }
  // This thread may have been called for a task that is still there, and leaves.
  if (helpers_have_work()) helpers_.call_one();
}

/// Runs one task. Returns false if there is none.
bool scheduler::help_once() noexcept {
  if (!helpers_have_work()) return false;
  // Forks of the tasks that run here meanwhile must not lie above those of one in place.
  static_cast<void>(core::current_task());
  helping_.begin();
  // Before the task leaves the injector: a virtual clock observes one of the two.
  note_outside(+1);
  header* const entry = current_phase() == phase::stopping ? nullptr : take_for_helper();
  if (entry != nullptr) {
    const core::outside_run here(around.polls, entry->id, "join(help)");
    pass_end_on(*entry);
    core::run_entry(*entry);
  }
  note_outside(-1);
  if (helping_.end() && current_phase() == phase::stopping) helping_.wake_shutdown();
  return entry != nullptr;
}

/// Takes the oldest task. If more are left it calls the next helper for them, since this one is about to run.
header* scheduler::take_for_helper() noexcept {
  header* entry = nullptr;
  if (injector_.pop_batch(std::span(&entry, 1)) == 0) return nullptr;
  if (helpers_have_work()) helpers_.call_one();
  return entry;
}

// ---- around a wait that blocks the thread -----------------------------------------------------------------

namespace {

/// Returns null if the role has gone to another thread, or stays with this one; else the role, which waits
/// for a thread.
void* lend_role() noexcept {
  worker* const role = worker::current();  // worker_ports: it has one
  // A child of fork() has the role, but none of the threads that could play it.
  if (!base::is_this_process(role->shared().process)) return nullptr;  // NOT IN A MODEL: forks
  // Promotes a child that runs in place here: two threads must not pop one fork deque.
  static_cast<void>(core::current_task());
  // Whether the role goes or stays: this thread chooses no more tasks before it blocks.
  role->settle();
  role->shared().flush_driver();
  // Outside of a task, in a callback of the driver or of a timer, play() is in the middle of a step, and
  // keeps the role.
  if (base::this_thread_locals().task == nullptr) return nullptr;  // NOT IN A MODEL: callbacks
  scheduler& self = role->shared();
  role->leave_thread();
  // Until this task is back in play(), or in the loop of its thread, no worker counts it.
  self.note_outside(+1);
  // The task stays with this thread: the watchdog must not take a role that waits for a thread for one that
  // is stuck.
  const std::uint64_t mine = role->current_task_id();
  role->note_poll(0);
  if (self.around.start_role(self.around.threads, *role)) return nullptr;
  // There is no free thread. Until there is, the watchdog keeps the LIFO slot of the role served.
  role->note_poll(mine);
  self.around.offer_role(self.around.threads, *role);
  self.note_shortage();  // writes to standard error, which may be slow
  return role;
}

/// Called when the blocking call has returned, on the thread that made the offer.
void take_role_back(void* offered) noexcept {
  if (offered == nullptr) return;
  auto& role = *static_cast<worker*>(offered);
  scheduler& self = role.shared();
  // In a forked child a thread of the parent may have held the lock at the fork.
  if (!base::is_this_process(self.process)) return;
  if (!self.around.take_role_back(self.around.threads, role)) return;
  self.note_outside(-1);
  role.enter_thread();
}

bool help_here() noexcept { return worker::current()->help_once(); }

constexpr core::thread_ports worker_ports{
    .before_block = lend_role,
    .after_block = take_role_back,
    .help_once = help_here,
};

}  // namespace

const core::thread_ports& scheduler::ports_of_thread() noexcept {
  return worker::current() != nullptr ? worker_ports : core::plain_thread;
}

}  // namespace rota::sched
