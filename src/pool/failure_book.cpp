#include "pool/failure_book.hpp"

#include <algorithm>
#include <span>

namespace rota::pool::detail {

/// Returns false if there is no memory for the entry.
bool failure_book::keep(std::uint64_t id, entry how) noexcept {
  try {
    order_.push_back(id);
  } catch (...) {
    return false;
  }
  try {
    all_.insert_or_assign(id, how);
  } catch (...) {
    order_.pop_back();
    return false;
  }
  if (order_.size() > most) {
    all_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void failure_book::note(std::uint64_t id, entry how) noexcept {
  ++noted_;
  while (spare_count_ != 0 && keep(spares_[spare_count_ - 1].id, spares_[spare_count_ - 1].how))
    --spare_count_;
  if (keep(id, how)) return;
  if (spare_count_ != places) {
    spares_[spare_count_++] = {id, how};
  } else {
    whole_from_ = noted_ + most;
  }
}

failure_book::entry failure_book::find(std::uint64_t id) const noexcept {
  if (const auto found = all_.find(id); found != all_.end()) return found->second;
  for (const spare& each : std::span(spares_).first(spare_count_)) {
    if (each.id == id) return each.how;
  }
  return {.how = noted_ < whole_from_ ? work_status::failed : work_status::succeeded, .root = id};
}

}  // namespace rota::pool::detail
