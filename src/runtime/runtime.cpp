#include <rota/runtime.hpp>
#include <rota/spawn.hpp>

#include "base/frame_allocator.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "runtime/runtime_core.hpp"
#include "task/ports.hpp"
#include "task/thread_ports.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota {

runtime::runtime(runtime_options options) : core_(new detail::runtime_core(options, nullptr)) {}
runtime::runtime(runtime_options options, core::clock_source& clock)
    : core_(new detail::runtime_core(options, &clock)) {}

runtime::~runtime() {
  // A child of fork() has this object, but none of its threads.
  if (!core_->is_own_process()) return;
  // exit() was called in a task, and this is a static runtime: waiting for that task would never end. Threads
  // and memory end with the process.
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

std::string dump() {
  core::scheduler& here = core::current_scheduler();
  if (here.ops->dump == nullptr)
    throw error(errc::no_runtime,
                "dump in a coroutine job of a pool (a runtime's tasks are listed, not a pool's jobs: see "
                "thread_pool::stats)");
  return here.ops->dump(here);
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

}  // namespace rota
