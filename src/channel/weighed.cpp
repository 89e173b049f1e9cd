#include <rota/detail/channel_weighed.hpp>

#include "base/frame_allocator.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

weighed& self(void* of) noexcept { return *static_cast<weighed*>(of); }

constexpr std::size_t frame_align = 16;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

constexpr std::size_t offset_of_function = round_up(sizeof(weighed), frame_align);

/// A claimed slot is used at once, so there is nothing to pass on.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("a slot of a channel was claimed, and is not used", me.got);
}

/// Stores the slot of a sender in its node, for put_if_sent().
void keep_slot(wait_node& me, weighed_slot& place) noexcept {
  me.kind = static_cast<unsigned char>(send_status::sent);
  me.got = reinterpret_cast<std::uintptr_t>(&place);
}

[[noreturn]] void refuse(const char* what, std::uint64_t given, std::uint64_t most) {
  throw std::invalid_argument(std::string("channel::bounded_by_weight: ") + what + " is " +
                              std::to_string(given) + ": must be 1.." + std::to_string(most));
}

}  // namespace

// ---- making and ending

weighed* weighed::make(std::uint64_t capacity,
                       std::uint64_t max_weight,
                       const item_shape& items,
                       const weigher& by,
                       void* function) {
  if (capacity == 0 || capacity > most_items) refuse("capacity", capacity, most_items);
  if (max_weight == 0) refuse("max_weight", max_weight, ~std::uint64_t{0});
  void* const memory = base::allocate_frame(offset_of_function + by.size);
  auto* const made = ::new (memory) weighed(capacity, max_weight, items, by);
  try {
    made->enter(*made->make_block(std::min(capacity, first_slots)));
  } catch (...) {
    made->~weighed();
    base::free_frame(memory, offset_of_function + by.size);
    throw;
  }
  by.move(static_cast<std::byte*>(memory) + offset_of_function, function);
  return made;
}

weighed::weighed(std::uint64_t capacity,
                 std::uint64_t max_weight,
                 const item_shape& items,
                 const weigher& by) noexcept
    : capacity_(capacity),
      max_weight_(max_weight),
      slot_align_(std::max(items.align, alignof(slot))),
      item_offset_(round_up(sizeof(slot), items.align)),
      item_bytes_(items.size),
      function_bytes_(by.size),
      destroy_item_(items.destroy),
      destroy_function_(by.destroy),
      weigh_(by.weigh) {}

/// Ends the lists first: see W6 of the wait list.
weighed::~weighed() {
  senders_.end("a channel was destroyed while a sender waits for room");
  receivers_.end("a channel was destroyed while a receiver waits for an item");
  while (blocks_ != nullptr) free_block(std::exchange(blocks_, blocks_->next));
}

void weighed::destroy() noexcept {
  const std::size_t bytes = offset_of_function + function_bytes_;
  destroy_function_(const_cast<void*>(function()));
  this->~weighed();
  base::free_frame(this, bytes);
}

const void* weighed::function() const noexcept {
  return reinterpret_cast<const std::byte*>(this) + offset_of_function;
}

void weighed::drop_sender() noexcept { halves_.drop_sender_of(*this); }
void weighed::drop_receiver() noexcept { halves_.drop_receiver_of(*this); }

void weighed::close() noexcept {
  {
    const base::lock_guard lock(lock_);
    closed_ = true;
    count_move();
  }
  {
    wait_section section(senders_);
    section.grant_all(wait_state::closed);
  }
  {
    wait_section section(receivers_);
    if (!section.is_empty() && mark_head() == look::ended) receivers_line_.close(section);
  }
  halves_.tell_closed();
}

bool weighed::is_closed() const noexcept {
  const base::lock_guard lock(lock_);
  return closed_;
}

std::uint64_t weighed::size() const noexcept {
  const base::lock_guard lock(lock_);
  return queued_.items;
}

std::uint64_t weighed::weight() const noexcept {
  const base::lock_guard lock(lock_);
  return queued_.weight;
}

channel_stats weighed::stats() const noexcept {
  // relaxed: a count.
  return {.refused = refused_.load(base::order::relaxed)};
}

// ---- slots

std::size_t weighed::stride() const noexcept { return round_up(item_offset_ + item_bytes_, slot_align_); }
std::size_t weighed::offset_of_slots() const noexcept { return round_up(sizeof(block), slot_align_); }
/// More than the largest frame that the lists of frames keep: in a fork their lock may be held by a thread
/// that stayed in the parent.
std::size_t weighed::bytes_of(std::uint64_t slots) const noexcept {
  return std::max(offset_of_slots() + static_cast<std::size_t>(slots) * stride(),
                  base::largest_kept_frame + 1);
}

/// Throws std::bad_alloc. The slots of the block are linked here: to write many takes milliseconds, and lock_
/// is not held meanwhile.
weighed::block* weighed::make_block(std::uint64_t slots) const {
  const std::size_t bytes = bytes_of(slots);
  void* const memory = slot_align_ > frame_align ? ::operator new(bytes, std::align_val_t(slot_align_))
                                                 : base::allocate_frame(bytes);
  std::byte* const from = static_cast<std::byte*>(memory) + offset_of_slots();
  slot* next = nullptr;
  for (std::uint64_t i = slots; i > 0; --i) {
    auto* const made = ::new (from + (i - 1) * stride()) slot;
    made->next = std::exchange(next, made);
  }
  return ::new (memory) block{nullptr, slots};
}

void weighed::free_block(block* gone) const noexcept {
  if (gone == nullptr) return;
  const std::size_t bytes = bytes_of(gone->slots);
  if (slot_align_ > frame_align) {
    base::note_free(gone, bytes);
    ::operator delete(static_cast<void*>(gone), std::align_val_t(slot_align_));
  } else {
    base::free_frame(gone, bytes);
  }
}

/// Adds the slots of a block. Under lock_, or before another thread knows of the channel.
void weighed::enter(block& fresh) noexcept {
  std::byte* const from = reinterpret_cast<std::byte*>(&fresh) + offset_of_slots();
  auto* const first = std::launder(reinterpret_cast<slot*>(from));
  auto* const last = std::launder(reinterpret_cast<slot*>(from + (fresh.slots - 1) * stride()));
  last->next = std::exchange(spare_, first);
  fresh.next = std::exchange(blocks_, &fresh);
  slots_ += fresh.slots;
}

/// Adds slots to a channel that had `seen`: as many again, or as many as are missing to the capacity. Returns
/// false if there is no memory. Another thread may have been faster; the caller checks again.
bool weighed::add_slots(std::uint64_t seen) noexcept {
  block* fresh = nullptr;
  try {
    fresh = make_block(std::min(seen, capacity_ - seen));
  } catch (const std::bad_alloc&) {
    return false;
  }
  {
    const base::lock_guard lock(lock_);
    if (slots_ == seen) enter(*std::exchange(fresh, nullptr));
  }
  free_block(fresh);
  return true;
}

// ---- under lock_

bool weighed::fits(std::uint64_t weight, const amount& beside) const noexcept {
  if (beside.items >= slots_) return false;
  if (beside.items == 0) return true;
  return beside.weight <= max_weight_ && weight <= max_weight_ - beside.weight;
}

bool weighed::fits_beside_load(std::uint64_t weight) const noexcept {
  return fits(weight, queued_ + leaving_ + reserved_);
}

/// Returns true if an item that has no room would have room with more slots, and there may be more.
bool weighed::lacks_a_slot(std::uint64_t weight) const noexcept {
  const amount load = queued_ + leaving_ + reserved_;
  if (load.items < slots_ || slots_ == capacity_) return false;
  return load.weight <= max_weight_ && weight <= max_weight_ - load.weight;
}

/// Claims a slot for a sender that has room, at the end of the queue.
weighed::slot& weighed::take_slot(std::uint64_t weight) noexcept {
  slot& taken = *std::exchange(spare_, spare_->next);
  taken.next = nullptr;
  taken.weight = weight;
  taken.is_full = false;
  (first_ == nullptr ? first_ : last_->next) = &taken;
  last_ = &taken;
  queued_.add(weight);
  return taken;
}

look weighed::take_item(slot*& place) noexcept {
  if (first_ == nullptr) return closed_ ? look::ended : look::not_now;
  if (!first_->is_full) return look::not_now;
  place = std::exchange(first_, first_->next);
  queued_.remove(place->weight);
  leaving_.add(place->weight);
  return look::got;
}

// ---- claims

/// Claims a slot. Under lock_. Returns not_now if the item has no room, or senders wait.
look weighed::take_place(slot*& place, std::uint64_t weight) noexcept {
  if (closed_) return look::ended;
  if (sender_waits_ || !fits_beside_load(weight)) return look::not_now;
  place = &take_slot(weight);
  return look::got;
}

bool weighed::sender_waits() const noexcept {
  const base::lock_guard lock(lock_);
  return sender_waits_;
}

/// The same as take_place(), and adds slots if only a slot is missing.
weighed::claimed weighed::claim_place(std::uint64_t weight) noexcept {
  for (bool has_memory = true;;) {
    std::uint64_t seen = 0;
    {
      const base::lock_guard lock(lock_);
      claimed result;
      result.did = take_place(result.place, weight);
      if (result.did != look::not_now) return result;
      if (sender_waits_ || !has_memory || !lacks_a_slot(weight)) {
        result.is_on_its_way = !sender_waits_ && fits(weight, queued_ + reserved_);
        result.moves = moves();
        return result;
      }
      seen = slots_;
    }
    // Terminates: each round has more slots than the one before, up to the capacity, or no memory.
    has_memory = add_slots(seen);
    // A sender that joined the line meanwhile, without memory for slots of its own, waits for one of these.
    if (has_memory && sender_waits()) serve_senders();
  }
}

look weighed::claim_item(slot*& place) noexcept {
  const base::lock_guard lock(lock_);
  return take_item(place);
}

void weighed::publish(slot& place) noexcept {
  bool calls = false;
  {
    const base::lock_guard lock(lock_);
    place.is_full = true;
    count_move();
    calls = receiver_waits_ && has_first();
    if (calls) receiver_waits_ = false;
  }
  if (calls) [[unlikely]]
    call_receiver();
}

void weighed::free(slot& place) noexcept {
  bool serves = false;
  {
    const base::lock_guard lock(lock_);
    leaving_.remove(place.weight);
    count_move();
    place.next = std::exchange(spare_, &place);
    serves = sender_waits_;
  }
  if (serves) [[unlikely]]
    serve_senders();
}

/// Waits until a move has ended, or the channel was closed, since moves() was `seen`. Returns false if that
/// may never happen: in a fork.
bool weighed::await_move(std::uint32_t seen) const noexcept {
  for (unsigned looks = 0; moves() == seen; ++looks) {
    if (halves_.may_miss_the_mover(looks)) return false;
    base::back_off(looks);
  }
  return true;
}

look weighed::try_item(slot*& place) noexcept {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const base::lock_guard lock(lock_);
      const look did = take_item(place);
      if (did != look::not_now || first_ == nullptr) return did;
      seen = moves();
    }
    // The first item is being moved in: B7.
    if (!await_move(seen)) return look::forked;
  }
}

send_status weighed::try_place(slot*& place, std::uint64_t weight) noexcept {
  for (;;) {
    const claimed result = claim_place(weight);
    if (result.did == look::got) [[likely]] {
      place = result.place;
      return send_status::sent;
    }
    if (result.did == look::ended) return send_status::closed;
    if (!result.is_on_its_way) {
      // relaxed: a count.
      refused_.fetch_add(1, base::order::relaxed);
      return send_status::full;
    }
    // An item that is being moved out makes room: B7.
    if (!await_move(result.moves)) return send_status::forked;
  }
}

bool weighed::try_send_now(wait_node& me) noexcept {
  const claimed result = claim_place(me.wanted);
  if (result.did != look::got) return false;
  keep_slot(me, *result.place);
  return true;
}

bool weighed::try_receive_now(wait_node& me) noexcept {
  slot* place = nullptr;
  if (claim_item(place) != look::got) return false;
  me.got = reinterpret_cast<std::uintptr_t>(place);
  return true;
}

// ---- waiting

const core::wait_rules weighed::send_rules{
    .what = "channel send",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_send_now(me); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join_senders(section, me); },
    .leave =
        [](void* of, wait_section& section, wait_node& me) noexcept { self(of).leave_senders(section, me); },
    .pass_on = never_passed_on,
};

const core::wait_rules weighed::receive_rules{
    .what = "channel receive",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_receive_now(me); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join_receivers(section, me); },
    .leave =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          self(of).receivers_line_.forget(me);
          if (me.state() == wait_state::called) self(of).arm_receivers(section);
        },
    .pass_on = never_passed_on,
    .called_may_try = true,
};

/// Announces a waiting receiver. Under the lock of receivers_. Returns got if there is an item, for the
/// thread that claims it; not_now: the next publish() of a first item calls a receiver.
look weighed::mark_head() noexcept {
  const base::lock_guard lock(lock_);
  if (has_first()) return look::got;
  if (first_ == nullptr && closed_) return look::ended;
  receiver_waits_ = true;
  return look::not_now;
}

/// Calls the next receiver, if there is an item for it. Under the lock of receivers_.
void weighed::arm_receivers(wait_section& section) noexcept {
  if (section.is_empty()) return;
  switch (mark_head()) {
    case look::got: return receivers_line_.call_first(section);
    case look::ended: return receivers_line_.close(section);
    case look::not_now:
    case look::forked: return;
  }
}

void weighed::call_receiver() noexcept {
  {
    wait_section section(receivers_);
    if (!section.is_empty()) receivers_line_.call_first(section);
    if (!nobody_receives_) return;
  }
  halves::destroy_items_of(*this);
}

on_join weighed::join_receivers(wait_section& section, wait_node& me) noexcept {
  const bool was_called = me.state() == wait_state::called;
  slot* place = nullptr;
  look did = look::not_now;
  {
    const base::lock_guard lock(lock_);
    did = take_item(place);
    if (did == look::not_now) receiver_waits_ = true;
  }
  if (did == look::not_now) {
    receivers_line_.join(section, me);
    return on_join::linked;
  }
  if (was_called) arm_receivers(section);
  if (did == look::ended) return on_join::closed;
  me.got = reinterpret_cast<std::uintptr_t>(place);
  return on_join::done;
}

/// A sender that was called has room. Any other sender checks again, and joins the list at the end.
on_join weighed::join_senders(wait_section& section, wait_node& me) noexcept {
  if (me.state() == wait_state::called) {
    const base::lock_guard lock(lock_);
    reserved_.remove(me.wanted);
    if (closed_) return on_join::closed;
    keep_slot(me, take_slot(me.wanted));
    return on_join::done;
  }
  for (bool has_memory = true;;) {
    slot* place = nullptr;
    std::uint64_t seen = 0;
    {
      const base::lock_guard lock(lock_);
      const look did = take_place(place, me.wanted);
      if (did == look::ended) return on_join::closed;
      if (did == look::got) {
        keep_slot(me, *place);
        return on_join::done;
      }
      if (sender_waits_ || !has_memory || !lacks_a_slot(me.wanted)) {
        sender_waits_ = true;
        break;
      }
      seen = slots_;
    }
    has_memory = add_slots(seen);
  }
  section.link_back(me);
  return on_join::linked;
}

/// The sender was the first, or had room: the next ones may have room now.
void weighed::leave_senders(wait_section& section, const wait_node& me) noexcept {
  if (me.state() == wait_state::called) {
    const base::lock_guard lock(lock_);
    reserved_.remove(me.wanted);
  }
  serve(section);
}

/// Calls the first senders that have room, and keeps it for them. Under the lock of senders_.
void weighed::serve(wait_section& section) noexcept {
  for (;;) {
    wait_node* const first = section.first();
    if (first != nullptr && section.is_full()) {
      section.breathe();
      continue;
    }
    std::uint64_t seen = 0;
    {
      const base::lock_guard lock(lock_);
      if (first == nullptr) sender_waits_ = false;
      if (first == nullptr || closed_) return;
      if (fits_beside_load(first->wanted)) {
        reserved_.add(first->wanted);
      } else if (lacks_a_slot(first->wanted)) {
        seen = slots_;
      } else {
        return;
      }
    }
    if (seen == 0) {
      section.call(*first);
    } else if (!add_slots(seen)) {
      return;
    }
  }
}

void weighed::serve_senders() noexcept {
  wait_section section(senders_);
  serve(section);
}

}  // namespace rota::channel::detail
