// A submit() that throws: undoes what it has done.
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::pool::detail {

/// Throws for a work that was counted in after the pool had closed.
void pool_core::refuse() {
  count_out();
  throw error(errc::shut_down, "submit");
}

/// Returns a drawn work. Its body was not made. No other thread has found the work, or its id is reserved and
/// stays reserved.
void pool_core::give_back(work_core& w) noexcept {
  if (w.body != nullptr && w.body != w.room) base::free_frame(w.body, w.type->bytes);
  w.body = nullptr;
  w.type = nullptr;
  end_coroutine(std::exchange(w.coroutine, nullptr));
  if (w.load().refs() == 0) return recycle(w);
  // A request that came meanwhile was made for a work that was never submitted.
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

/// Undoes what submit() has done. The caller throws.
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

/// Rejects a work that another thread may have found by its name or its group. Its waiters continue, and the
/// works that come after it end. Its memory stays until the last reference is dropped.
void pool_core::reject(work_core& w) noexcept {
  word seen{};
  static_cast<void>(w.apply<rule::reject>(seen, is_closed() ? std::uint64_t{ending} : 0));
  // acq_rel: same reason as in pause(), which finds the final status from now on.
  if (seen.has(held)) pauses_.fetch_sub(1, base::order::acq_rel);
  // If no thread can know its id, there is nothing to remember: it must not take the place of a work that
  // failed.
  if (events.any() || (w.extras != nullptr && (!w.extras->name.empty() || w.extras->group != nullptr)))
    remember(w, work_status::rejected);
  work_core* failed = nullptr;
  announce(w, w.load(), failed);
  finish_failed(failed);
  drop(w);
  drop(w);
}

}  // namespace rota::pool::detail
