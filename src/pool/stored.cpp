// Iteration over the results that the pool keeps.
#include "pool/pool_core.hpp"

#include <rota/pool/fetch_if.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rota::pool::detail {

namespace {

/// Owns references to works.
struct references {
  explicit references(std::vector<work_core*> found) noexcept : all(std::move(found)) {}
  references(const references&) = delete;
  references& operator=(const references&) = delete;
  ~references() {
    for (work_core* const each : all) release(*each);
  }
  std::vector<work_core*> all;
};

}  // namespace

std::vector<work_core*> pool_core::all_stored(const void* tag) {
  const base::lock_guard guard(lock_);
  std::vector<work_core*> found;
  found.reserve(stored_.size());
  for (const auto& [id, w] : stored_) {
    // The type is read only when the work is over: a reserved work has no type before it is submitted.
    if (!w->load().has(over) || w->type == nullptr || w->type->result != tag) continue;
    w->retain();
    found.push_back(w);
  }
  return found;
}

std::vector<work_core*> pool_core::stored_of_groups() {
  const base::lock_guard guard(lock_);
  std::vector<work_core*> found;
  found.reserve(stored_.size());
  for (const auto& [id, w] : stored_) {
    // A work that is not submitted yet has no extras, and is in no group.
    const word now = w->load();
    if (now.is(work_status::created) || !may_be_in_groups(*w)) continue;
    w->retain();
    found.push_back(w);
  }
  return found;
}

work_end pool_core::end_of_stored(work_core& w) const noexcept {
  work_end end = end_of(w, w.load().status());
  end.ended = {};  // the time of the end is not kept
  return end;
}

stored_works::stored_works(thread_pool& pool, const void* tag)
    : pool_((pool.core_->demand_own_process("fetch_if"), *pool.core_)), all_(pool_.all_stored(tag)) {}

stored_works::~stored_works() {
  let_go();
  word seen{};
  for (std::size_t i = forgotten_; i < chosen_; ++i) static_cast<void>(all_[i]->apply<rule::unfetch>(seen));
  for (work_core* const each : all_) pool_.drop(*each);
}

/// Lets go of the current work.
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

// ---- several at once --------------------------------------------------------------------------------------

work_batch::work_batch(pool_core& pool, std::span<const work_id> ids) {
  pool.demand_own_process("a wait for works");
  all_.reserve(ids.size());
  for (const work_id id : ids) all_.push_back(find(pool, id));
}

work_batch::work_batch(pool_core& pool, std::span<const work_id> ids, find_also /*which*/) {
  pool.demand_own_process("a wait for works");
  all_.reserve(ids.size());
  for (const work_id id : ids) all_.push_back(pool.find(id.value));
}

/// Works that are over have left their group. A work may leave the group between the two searches, and is
/// then found twice.
work_batch::work_batch(pool_core& pool, std::string_view group, const void* tag) {
  pool.demand_own_process("a wait for works");
  const held_works members = pool.circles.snapshot(group);
  const references stored(pool.stored_of_groups());
  std::vector<held_works::entry> found(members.begin(), members.end());
  for (work_core* const w : stored.all) {
    const auto is_it = [w](const held_works::entry& e) { return e.work == w; };
    if (std::any_of(members.begin(), members.end(), is_it)) continue;
    if (const std::uint64_t turn = pool.circles.turn_within(*w, group); turn != 0) found.push_back({w, turn});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.turn < b.turn; });
  all_.reserve(found.size());
  for (const held_works::entry& each : found) {
    // The type is written before the work joins its group. It is null if its submit() has failed since.
    const body_type* const type = each.work->type;
    if (type == nullptr || type->result != tag) continue;
    each.work->retain();
    all_.push_back(each.work);
  }
}

work_batch::~work_batch() {
  for (work_core* const each : all_) {
    if (each != nullptr) release(*each);
  }
}

void work_batch::wait(const void* tag) const {
  for (work_core* const each : all_) {
    if (each != nullptr) static_cast<void>(detail::wait(*each, base::never));
  }
  demand_type(tag);
}

void work_batch::demand_type(const void* tag) const {
  // A cancelled reservation has no type.
  for (const work_core* const each : all_) {
    if (each != nullptr && each->type != nullptr && each->type->result != tag)
      throw std::invalid_argument("thread_pool::fetch: the result of a work is of another type");
  }
}

}  // namespace rota::pool::detail
