#include <rota/detail/nursery.hpp>

#include "flow/brood.hpp"

#include <new>
#include <utility>

namespace rota::core {

nursery::nursery() noexcept {
  static_assert(sizeof(brood) <= room && alignof(brood) <= 8, "less is reserved than a brood needs");
  ::new (static_cast<void*>(room_)) brood(nullptr);
}

nursery::nursery(promise_base& frame) noexcept {
  ::new (static_cast<void*>(room_)) brood(&header_of(task_of(*frame.root)));
}

nursery::~nursery() {
  children().~brood();
  mark_ = 0;
  // The compiler may drop a store to an object that ends, but the next user of a dangling reference reads it.
  asm volatile("" : : "r"(&mark_) : "memory");
}

void nursery::was_used_after_its_end() noexcept { ROTA_FATAL("a scope was used after it had ended", 0); }

header& nursery::launch(promise_base& root, const result_vtable& type, std::source_location site) {
  return children().launch(root, type, site);
}

void nursery::cancel(cancel_reason reason) noexcept { children().stop(reason); }

std::size_t nursery::size() const noexcept { return children().size(); }

bool nursery::was_used() noexcept { return children().was_used(); }

scope_region::scope_region(brood& children, promise_base& frame) noexcept
    : region(kind::scope, task_of(*frame.root), &frame), children_(&children) {}

bool scope_region::passed() noexcept { return in_body_ && children_->has_failed(); }

void scope_region::announce_unwind() noexcept { children_->announce_stop(); }

void scope_region::on_unwind(cancel_reason reason) noexcept {
  children_->expect_end();
  children_->stop(reason);
}

bool scope_region::may_unwind() noexcept { return children_->all_ended(); }

bool brood_leaf::start() {
  children_->expect_end();
  return children_->try_close();
}

bool brood_leaf::is_ready() noexcept { return children_->try_close(); }

cancel_progress brood_leaf::try_cancel(cancel_reason reason) noexcept {
  children_->stop(reason);
  return cancel_ended() ? cancel_progress::ended : cancel_progress::pending;
}

void brood_leaf::announce_cancel() noexcept { children_->announce_stop(); }

bool brood_leaf::cancel_ended() noexcept { return children_->all_ended(); }

bool brood_leaf::is_discardable() noexcept { return children_->was_cancelled_from_outside(); }

}  // namespace rota::core
