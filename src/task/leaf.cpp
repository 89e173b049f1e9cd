#include <rota/leaf.hpp>

#include "base/tls_slot.hpp"
#include "task/header.hpp"
#include "task/never_awaited.hpp"
#include "task/unreported.hpp"
#include "task/unwinder.hpp"

#include <rota/task.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rota {

namespace core {
namespace {

/// Ends the program with a message about a task.
[[noreturn]] void fatal_in(const header& task, const char* what) noexcept {
  char words[384];
  std::snprintf(words,
                sizeof words,
                "%s: task %llu '%s'",
                what,
                static_cast<unsigned long long>(task.id),
                name_of(task));
  ROTA_FATAL(words, task.id);
}

}  // namespace
}  // namespace core

namespace {

constexpr waker_vtable no_operation{
    [](void*) noexcept {},
    [](void*) noexcept {},
    [](void* data) noexcept { return data; },
    [](void*) noexcept {},
};

}  // namespace

waker noop_waker() noexcept { return {nullptr, &no_operation}; }

waker leaf::make_waker() const noexcept { return core::make_waker(core::header_of(*task_)); }

bool leaf::start_beside() { return start(); }
const void* leaf::check_beside() { return nullptr; }
void leaf::lose() noexcept { static_cast<void>(try_cancel(cancel_reason::none)); }
void leaf::announce_cancel() noexcept {}
bool leaf::begin_cancel(cancel_reason /*reason*/) noexcept { return false; }

void leaf::charge_more(std::size_t operations) noexcept {
  const std::size_t left = task_->budget;
  if (left <= least_left) return;
  task_->budget = static_cast<unsigned char>(left - std::min<std::size_t>(operations, left - least_left));
}

bool leaf::suspend_in(core::promise_base& frame) {
#if !defined(NDEBUG)
  if (core::task_around() != task_) core::fatal_in(core::header_of(*task_), "a frame was resumed by hand");
#endif
  task_->innermost.set(&frame);
  // Otherwise await_ready() has decided that the task only gives up its turn: a yield, or an operation that
  // is done and has spent the budget.
  if (task_->why == core::stop_reason::none) return start_or_suspend();
  task_->waiting.set(this);
  return true;
}

/// Starts the operation. Returns false if it is complete and the frame goes on. A function of its own, so
/// that a yield saves no registers.
bool leaf::start_or_suspend() {
  if (start()) {
    if (core::unwinder::must_not_go_on(core::header_of(*task_), *this)) {
      task_->why = core::stop_reason::leaf;
    } else if (within_budget()) {
      return false;
    }
  } else if (task_->why == core::stop_reason::none) {
    task_->why = core::stop_reason::leaf;
  }
  task_->waiting.set(this);
  return true;
}

namespace core {

// Without this the body's own catch block would catch what a destructor of its frame threw, and go on to the
// end as if the body had returned.
void thrown_in(const strand& running) noexcept {
  // Frames in place are not unwound: they become a task before.
  if (running.in_place) return;
  const auto& me = static_cast<const header&>(running);
  if (me.word.load().has(unwinding)) fatal_in(me, "a destructor threw while its task was unwound");
}

// A task may be the parameter of a task that is the parameter of a task. Destroyed as the language does it, a
// long chain would overflow the stack. From this depth on a frame is destroyed after the one that owned it,
// not inside of its destruction.
constexpr unsigned most_nested = 64;

namespace {

void destroy_nested(promise_base& frame) noexcept {
  base::thread_locals& locals = base::this_thread_locals();
  if (locals.destroying == most_nested) {
    // It never ran, or its child has ended: `parent` is no longer used.
    frame.parent = static_cast<promise_base*>(locals.doomed);
    locals.doomed = &frame;
    return;
  }
  ++locals.destroying;
  frame.handle().destroy();
  while (locals.destroying == most_nested && locals.doomed != nullptr) {
    auto* const next = static_cast<promise_base*>(locals.doomed);
    locals.doomed = next->parent;
    next->handle().destroy();
  }
  --locals.destroying;
}

}  // namespace

void task_base::drop(promise_base*& frame) noexcept {
  const unreported dropped;
  if (promise_base* const gone = std::exchange(frame, nullptr)) destroy(*gone);
}

void task_base::destroy(promise_base& frame) noexcept {
  // Tasks that a reported task keeps are not reported: a chain of a million tasks is one mistake. Tasks that
  // an abandoned generator keeps are not reported either: no line of its body can run any more.
  if (frame.root != nullptr || report_never_awaited(frame)) {
    const unreported kept;
    return destroy_nested(frame);
  }
  destroy_nested(frame);
}

}  // namespace core
}  // namespace rota
