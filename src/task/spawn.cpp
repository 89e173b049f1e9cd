// Spawning from a task, and blocking in one.
#include <rota/spawn.hpp>

#include "base/tls_slot.hpp"
#include "task/header.hpp"
#include "task/scheduler_here.hpp"
#include "task/thread_ports.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::core {

namespace {

scheduler& demand_scheduler() {
  const header* const me = task_in_sight();
  if (me == nullptr) throw error(errc::no_runtime);
  scheduler& found = scheduler_for_children(*me);
  demand_own_process(found);
  return found;
}

}  // namespace

scheduler& current_scheduler() { return demand_scheduler(); }

scheduler& current_blocking_pool() {
  scheduler& tasks = demand_scheduler();
  scheduler* const pool = tasks.ops->blocking(tasks);
  if (pool == nullptr)
    throw error(
        errc::no_runtime,
        "spawn_blocking in a coroutine job of a pool (it may block: call the function in place, or submit it "
        "to the pool and await the work)");
  return *pool;
}

blocking_section::blocking_section() : ports_(&current_thread_ports()), lent_(ports_->before_block()) {
  // Inside, this is a plain thread: block_on may run its own task here.
  base::thread_locals& here = base::this_thread_locals();
  // The section may last long: reports name the task, and a shutdown tells it.
  if (header* const task = static_cast<header*>(here.task)) enroll_once(*task);
  task_ = std::exchange(here.task, nullptr);
  outer_ = static_cast<const blocking_section*>(std::exchange(here.in_place, this));
}

blocking_section::~blocking_section() {
  base::thread_locals& here = base::this_thread_locals();
  here.task = task_;
  here.in_place = const_cast<blocking_section*>(outer_);
  ports_->after_block(lent_);
}

}  // namespace rota::core
