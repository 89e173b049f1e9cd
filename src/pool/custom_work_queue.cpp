#include "pool/custom_work_queue.hpp"

#include <rota/detail/config.hpp>

#include <utility>

namespace rota::pool::detail {

custom_work_queue::~custom_work_queue() { ROTA_ASSERT(size() == 0); }

void custom_work_queue::set(queue_item& item) noexcept {
  ROTA_ASSERT(item.in == nullptr);
  if (!hand_in(item)) keep(item);
}

queue_item* custom_work_queue::get(base::time_point now) noexcept {
  if (queue_item* const kept = kept_.get(now)) return kept;
  if (queue_item* const given = take(&user_queue::get)) return given;
  if (in_user_ == 0) return nullptr;
  take_over();
  return kept_.get(now);
}

/// The same as get(). The queue may be no worker's own, so a thief takes jobs over, too.
queue_item* custom_work_queue::steal(base::time_point now) noexcept {
  if (queue_item* const kept = kept_.steal(now)) return kept;
  if (queue_item* const given = take(&user_queue::steal)) return given;
  if (in_user_ == 0) return nullptr;
  take_over();
  return kept_.steal(now);
}

queue_item* custom_work_queue::discard() noexcept {
  if (queue_item* const given = take(&user_queue::discard)) return given;
  return kept_.discard();
}

void custom_work_queue::remove(queue_item& item) noexcept {
  if (item.in == &kept_) return kept_.remove(item);
  ROTA_ASSERT(item.in == this && places_[item.slot].item == &item);
  place& here = places_[item.slot];
  here.item = nullptr;
  here.is = state::removed;
  item.in = nullptr;
  --live_;
}

/// Returns false if the user's queue did not take the job, or if there is no memory for its place.
bool custom_work_queue::hand_in(queue_item& item) noexcept {
  const std::uint32_t mark = take_place(item);
  if (mark == work_mark::none) return false;
  const std::optional<std::size_t> before = size_it_says();
  try {
    user_->set(work_mark::put(queued_work(item.id, item.priority), mark));
  } catch (...) {
    const std::optional<std::size_t> after = size_it_says();
    if (!before.has_value() || !after.has_value()) {
      places_[mark].item = nullptr;
      places_[mark].is = state::removed;  // its name may come out later
      return false;
    }
    if (*after <= *before) {
      free_place(mark);
      return false;
    }
    // The queue has kept the job, and threw after that.
  }
  item.in = this;
  item.slot = mark;
  ++live_;
  return true;
}

void custom_work_queue::keep(queue_item& item) noexcept {
  ++taken_over_;
  kept_.set(item);
}

/// Takes a job out of the user's queue. Skips names of removed jobs.
queue_item* custom_work_queue::take(exit by) noexcept {
  while (const std::optional<queued_work> work = ask(by)) {
    if (queue_item* const item = look_up(*work)) return item;
  }
  return nullptr;
}

std::optional<queued_work> custom_work_queue::ask(exit by) noexcept {
  try {
    return (*user_.*by)();
  } catch (...) {
    return std::nullopt;
  }
}

/// Returns the job of a name that has come out of the queue. Returns null if the job was removed meanwhile.
queue_item* custom_work_queue::look_up(const queued_work& work) noexcept {
  const std::uint32_t mark = work_mark::of(work);
  if (mark >= places_.size()) ROTA_FATAL("a custom queue gave out a work that was never put in", work.id);
  if (places_[mark].is == state::free || places_[mark].id != work.id) {
    ROTA_FATAL("a custom queue gave out a work that is not in it, or gave it out twice", work.id);
  }
  queue_item* const item = std::exchange(places_[mark].item, nullptr);
  free_place(mark);
  if (item == nullptr) return nullptr;
  item->in = nullptr;
  --live_;
  return item;
}

/// Takes over all jobs. The user's queue gives out nothing, but holds names.
void custom_work_queue::take_over() noexcept {
  for (std::size_t i = 0; live_ > 0; ++i) {
    place& here = places_[i];
    if (here.is != state::in) continue;
    queue_item& item = *std::exchange(here.item, nullptr);
    here.is = state::removed;  // its name may still come out
    item.in = nullptr;
    --live_;
    keep(item);
  }
  if (size_it_says() == 0) free_all();
}

/// Returns nothing if size() throws.
std::optional<std::size_t> custom_work_queue::size_it_says() const noexcept {
  try {
    return user_->size();
  } catch (...) {
    return std::nullopt;
  }
}

// --- places

std::uint32_t custom_work_queue::take_place(queue_item& item) noexcept {
  std::uint32_t mark = first_free_;
  if (mark == work_mark::none) {
    if (places_.size() >= work_mark::none) return work_mark::none;
    mark = static_cast<std::uint32_t>(places_.size());
    try {
      places_.emplace_back();
    } catch (...) {
      return work_mark::none;
    }
  } else {
    first_free_ = places_[mark].next_free;
  }
  places_[mark] = {.item = &item, .id = item.id, .is = state::in};
  ++in_user_;
  return mark;
}

void custom_work_queue::free_place(std::uint32_t mark) noexcept {
  ROTA_ASSERT(in_user_ > 0 && places_[mark].is != state::free);
  places_[mark] = {.next_free = std::exchange(first_free_, mark)};
  --in_user_;
}

/// Frees all places. The user's queue says that it is empty.
void custom_work_queue::free_all() noexcept {
  places_.clear();
  first_free_ = work_mark::none;
  in_user_ = 0;
}

}  // namespace rota::pool::detail
