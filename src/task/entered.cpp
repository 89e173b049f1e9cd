#include "task/entered.hpp"

#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "task/harness.hpp"

#include <rota/detail/enter.hpp>

#include <cstdlib>
#include <exception>
#include <utility>

namespace rota::core {

namespace {

constexpr scheduler_ops none_ops{
    .admit = [](scheduler&) noexcept { return true; },
    .schedule = [](header& task) noexcept { ROTA_FATAL("a task without a scheduler was woken", task.id); },
    .reschedule = [](header& task) noexcept { ROTA_FATAL("a task without a scheduler was woken", task.id); },
    .take_entry = [](header&) noexcept { return on_take::not_here; },
    .enroll = [](scheduler&, header&) noexcept {},
    .withdraw = [](scheduler&, header&) noexcept {},
    .rename = [](scheduler&, header& task, void* name) noexcept { task.label.set_name(name); },
    .ended = [](scheduler&, header&, bool) noexcept {},
    .unhandled = [](scheduler&, header&, std::exception_ptr) noexcept { std::terminate(); },
    .children = [](scheduler& self) noexcept -> scheduler& { return self; },
    .now = [](const scheduler&) noexcept { return base::now(); },
    .timer_shard = [](scheduler&) noexcept -> timing::shard& { ROTA_FATAL("a timer needs a runtime", 0); },
    .deadline_moved = [](scheduler&, base::time_point) noexcept {},
    .freed = [](scheduler&) noexcept {},
};

constinit scheduler no_scheduler{&none_ops};

entered& entered_of(header& task) noexcept { return static_cast<entered&>(*task.owner); }

}  // namespace

scheduler& no_services() noexcept { return no_scheduler; }

const scheduler_ops entered::ops_table{
    .admit = [](scheduler&) noexcept { return true; },
    .schedule = schedule,
    .reschedule = reschedule,
    .take_entry = [](header&) noexcept { return on_take::not_here; },
    .enroll = [](scheduler& self,
                 header& task) noexcept { services_of(self).ops->enroll(services_of(self), task); },
    .withdraw = [](scheduler& self,
                   header& task) noexcept { services_of(self).ops->withdraw(services_of(self), task); },
    .rename = [](scheduler& self,
                 header& task,
                 void* name) noexcept { services_of(self).ops->rename(services_of(self), task, name); },
    .ended =
        [](scheduler& self, header& task, bool was_cancelled) noexcept {
          // A thread that drops the last reference after the end finds a scheduler that outlives this call.
          scheduler& services = services_of(self);
          task.owner = &services;
          services.ops->ended(services, task, was_cancelled);
        },
    .unhandled =
        [](scheduler& self, header& task, std::exception_ptr what) noexcept {
          services_of(self).ops->unhandled(services_of(self), task, std::move(what));
        },
    .children = [](scheduler& self) noexcept -> scheduler& { return services_of(self); },
    .now = [](const scheduler& self) noexcept { return services_of(self).ops->now(services_of(self)); },
    .timer_shard = [](scheduler& self) noexcept -> timing::shard& {
      return services_of(self).ops->timer_shard(services_of(self));
    },
    .deadline_moved =
        [](scheduler& self, base::time_point earliest) noexcept {
          services_of(self).ops->deadline_moved(services_of(self), earliest);
        },
    .shield_overridden =
        [](scheduler& self, header& task) noexcept {
          services_of(self).ops->shield_overridden(services_of(self), task);
        },
    .suppressed = [](scheduler& self) noexcept { services_of(self).ops->suppressed(services_of(self)); },
    .outside = [](scheduler& self,
                  int by) noexcept { services_of(self).ops->outside(services_of(self), by); },
    .blocking = [](scheduler& self) noexcept { return services_of(self).ops->blocking(services_of(self)); },
    .io = [](scheduler& self) noexcept { return services_of(self).ops->io(services_of(self)); },
    .pass_end_on = [](scheduler& self,
                      header& task) noexcept { services_of(self).ops->pass_end_on(services_of(self), task); },
    .is_open =
        [](const scheduler& self) noexcept { return services_of(self).ops->is_open(services_of(self)); },
    .draw = [](scheduler& self) noexcept { return services_of(self).ops->draw(services_of(self)); },
    .freed = [](scheduler&) noexcept {},
};

scheduler& entered::services_of(const scheduler& self) noexcept {
  return *static_cast<const entered&>(self).services_;
}

entered::entered(scheduler& services) noexcept
    : scheduler{&ops_table, services.passed}, services_(&services) {}

void entered::schedule(header& task) noexcept {
  entered& self = entered_of(task);
  auto& awake = self.awake_;
  self.services_->ops->outside(*self.services_, +1);
  // acq_rel: same word as in sleep_until_entry(): the run that follows sees the wake's effects.
  if (awake.exchange(has_entry, base::order::acq_rel) == asleep) base::futex_wake(&awake, 1);
}

/// Called by the thread itself, which is awake.
void entered::reschedule(header& task) noexcept {
  entered& self = entered_of(task);
  self.services_->ops->outside(*self.services_, +1);
  // relaxed: this thread reads it next; no other thread writes it before the task has run again.
  self.awake_.store(has_entry, base::order::relaxed);
}

void entered::run_to_end(header& task) noexcept {
  const outside_run here(services_->ops->polls_outside(*services_), task.id, "block_on()");
  // One count for each entry, and for the first run; given back after each run.
  services_->ops->outside(*services_, +1);
  run(task);
  services_->ops->outside(*services_, -1);
  while (!task.word.load().is(lifecycle::complete)) {
    sleep_until_entry(here);
    run_entry(task);
    services_->ops->outside(*services_, -1);
  }
}

/// Sleeps until there is an entry, and takes it. The time spent here belongs neither to the poll before it
/// nor to the one after it.
void entered::sleep_until_entry(const outside_run& here) noexcept {
  base::patience& mine = base::this_thread_locals().waits;
  here.begin_next();
  mine.watch(awake_, nothing);
  std::uint32_t seen = nothing;
  // relaxed: a hint that saves a compare-exchange. Only this thread takes an entry out, and acquires it
  // below.
  const bool must_wait = awake_.load(base::order::relaxed) != has_entry;
  // acq_rel: same word as in schedule(). failure: acquire: there is an entry, and what its waker did is seen.
  if (must_wait && awake_.compare_exchange_strong(seen, asleep, base::order::acq_rel, base::order::acquire)) {
    here.rest();
    mine.falls_asleep();
    do {
      static_cast<void>(base::futex_wait(awake_, asleep, base::never));
      // acquire: pairs with the exchange in schedule().
    } while (awake_.load(base::order::acquire) == asleep);
    mine.wakes_up();
    here.resume();
  } else {
    here.begin_next();
  }
  // acq_rel: same word as in schedule(). acquire: this run sees what the waker did.
  awake_.exchange(nothing, base::order::acq_rel);
}

void demand_outside_of_tasks() {
  if (current_task() != nullptr) throw error(errc::nested_block_on);
}

// A closure blocks only its own thread: its task is left as in block_in_place.
place_to_enter::place_to_enter() {
  const header* const me = current_task();
  if (me != nullptr && is_closure(*me)) section_.emplace();
  demand_outside_of_tasks();
}

header& enter(promise_base& root,
              const result_vtable& type,
              scheduler* services,
              std::source_location site) noexcept {
  scheduler& around = services == nullptr ? no_services() : *services;
  if (!around.ops->admit(around)) {
    header& refused = make_header(root, around, type, entered_word, current_task());
    abandon(refused, cancel_reason::shutdown);
    return refused;
  }
  base::watch_for_exit();
  entered here(around);
  header& task = make_header(root, here, type, entered_word, current_task());
  note_birth(task, site);
  // Enrolled at once, so that reports find it although it may never suspend. It runs on a thread of the
  // program, and pays for this once.
  enroll_once(task);
  here.run_to_end(task);
  return task;
}

}  // namespace rota::core
