#include <rota/runtime.hpp>
#include <rota/spawn.hpp>

#include "base/frame_allocator.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "runtime/runtime_core.hpp"
#include "task/thread_ports.hpp"

#include <utility>

namespace rota {

runtime::runtime(runtime_options options) : core_(new detail::runtime_core(options, nullptr)) {}
runtime::runtime(runtime_options options, core::clock_source& clock)
    : core_(new detail::runtime_core(options, &clock)) {}

runtime::~runtime() {
  // A child of fork() has this object, but none of its threads.
  if (!core_->is_own_process()) return;
  // exit() was called in a task, and this is a static runtime: to wait for that task would be to wait for ever. Threads and
  // memory go with the process.
  if (base::exits_inside_a_task()) return;
  static_cast<void>(core_->shut_down(core_->options().shutdown_grace, nullptr));
  core_->let_go();
  base::trim_frames();
}

shutdown_report runtime::shutdown_within(std::chrono::nanoseconds grace) { return core_->shutdown(grace); }

runtime_handle runtime::handle() {
  core_->demand_own_process();
  return runtime_handle(*core_);
}
runtime_stats runtime::stats() const {
  core_->demand_own_process();
  return core_->stats();
}
std::string runtime::dump() const {
  core_->demand_own_process();
  return core_->dump();
}

core::scheduler& runtime::scheduler() const {
  core_->demand_own_process();
  return core_->tasks;
}
core::scheduler& runtime::pool() const {
  core_->demand_own_process();
  return core_->threads;
}

runtime_handle::runtime_handle(detail::runtime_core& core) noexcept : core_(&core) {
  core_->tasks.books().made();
}
runtime_handle::runtime_handle(const runtime_handle& other) noexcept : runtime_handle(*other.core_) {}
runtime_handle& runtime_handle::operator=(const runtime_handle& other) noexcept {
  runtime_handle copy(other);
  std::swap(core_, copy.core_);
  return *this;
}
runtime_handle::~runtime_handle() { core_->tasks.note_freed(); }

core::scheduler& runtime_handle::scheduler() const {
  core_->demand_own_process();
  return core_->tasks;
}
core::scheduler& runtime_handle::pool() const {
  core_->demand_own_process();
  return core_->threads;
}

namespace core {

namespace {

header& demand_task() {
  header* const me = task_in_sight();
  if (me == nullptr) throw error(errc::no_runtime);
  return *me;
}

}  // namespace

scheduler& current_scheduler() { return scheduler_for_children(demand_task()); }

scheduler& current_blocking_pool() {
  scheduler& tasks = scheduler_for_children(demand_task());
  scheduler* const pool = tasks.ops->blocking(tasks);
  if (pool == nullptr) throw error(errc::unsupported);
  return *pool;
}

blocking_section::blocking_section() : lent_(current_thread_ports().before_block()) {
  // Inside, this is a plain thread: block_on may run a task of its own.
  base::thread_locals& here = base::this_thread_locals();
  // It may stay for long: reports name it, and a shutdown tells it.
  if (header* const task = static_cast<header*>(here.task)) enroll_once(*task);
  task_ = std::exchange(here.task, nullptr);
  outer_ = std::exchange(here.in_place, task_);
}

blocking_section::~blocking_section() {
  base::thread_locals& here = base::this_thread_locals();
  here.task = task_;
  here.in_place = outer_;
  current_thread_ports().after_block(lent_);
}

}  // namespace core
}  // namespace rota
