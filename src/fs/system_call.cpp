#include "fs/system_call.hpp"

#include "driver/io_driver.hpp"
#include "driver/op_leaf.hpp"
#include "task/header.hpp"
#include "task/unwinder.hpp"

#include <rota/error.hpp>

#include <cerrno>

namespace rota::fs::detail {

namespace {

/// Returns null if there is no ring, or if it lacks the call.
driver::ring* ring_for(const system_call& call) noexcept {
  const core::header& task = *core::current_task();
  driver::io_driver* const driver = task.owner->ops->io(*task.owner);
  driver::ring* const found = driver == nullptr ? nullptr : driver->completions();
  return found != nullptr && found->can(call.by()) ? found : nullptr;
}

number of_kernel(std::int32_t got) noexcept {
  if (got < 0) return std::unexpected(std::error_code(-got, std::generic_category()));
  return static_cast<std::size_t>(got);
}

driver::op_leaf::yields yields_of(const system_call& call) noexcept {
  using yields = driver::op_leaf::yields;
  return call.by() == sys::ring_call::open ? yields::descriptor : yields::number;
}

}  // namespace

awaiting_task::awaiting_task() noexcept : task_(*core::current_task()) {}

// A shutdown of the runtime cancels the closure, too. That says nothing about the waiting task. The task
// waits for nothing else meanwhile, so if it unwinds, it unwinds from here.
bool awaiting_task::has_given_up() const noexcept {
  if (core::current_task() == &task_) {
    left_ = left_ || core::unwinder::is_due(task_);
    return left_;
  }
  const core::snapshot now = task_.word.load();
  left_ = left_ || now.has(core::unwinding) || now.cancel_due();
  return left_;
}

core::scheduler* threads_here() noexcept {
  core::scheduler& tasks = core::scheduler_for_children(*core::current_task());
  return tasks.ops->blocking(tasks);
}

std::error_code reason_of(cancel_reason why) noexcept {
  return why == cancel_reason::queue_full ? errc::queue_full : errc::shut_down;
}

task<number> perform(const system_call& call, when_late late) {
  driver::ring* const ring = ring_for(call);
  while (ring != nullptr) {
    driver::operation* const op = ring->take();
    if (op == nullptr) break;  // 65,536 are in flight, or there is no memory for more
    call.prepare(op->request);
    const std::int32_t got = co_await driver::op_leaf(*ring, *op, call.what(), yields_of(call));
    if (got != -EINTR) co_return of_kernel(got);
  }
  const auto make = [&call](const awaiting_task& by) { return call.make(by); };
  co_return co_await on_thread(make, late);
}

}  // namespace rota::fs::detail
