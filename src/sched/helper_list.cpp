#include "sched/helper_list.hpp"

namespace rota::sched {

void helper_list::enter(core::outside_helper& me) noexcept {
  const base::lock_guard lock(mutex_);
  me.before = last_;
  me.after = nullptr;
  (last_ != nullptr ? last_->after : first_) = &me;
  last_ = &me;
  me.is_listed = true;
  // seq_cst: the third of the four accesses: before the re-scan.
  count_.fetch_add(1, base::order::seq_cst);
}

void helper_list::leave(core::outside_helper& me) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (me.is_listed) unlink(me);
  }
  me.take_call();
}

void helper_list::take_and_call() noexcept {
  const base::lock_guard lock(mutex_);
  core::outside_helper* const whom = first_;
  if (whom == nullptr) return;
  unlink(*whom);
  whom->call();
}

/// Removes `each` from the list. The lock is held.
void helper_list::unlink(core::outside_helper& each) noexcept {
  (each.before != nullptr ? each.before->after : first_) = each.after;
  (each.after != nullptr ? each.after->before : last_) = each.before;
  each.is_listed = false;
  // relaxed: a producer that reads the larger number finds the shorter list under the lock.
  count_.fetch_sub(1, base::order::relaxed);
}

}  // namespace rota::sched
