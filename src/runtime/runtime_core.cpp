#include "runtime/runtime_core.hpp"

#include "base/random.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "runtime/last_words.hpp"
#include "task/describe.hpp"
#include "task/harness.hpp"
#include "task/thread_ports.hpp"
#include "task/unhandled.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace rota::detail {

namespace {

// NOT IN A MODEL: the default for 0
unsigned workers_of(const runtime_options& options) noexcept {
  return options.workers != 0 ? options.workers : base::usable_processors();
}

// NOT IN A MODEL: same as above
std::uint64_t seed_of(const runtime_options& options) noexcept {
  return options.seed != 0 ? options.seed : base::entropy();
}

#if !ROTA_MODEL
driver::io_driver& driver_of(void* self) noexcept { return *static_cast<driver::io_driver*>(self); }

constexpr sched::driver_ops driver_table{
    .wait =
        [](void* self, base::time_point deadline, sched::event_buffer& found) noexcept {
          return driver_of(self).wait(deadline, found.data(), static_cast<unsigned>(found.size()));
        },
    .dispatch = [](void* self,
                   const sched::event_buffer& found,
                   unsigned count) noexcept { driver_of(self).dispatch(found.data(), count); },
    .interrupt = [](void* self) noexcept { driver_of(self).interrupt(); },
    .flush = [](void* self) noexcept { driver_of(self).flush(); },
};
#endif

}  // namespace

runtime_core::runtime_core(const runtime_options& options, core::clock_source* clock)
    : tasks((check(options), workers_of(options)),
            seed_of(options),
            clock == nullptr ? base::now() : clock->now()),
      threads(tasks, options.blocking),
      options_(options),
      process_(base::this_process_id()),
      watchdog_(tasks, options.watchdog) {
  core::install_thread_ports(sched::scheduler::ports_of_thread);
#if !ROTA_MODEL
  name_the_task_at_the_end();
#endif
  open_driver();
  connect();
  tasks.around.clock = clock;
  if (clock != nullptr) tasks.has_own_time();
  threads.passed = tasks.passed;
  listen_to_clock();
  start_workers();
}

void runtime_core::open_driver() {
#if ROTA_MODEL
  if (options_.backend == io_backend::uring) throw error(errc::unsupported);
#else
  const io_backend wanted = wanted_backend(options_);
  if (const std::error_code failed = driver_.open(wanted))
    throw std::system_error(failed, std::string("rota: the driver, ") + to_string(wanted));
#endif
}

void runtime_core::tell_of_io(runtime_stats& into) const noexcept {
#if ROTA_MODEL
  into.io_backend = io_backend::epoll;
#else
  into.io_backend = driver_.in_use();
  into.io = driver_.stats();
#endif
}

/// A clock that is moved by hand calls this: timers may be due.
void runtime_core::listen_to_clock() noexcept {
  if (tasks.around.clock == nullptr) return;
  const auto moved = [](void* self) noexcept {
    const sched::driver_port& driver = static_cast<runtime_core*>(self)->tasks.around.driver;
    driver.ops->interrupt(driver.self);
  };
  tasks.around.clock->listen({moved, this});
}

void runtime_core::connect() noexcept {
  sched::surroundings& around = tasks.around;
#if ROTA_MODEL
  around.driver = driver_.port();
#else
  around.driver = {&driver_table, &driver_};
  around.io = &driver_;
#endif
  around.start_role = [](void* self, sched::worker& role) noexcept {
    return static_cast<blocking_pool*>(self)->start_role(role);
  };
  around.offer_role = [](void* self, sched::worker& role) noexcept {
    static_cast<blocking_pool*>(self)->offer_role(role);
  };
  around.take_role_back = [](void* self, sched::worker& role) noexcept {
    return static_cast<blocking_pool*>(self)->take_role_back(role);
  };
  around.start_missing = [](void* self) noexcept {
    return static_cast<blocking_pool*>(self)->start_missing();
  };
  around.threads = &threads;
  around.blocking = &threads;
  around.unhandled = [](void* self, core::header& task, std::exception_ptr what) noexcept {
    static_cast<runtime_core*>(self)->on_unhandled(task, std::move(what));
  };
  around.shield_overridden = [](void* self, core::header& task) noexcept {
    static_cast<runtime_core*>(self)->on_shield_overridden(task);
  };
  around.first_shortage = []() noexcept {
    std::fputs(
        "rota: no thread was free at once for the role of a worker that blocks: its tasks wait until one is, "
        "or "
        "the call returns. See pool_options::max_threads\n",
        stderr);
  };
  around.policy = this;
  around.first_awake = [](void* self) noexcept { static_cast<watchdog*>(self)->first_awake(); };
  around.watchdog = &watchdog_;
  around.polls = watchdog_.outside();
  around.dump = [](void* self) { return static_cast<runtime_core*>(self)->dump(); };
  around.abandoned = [](void* self) noexcept { delete static_cast<runtime_core*>(self); };
  around.holder = this;
}

void runtime_core::start_workers() {
  unsigned started = 0;
  std::exception_ptr failure;
  try {
    watchdog_.start();
    while (started < tasks.workers() && threads.start_role(tasks.at(started))) ++started;
    if (started < tasks.workers()) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                              "rota: a thread for every worker");
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure == nullptr) {
    threads.start_minimum();
    return;
  }
  tasks.set_phase(sched::phase::stopping);
  tasks.wake_all();
  threads.wait_for_roles(started);
  stop_threads();
  std::rethrow_exception(failure);
}

void runtime_core::demand_own_process() const {
  if (!is_own_process()) throw error(errc::forked);
}

bool runtime_core::is_own_process() const noexcept { return base::this_process_id() == process_; }

/// Returns true if a shutdown here would wait for itself: on a worker, in a task after its thread has lent
/// its role, in a blocking section, in the root of block_on, and in code that such a task calls and that runs
/// a task of another runtime on this thread.
// NOT IN A MODEL: a shutdown there ends the program
bool runtime_core::runs_a_task_here() const noexcept {
  const sched::worker* const role = sched::worker::current();
  if (role != nullptr && &role->shared() == &tasks) return true;
  return core::any_task_here(
      [](const core::header& task, const void* of) noexcept {
        return &core::scheduler_for_children(task) == of && !core::is_closure(task);
      },
      static_cast<const core::scheduler*>(&tasks));
}

shutdown_report runtime_core::shutdown(base::nanoseconds grace) {
  demand_own_process();
  shutdown_report report;
  if (shut_down(grace, &report) == on_shutdown::no_memory_for_report) throw std::bad_alloc();
  return report;
}

runtime_core::on_shutdown runtime_core::shut_down(base::nanoseconds grace, shutdown_report* into) noexcept {
  // NOT IN A MODEL: see runs_a_task_here()
  if (runs_a_task_here()) {
    std::fputs("rota: runtime destroyed on its own worker\n", stderr);
    std::terminate();
  }
  const base::turn_guard lock(shutdown_mutex_);
  if (shut_down_) return on_shutdown::done;
  shut_down_ = true;
  const ends before = count_ends();
  announce_end();
  tasks.set_phase(grace.count() > 0 ? sched::phase::cancelling : sched::phase::forcing);
  cancel_everything();
  wait_for_end(grace);
  const on_shutdown told = report_survivors(into);
  tasks.set_phase(sched::phase::stopping);
  tasks.wake_all();
  threads.wait_for_roles(tasks.workers());
  tasks.helping().wait_until_none();
  stop_threads();
  if (into != nullptr) {
    const ends after = count_ends();
    into->drained = after.completed() - before.completed();
    into->cancelled = after.cancelled - before.cancelled;
  }
  return told;
}

/// Runs before any task is refused, or is cancelled because a thread has read the phase.
void runtime_core::announce_end() noexcept {
  tasks.set_phase(sched::phase::announcing);
  tasks.tasks().for_each(core::announce_cancel);
}

/// Tasks that have suspended are in the registry. The others are found when they are popped, or when they
/// suspend.
void runtime_core::cancel_everything() noexcept {
  tasks.wake_all();
  pass_end_on_to_each();
  threads.cancel_queued();
}

void runtime_core::pass_end_on_to_each() noexcept {
  tasks.tasks().act_on_each([this](core::header& task) { tasks.pass_end_on(task); });
}

void runtime_core::wait_for_end(base::nanoseconds grace) noexcept {
  const base::time_point until = detail::saturating_deadline(base::now(), grace);
  if (grace.count() > 0) {
    if (tasks.books().wait_until_none(until)) return threads.wait_for_closures(until);
    tasks.set_phase(sched::phase::forcing);
    pass_end_on_to_each();
  }
  // The remaining tasks end as soon as they suspend, or with the limits of the shields and clean-ups that
  // have begun since. Only a closure that does not return can hold tasks up for ever. Tasks that wait for
  // such a closure are left to it, once nothing else moves, in two checks in a row.
  constexpr base::nanoseconds look_every = std::chrono::milliseconds(10);
  for (bool before = false; !tasks.books().wait_until_none(base::now() + look_every);) {
    const bool now = only_closures_are_left();
    // NOT IN A MODEL: see only_closures_are_left()
    if (now && before) return;
    before = now;
  }
}

/// Every waiting clean-up has the timer of its limit armed. A task that blocks its thread has lent its role,
/// or has offered it: then that worker is not parked.
// NOT IN A MODEL: a task that waits for such a closure stays in memory, which a model takes for a leak:
// tests/unit/runtime has it
bool runtime_core::only_closures_are_left() noexcept {
#if !ROTA_MODEL
  if (driver_.in_flight() != 0) return false;  // the kernel ends them
#endif
  const blocking_pool::counts pool = threads.count();
  if (pool.running == 0 || pool.lent != 0) return false;
  if (tasks.clocks().earliest() != base::never) return false;
  return tasks.sleepers().all_parked() && !tasks.injector().has_items() && tasks.helping().read() == 0;
}

void runtime_core::stop_threads() noexcept {
  if (tasks.around.clock != nullptr) tasks.around.clock->listen({});
  watchdog_.stop();
  threads.stop();
  tasks.drain();
}

void runtime_core::let_go() noexcept {
  if (tasks.books().let_go()) delete this;
}

/// Called on the thread that runs the task.
void runtime_core::on_shield_overridden(const core::header& task) noexcept {
  if (!shield_reports_.admits(base::now())) return;  // NOT IN A MODEL: many reports
  std::fprintf(stderr,
               "rota: the limit of a shield of task %llu '%s'%s, has passed\n",
               static_cast<unsigned long long>(task.id),
               core::name_of(task),
               core::awaited_at(task).text());
}

void runtime_core::on_unhandled(core::header& task, std::exception_ptr what) noexcept {
  // During a shutdown a cancellation does not count as unhandled: the awaited task may have been cancelled
  // before this task was, by the shutdown or by another task that the shutdown ended, for a reason of its
  // own.
  if (!tasks.takes_tasks() && core::is_cancellation(what)) {
    tasks.note_suppressed();
    return;
  }
  // relaxed: a sum for a report.
  unhandled_.fetch_add(1, base::order::relaxed);
  core::give_unhandled(options_.on_unhandled, core::about_task(task), what);
}

}  // namespace rota::detail
