// Results that the pool keeps, looked through.
#include "pool/pool_core.hpp"

#include <rota/pool/fetch_if.hpp>

#include <utility>

namespace rota::pool::detail {

std::vector<work_core*> pool_core::all_stored(const void* tag) {
  const base::lock_guard guard(lock_);
  std::vector<work_core*> found;
  found.reserve(stored_.size());
  for (const auto& [id, w] : stored_) {
    // Its type is read when it is over: a reserved one has none before it comes.
    if (!w->load().has(over) || w->type == nullptr || w->type->result != tag) continue;
    w->retain();
    found.push_back(w);
  }
  return found;
}

work_end pool_core::end_of_stored(work_core& w) const noexcept {
  work_end end = end_of(w, w.load().status());
  end.ended = {};  // when that was nobody has kept
  return end;
}

stored_works::stored_works(thread_pool& pool, const void* tag)
    : pool_(*pool.core_), all_(pool_.all_stored(tag)) {}

stored_works::~stored_works() {
  let_go();
  word seen{};
  for (std::size_t i = forgotten_; i < chosen_; ++i) static_cast<void>(all_[i]->apply<rule::unfetch>(seen));
  for (work_core* const each : all_) pool_.drop(*each);
}

/// The one that it is at.
void stored_works::let_go() noexcept {
  word seen{};
  if (std::exchange(is_at_one_, false)) static_cast<void>(all_[next_ - 1]->apply<rule::unfetch>(seen));
}

bool stored_works::next() noexcept {
  let_go();
  while (next_ < all_.size()) {
    word seen{};
    is_at_one_ = all_[next_++]->apply<rule::fetch>(seen);
    if (is_at_one_) return true;
  }
  return false;
}

work_end stored_works::end() const noexcept { return pool_.end_of_stored(*all_[next_ - 1]); }

void stored_works::choose() noexcept {
  std::swap(all_[chosen_++], all_[next_ - 1]);
  is_at_one_ = false;
}

void* stored_works::outcome_of(std::size_t position) const noexcept {
  work_core& w = *all_[position];
  return w.type->outcome(w.body);
}

void stored_works::forget(std::size_t position) noexcept {
  forgotten_ = position + 1;
  static_cast<void>(pool_.forget_stored(*all_[position]));
}

}  // namespace rota::pool::detail
