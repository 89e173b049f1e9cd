#include <rota/detail/channel_ring.hpp>

#include "base/frame_allocator.hpp"
#include "base/thread.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>
#include <string>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

ring& self(void* of) noexcept { return *static_cast<ring*>(of); }

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

std::size_t slot_align(const item_shape& items) noexcept { return std::max(items.align, alignof(ring_slot)); }
std::size_t offset_of_item(const item_shape& items) noexcept {
  return round_up(sizeof(ring_slot), items.align);
}
std::size_t stride_of(const item_shape& items) noexcept {
  return round_up(offset_of_item(items) + items.size, slot_align(items));
}

/// What was claimed is moved at once: nobody can give it back.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("a place in a channel was claimed, and is not used", me.got);
}

}  // namespace

// ---- making and ending

std::size_t ring::bytes_for(std::uint64_t capacity, const item_shape& items) noexcept {
  return sizeof(ring) + slot_align(items) + static_cast<std::size_t>(capacity) * stride_of(items);
}

ring* ring::make(std::uint64_t capacity, const item_shape& items, options how) {
  if (capacity == 0 || capacity > most_items)
    throw std::invalid_argument("channel::bounded: capacity is " + std::to_string(capacity) +
                                ": must be 1.." + std::to_string(most_items));
  return ::new (base::allocate_frame(bytes_for(capacity, items))) ring(capacity, items, how);
}

ring::ring(std::uint64_t capacity, const item_shape& items, options how) noexcept
    : capacity_(capacity),
      one_lap_(std::bit_ceil(capacity)),
      index_mask_(one_lap_ - 1),
      stride_(stride_of(items)),
      item_offset_(offset_of_item(items)),
      destroy_item_(items.destroy),
      bytes_(bytes_for(capacity, items)),
      on_full_(how.on_full) {
  auto* const behind = reinterpret_cast<std::byte*>(this) + sizeof(ring);
  const std::size_t align = slot_align(items);
  slots_ = behind + (align - reinterpret_cast<std::uintptr_t>(behind) % align) % align;
  for (std::uint64_t i = 0; i < capacity; ++i) ::new (slots_ + i * stride_) ring_slot(i << shift);
}

ring::~ring() {
  senders_.end("a channel was destroyed while somebody waits to send");
  receivers_.end("a channel was destroyed while somebody waits to receive");
  for (std::uint64_t i = 0; i < capacity_; ++i) slot_of(i).~ring_slot();
}

void ring::destroy() noexcept {
  const std::size_t bytes = bytes_;
  this->~ring();
  base::free_frame(this, bytes);
}

void ring::drop_sender() noexcept { halves_.drop_sender_of(*this); }
void ring::drop_receiver() noexcept { halves_.drop_receiver_of(*this); }

void ring::close() noexcept {
  // acq_rel. release: pairs with is_closed() and has_ended_at(). acquire: of two that close the second comes after the first.
  tail_.fetch_or(closed, base::order::acq_rel);
  await_drop_under_way();
  {
    wait_section section(senders_);
    senders_line_.close(section);
  }
  {
    wait_section section(receivers_);
    // relaxed. Who waits has seen this head, or a later one, under the lock. What moves it later has seen the bit, and calls (C1).
    if (has_ended_at(head_.load(base::order::relaxed))) receivers_line_.close(section);
  }
  halves_.tell_closed();
}

std::uint64_t ring::size() const noexcept {
  // relaxed. A guess, all of it.
  const std::uint64_t head = head_.load(base::order::relaxed);
  // relaxed. As above.
  const std::uint64_t tail = tail_.load(base::order::relaxed) & ~closed;
  if (tail <= head) return 0;
  const std::uint64_t laps = (tail & ~index_mask_) - (head & ~index_mask_);
  const std::uint64_t count = laps / one_lap_ * capacity_ + (tail & index_mask_) - (head & index_mask_);
  return std::min(count, capacity_);
}

channel_stats ring::stats() const noexcept {
  // relaxed. Counts, all of them.
  return {.refused = refused_.load(base::order::relaxed),
          .dropped_oldest = dropped_oldest_.load(base::order::relaxed),
          .dropped_newest = dropped_newest_.load(base::order::relaxed)};
}

// ---- trying

/// claim_place() has found none. not_now: the ring is full. Else the place at the tail is just being emptied, by one that does nothing but move
/// an item: it is waited for. forked: that one may have stayed in the parent.
look ring::claim_place_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire. Pairs with claim_place(), before the head: C6.
    const std::uint64_t tail = tail_.load(base::order::acquire) & ~closed;
    // relaxed. At least as new as the tail.
    if (head_.load(base::order::relaxed) + one_lap_ == tail) return look::not_now;
    if (const look did = claim_place(place); did != look::not_now) return did;
    if (halves_.may_miss_the_mover(looks)) return look::forked;
    base::back_off(looks);
  }
}

/// The same of an item that is just being put in; not_now: the ring is empty.
look ring::claim_item_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire. Pairs with claim_item(), before the tail: C6.
    const std::uint64_t head = head_.load(base::order::acquire);
    // relaxed. At least as new as the head.
    if ((tail_.load(base::order::relaxed) & ~closed) == head)
      return has_ended_at(head) ? look::ended : look::not_now;
    if (const look did = claim_item(place); did != look::not_now) return did;
    if (halves_.may_miss_the_mover(looks)) return look::forked;
    base::back_off(looks);
  }
}

// ---- no room

/// What a try found, or a send that does not wait.
send_status ring::without_room(look why, slot*& place) noexcept {
  if (on_full_ == overflow::drop_oldest) return claim_over_oldest(place);
  if (why == look::not_now) why = claim_place_in_transit(place);
  if (why == look::got) return send_status::sent;
  if (why == look::ended) return send_status::closed;
  if (why == look::forked) return send_status::forked;
  // relaxed. Counts.
  (on_full_ == overflow::drop_newest ? dropped_newest_ : refused_).fetch_add(1, base::order::relaxed);
  return on_full_ == overflow::drop_newest ? send_status::dropped : send_status::full;
}

/// drop_oldest: a place, or, of a full ring, that of the oldest item (C7). Waits for a move that is under way in that place, and for another
/// sender between its two steps: the ring is over-full then. So the new item is never dropped.
send_status ring::claim_over_oldest(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire. Pairs with the claims of places, before the head: C6.
    std::uint64_t tail = tail_.load(base::order::acquire);
    const bool is_closed = (tail & closed) != 0;
    // relaxed. At least as new as the tail.
    const std::uint64_t head = head_.load(base::order::relaxed);
    if (!is_over_full(head, tail)) {
      if (is_closed) return send_status::closed;
      if (head + one_lap_ != tail) {
        if (claim_place(place) == look::got) return send_status::sent;
        // acquire. Pairs with publish(): the oldest item is there.
      } else if ((slot_of(tail).turn.load(base::order::acquire) & ~waits) == ((head << shift) | full)) {
        // release. As in claim_place(). failure: relaxed. The loop looks again.
        if (tail_.compare_exchange_strong(tail, after(tail), base::order::release, base::order::relaxed))
          return drop_or_wait(head, tail, place);
        looks = 0;  // another sender has claimed the place, so no move is in the way
        continue;
      }
    }
    if (halves_.may_miss_the_mover(looks)) return is_closed ? send_status::closed : send_status::forked;
    base::back_off(looks);
  }
}

/// Step (2) of drop_oldest. `claimed`: the position that step (1) has claimed.
send_status ring::drop_or_wait(std::uint64_t head, std::uint64_t claimed, slot*& place) noexcept {
  place = &slot_of(claimed);
  // release. As in claim_item(): an acquire of this head sees the claim of the tail. failure: relaxed. A receiver has claimed the oldest item.
  if (head_.compare_exchange_strong(head, after(head), base::order::release, base::order::relaxed)) {
    // relaxed. A count.
    dropped_oldest_.fetch_add(1, base::order::relaxed);
    return sent_over_oldest;
  }
  // acquire. Pairs with free(): what was in the place has left.
  for (unsigned looks = 0; (place->turn.load(base::order::acquire) & ~waits) != claimed << shift; ++looks)
    base::back_off(looks);
  return send_status::sent;
}

/// By a close, and by a send or is_closed() that has found the ring closed: C7. In a fork the other sender may have stayed in the parent.
void ring::await_drop_under_way() const noexcept {
  if (on_full_ != overflow::drop_oldest) return;
  for (unsigned looks = 0;; ++looks) {
    // acquire. Pairs with the claims of places, before the head: C6.
    const std::uint64_t tail = tail_.load(base::order::acquire);
    // relaxed. At least as new as the tail.
    if (!is_over_full(head_.load(base::order::relaxed), tail)) return;
    if (halves_.may_miss_the_mover(looks)) return;
    base::back_off(looks);
  }
}

/// There is no place: what the policy says. False: one waits.
bool ring::send_without_room(look why, wait_node& me) noexcept {
  if (why == look::not_now && on_full_ == overflow::wait) return false;
  // A channel without receivers is an end, which join() says.
  if (why == look::ended) {
    await_drop_under_way();
    return false;
  }
  slot* place = nullptr;
  me.kind = static_cast<unsigned char>(without_room(why, place));
  if (place != nullptr) keep(me, *place);
  return true;
}

// ---- waiting

const core::wait_rules ring::send_rules{
    .what = "channel send",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_send_now(me); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join_senders(section, me); },
    .leave =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          self(of).senders_line_.forget(me);
          if (me.state() == wait_state::called) self(of).arm_senders(section);
        },
    .pass_on = never_passed_on,
    .called_may_try = true,
};

const core::wait_rules ring::receive_rules{
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

/// Under the lock. got: there is an item, for whoever claims it. not_now: the bit is where the next publish sees it.
look ring::mark_head() noexcept {
  for (;;) {
    // relaxed. A guess; the turn says whether it was right.
    const std::uint64_t head = head_.load(base::order::relaxed);
    // acquire. Pairs with publish(), which moved the head on. Same word: of {item, who waits} at least one side sees the other.
    const std::uint64_t turn = slot_of(head).turn.fetch_or(receiver_waits, base::order::acquire) & ~waits;
    if (turn == ((head << shift) | full)) return look::got;
    // After the bit, and of the same head: an end that comes later finds the caller in the list.
    if (turn == head << shift || (turn >> shift) + one_lap_ == head)
      return has_ended_at(head) ? look::ended : look::not_now;
  }
}

look ring::mark_tail() noexcept {
  for (;;) {
    // relaxed. A guess; the turn says whether it was right. A close before this section is seen: it has had the lock.
    const std::uint64_t tail = tail_.load(base::order::relaxed);
    if ((tail & closed) != 0) return look::ended;
    // acquire. Pairs with free(), without which the tail would not have moved on. Same word: as in mark_head().
    const std::uint64_t turn = slot_of(tail).turn.fetch_or(sender_waits, base::order::acquire) & ~waits;
    if (turn == tail << shift) return look::got;
    if ((turn >> shift) + one_lap_ == tail) return look::not_now;
  }
}

/// Under the lock: the next in line, if there is anything for it. See C1.
void ring::arm_receivers(wait_section& section) noexcept {
  if (section.is_empty()) return;
  switch (mark_head()) {
    case look::got: return receivers_line_.call_first(section);
    case look::ended: return receivers_line_.close(section);
    case look::not_now:
    case look::forked: return;
  }
}

void ring::arm_senders(wait_section& section) noexcept {
  if (section.is_empty()) return;
  switch (mark_tail()) {
    case look::got: return senders_line_.call_first(section);
    case look::ended: return senders_line_.close(section);
    case look::not_now:
    case look::forked: return;
  }
}

on_join ring::join_receivers(wait_section& section, wait_node& me) noexcept {
  const bool was_called = me.state() == wait_state::called;
  slot* place = nullptr;
  look did = claim_item(place);
  while (did == look::not_now) {
    did = mark_head();
    if (did == look::not_now) {
      receivers_line_.join(section, me);
      return on_join::linked;
    }
    if (did == look::got) did = claim_item(place);
  }
  if (was_called) arm_receivers(section);
  if (did == look::ended) return on_join::closed;
  keep(me, *place);
  return on_join::done;
}

on_join ring::join_senders(wait_section& section, wait_node& me) noexcept {
  const bool was_called = me.state() == wait_state::called;
  slot* place = nullptr;
  look did = claim_place(place);
  while (did == look::not_now) {
    did = mark_tail();
    if (did == look::not_now) {
      senders_line_.join(section, me);
      return on_join::linked;
    }
    if (did == look::got) did = claim_place(place);
  }
  if (was_called) arm_senders(section);
  if (did == look::ended) return on_join::closed;
  me.kind = static_cast<unsigned char>(send_status::sent);
  keep(me, *place);
  return on_join::done;
}

/// The bit goes before the first is called: the others are its care then.
void ring::call_receiver(slot& place) noexcept {
  {
    wait_section section(receivers_);
    // relaxed. It is set and cleared under the lock.
    place.turn.fetch_and(~receiver_waits, base::order::relaxed);
    if (!section.is_empty()) receivers_line_.call_first(section);
    if (!nobody_receives_) return;
  }
  halves::destroy_items_of(*this);
}

void ring::call_sender(slot& place) noexcept {
  wait_section section(senders_);
  // relaxed. As in call_receiver().
  place.turn.fetch_and(~sender_waits, base::order::relaxed);
  if (!section.is_empty()) senders_line_.call_first(section);
}

}  // namespace rota::channel::detail
