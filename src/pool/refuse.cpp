// A submit() that throws: what it has begun is taken back.
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::pool::detail {

/// It was counted in after the pool has closed.
void pool_core::refuse() {
  count_out();
  throw error(errc::shut_down, "submit");
}

/// Nothing is in its body. Nobody has found it; or its id is reserved, and stays so.
void pool_core::give_back(work_core& w) noexcept {
  if (w.body != nullptr && w.body != w.room) base::free_frame(w.body, w.type->bytes);
  w.body = nullptr;
  w.type = nullptr;
  end_coroutine(std::exchange(w.coroutine, nullptr));
  if (w.load().refs() == 0) return recycle(w);
  // What was asked of it meanwhile was asked of a work that has not come.
  word seen{};
  static_cast<void>(w.apply<rule::clear>(seen, taken | stop_asked | force_asked | timed_out | ending));
  if (is_closed()) end_reservation(w);
  drop(w);
}

void pool_core::leave_names(work_core& w) noexcept {
  if (w.extras == nullptr || w.extras->name.empty()) return;
  const base::lock_guard guard(lock_);
  const auto found = names_.find(w.extras->name);
  if (found != names_.end() && found->second == w.id) names_.erase(found);
}

/// What submit() has begun is taken back, and it throws.
void pool_core::undo(work_core& w) noexcept {
  leave_names(w);
  if (w.extras != nullptr) {
    if (w.extras->group != nullptr) circles.leave(*w.extras->group, w);
    if (w.extras->options.store_result) forget_stored(w);
  }
  drop_function(w, work_status::rejected);
  if (const word now = w.load(); now.refs() != 0 && !now.has(reserved)) return reject(w);
  w.type->destroy_result(w.body);
  delete std::exchange(w.extras, nullptr);
  w.priority = 0;
  give_back(w);
}

/// Somebody may have found it, by its name or its group: who waits for it goes on, what comes after it ends, and what it has stays
/// there until nobody looks at it any more.
void pool_core::reject(work_core& w) noexcept {
  word seen{};
  static_cast<void>(w.apply<rule::reject>(seen, is_closed() ? std::uint64_t{ending} : 0));
  // acq_rel. As in pause(), which finds it final from now on.
  if (seen.has(held)) pauses_.fetch_sub(1, base::order::acq_rel);
  // Where nobody can have heard of its id there is nothing to remember, in the place of one that failed.
  if (events.any() || (w.extras != nullptr && (!w.extras->name.empty() || w.extras->group != nullptr)))
    remember(w, work_status::rejected);
  work_core* failed = nullptr;
  announce(w, w.load(), failed);
  finish_failed(failed);
  drop(w);
  drop(w);
}

}  // namespace rota::pool::detail
