#include <rota/detail/group.hpp>

#include "flow/ending.hpp"
#include "flow/scheduler_here.hpp"
#include "task/harness.hpp"

#include <stdexcept>
#include <utility>

namespace rota::core {

void group_leaf::let_go() noexcept {
  base::note_write(&waker_);
  for (std::size_t i = 0; i < count_; ++i) {
    if (members_[i].frame != nullptr) members_[i].frame->handle().destroy();
    if (members_[i].task != nullptr) drop_handle(*members_[i].task);
  }
}

bool group_leaf::start() {
  if (count_ == 0) return true;
  if (parent_ != nullptr) throw error(errc::already_joined, "a when_* is awaited for the second time");
  header& me = header_of(task());
  scheduler& by = scheduler_for_children_of(me);
  parent_ = &me;
  by_ = &by;
  // relaxed. The children's own words hand it over.
  remaining_.store(count_, base::order::relaxed);
  base::note_write(&waker_);
  waker_ = make_waker();
  for (std::size_t i = 0; i < count_; ++i) {
    member& m = members_[i];
    const snapshot word = by.ops->admit(by) ? spawned_word : entered_word;
    m.task = &make_header(*std::exchange(m.frame, nullptr), by, *m.type, word);
    // relaxed. The child's word hands it over.
    m.task->bond.store(this, base::order::relaxed);
  }
  // All are there before the first can end, and ask the others to stop.
  for (std::size_t i = 0; i < count_; ++i) {
    header& child = *members_[i].task;
    if (child.word.load().is(lifecycle::running)) {
      abandon(child, cancel_reason::shutdown);
    } else {
      by.ops->schedule(child);
    }
  }
  return is_ready();
}

bool group_leaf::is_ready() noexcept {
  // acquire. Pairs with the release in ended(): what all children did is seen.
  return count_ == 0 || done_.load(base::order::acquire);
}

cancel_progress group_leaf::try_cancel(cancel_reason reason) noexcept {
  header* nobody = nullptr;
  // relaxed. From now on no child decides; that orders nothing. failure: relaxed. One has decided.
  decider_.compare_exchange_strong(nobody, parent_, base::order::relaxed, base::order::relaxed);
  cancel_others(nullptr, reason);
  return is_ready() ? cancel_progress::ended : cancel_progress::pending;
}

bool group_leaf::decides(const ending& how) const noexcept {
  switch (rule_) {
    case group_rule::all: return how.failed();
    case group_rule::settled: return false;
    case group_rule::any: return true;
    case group_rule::any_success: return !how.failed();
  }
  return false;
}

void group_leaf::cancel_others(const header* but, cancel_reason reason) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (members_[i].task != but) static_cast<void>(cancel(*members_[i].task, reason));
  }
}

void group_leaf::ended(header& child, const ending& how, bool /*unseen*/) noexcept {
  header* nobody = nullptr;
  // relaxed, failure: relaxed. Only which was first; remaining_ orders the rest.
  if (how.failed())
    failed_.compare_exchange_strong(nobody, &child, base::order::relaxed, base::order::relaxed);
  nobody = nullptr;
  // relaxed, failure: relaxed. As above.
  if (decides(how) &&
      decider_.compare_exchange_strong(nobody, &child, base::order::relaxed, base::order::relaxed)) {
    cancel_others(&child, cancel_reason::sibling_failed);
  }
  // acq_rel. release: what I did happens before the end. acquire: as the last I hand on what all did.
  if (remaining_.fetch_sub(1, base::order::acq_rel) != 1) return;
  base::note_write(&waker_);
  waker last = std::move(waker_);
  // release. Pairs with the acquire in is_ready().
  done_.store(true, base::order::release);
  last.wake();
}

/// The awaiting task gives up its handles: nobody takes what is left in them.
void group_leaf::dropped(header& child, const ending& how) noexcept {
  if (how.thrown != nullptr && &child != rethrown_) by_->ops->suppressed(*by_);
}

std::size_t group_leaf::decider() const noexcept {
  // relaxed. Over: done_ has ordered it.
  const header* const decided = decider_.load(base::order::relaxed);
  std::size_t i = 0;
  while (members_[i].task != decided) ++i;
  return i;
}

void throw_nothing_to_wait_for() { throw std::invalid_argument("when_any: the range is empty"); }

void group_leaf::rethrow_failure() {
  // relaxed, both. Over: done_ has ordered it.
  header* const decided = decider_.load(base::order::relaxed);
  header* const failed = decided != nullptr ? decided : failed_.load(base::order::relaxed);
  if (failed == nullptr || rule_ == group_rule::settled) return;
  ending how = ending_of(*failed);
  if (!how.failed()) return;
  rethrown_ = failed;
  rethrow(std::move(how));
}

}  // namespace rota::core
