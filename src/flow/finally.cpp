#include <rota/finally.hpp>

#include "task/header.hpp"
#include "task/unwinder.hpp"

#include <rota/error.hpp>

#include <exception>
#include <utility>

namespace rota::core {

namespace {

/// Returns the reason of a cancelled_error, none for another exception.
cancel_reason reason_in(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const cancelled_error& cancelled) {
    return cancelled.reason();
  } catch (...) {
    return cancel_reason::none;
  }
}

}  // namespace

cleanup_region::~cleanup_region() {
  if (holds_shield_) static_cast<void>(header_of(task()).word.shield_down());
}

/// From here on unwinding no longer stops at this frame: a cause that is strong enough to interrupt a
/// clean-up ends it for good.
void cleanup_region::begin() noexcept {
  unlink();
  // If unwinding stopped here, it has left a shield of its own. If 255 shields are up, one more is not
  // needed.
  if (!stopped_here()) {
    header& me = header_of(task());
    enroll_once(me);
    me.owner->ops->pass_end_on(*me.owner, me);
    holds_shield_ = raise_shield(me);
  }
  quiet_.begin(task());
}

bool cleanup_region::end(std::exception_ptr failure, bool late, bool body_has_value) noexcept {
  header& me = header_of(task());
  quiet_.end();
  if (std::exchange(holds_shield_, false)) static_cast<void>(me.word.shield_down());
  if (body_has_value) return late || failure != nullptr;
  if (late) me.owner->ops->shield_overridden(*me.owner, me);
  if (failure == nullptr) return false;
  // The clean-up has awaited a task that the cause of this unwinding has cancelled, too. That cancellation is
  // counted, and not reported.
  if (stopped_here() && reason_in(failure) == reason()) {
    me.owner->ops->suppressed(*me.owner);
  } else {
    me.owner->ops->unhandled(*me.owner, me, std::move(failure));
  }
  return false;
}

void cleanup_region::go_on(promise_base& frame) noexcept {
  header& me = header_of(task());
  unwinder::set_target(me, release_catch());
  me.innermost.set(&frame);
  me.why = stop_reason::unwind;
}

}  // namespace rota::core
