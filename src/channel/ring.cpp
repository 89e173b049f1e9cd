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

constexpr std::size_t frame_align = 16;

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

/// A claimed place is used at once, so there is nothing to pass on.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("a place in a channel was claimed, and is not used", me.got);
}

}  // namespace

// ---- making and ending

namespace {

/// Returns the offset from the ring to where its first block may begin. The directory and the ranks of the
/// blocks are in between.
std::size_t offset_of_slots(std::uint64_t blocks) noexcept {
  return sizeof(ring) + blocks * (sizeof(base::atomic<std::uintptr_t>) + sizeof(base::atomic<std::uint64_t>));
}

}  // namespace

std::uint64_t ring::most_blocks(std::uint64_t capacity) noexcept {
  return block_of((capacity + first_places - 1) << shift) + 1;
}

std::size_t ring::bytes_for(std::uint64_t capacity, const item_shape& items) noexcept {
  return offset_of_slots(most_blocks(capacity)) + slot_align(items) +
         static_cast<std::size_t>(std::min(capacity, first_places)) * stride_of(items);
}

ring* ring::make(std::uint64_t capacity, const item_shape& items, options how) {
  if (capacity == 0 || capacity > most_items)
    throw std::invalid_argument("channel::bounded: capacity is " + std::to_string(capacity) +
                                ": must be 1.." + std::to_string(most_items));
  return ::new (base::allocate_frame(bytes_for(capacity, items))) ring(capacity, items, how);
}

ring::ring(std::uint64_t capacity, const item_shape& items, options how) noexcept
    : capacity_(capacity),
      index_mask_(((std::uint64_t{1} << (std::bit_width(capacity + first_places - 1) + 1)) - 1) << shift),
      one_lap_(index_mask_ + one_place),
      state_mask_(~(index_mask_ | waits)),
      to_first_(one_lap_ >> 1U),
      step_(stride_of(items) >> shift),
      item_offset_(offset_of_item(items)),
      destroy_item_(items.destroy),
      bytes_(bytes_for(capacity, items)),
      align_(slot_align(items)),
      on_full_(how.on_full),
      limit_(capacity <= first_places ? no_limit : first_position + one_lap_) {
  const std::uint64_t blocks = most_blocks(capacity);
  for (std::uint64_t i = 0; i < blocks; ++i) ::new (&block_at(i)) base::atomic<std::uintptr_t>(0);
  for (std::uint64_t i = 0; i < blocks; ++i) ::new (&rank_of_block(i)) base::atomic<std::uint64_t>(0);
  auto* const behind = reinterpret_cast<std::byte*>(this) + offset_of_slots(blocks);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(behind) % align_;
  fill_in({behind + (align_ - over) % align_, 0}, 0, first_position);
}

ring::~ring() {
  senders_.end("a channel was destroyed while a task or a thread waits to send");
  receivers_.end("a channel was destroyed while a task or a thread waits to receive");
  // relaxed: the last half has gone.
  const std::uint64_t blocks = blocks_.load(base::order::relaxed);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    // relaxed: the last half has gone.
    const std::uintptr_t from = block_at(i).load(base::order::relaxed);
    const block of{__builtin_bit_cast(std::byte*, from + (first_position << i) * step_), i};
    end_slots(of);
    if (i != 0) free_block(of);
  }
}

void ring::destroy() noexcept {
  const std::size_t bytes = bytes_;
  this->~ring();
  base::free_frame(this, bytes);
}

void ring::drop_sender() noexcept { halves_.drop_sender_of(*this); }
void ring::drop_receiver() noexcept { halves_.drop_receiver_of(*this); }

void ring::close() noexcept {
  // acq_rel: the release pairs with is_closed() and has_ended_at(); the acquire orders the second of two
  // closes after the first.
  tail_.fetch_or(closed, base::order::acq_rel);
  await_drop_under_way();
  if (!halves_.may_miss_the_holder(senders_)) {
    wait_section section(senders_);
    senders_line_.close(section);
  }
  if (!halves_.may_miss_the_holder(receivers_)) {
    wait_section section(receivers_);
    // relaxed: each waiter has read this head, or a later one, under the lock. A thread that moves the head
    // later sees the bit, and calls (C1).
    if (has_ended_at(head_.load(base::order::relaxed))) receivers_line_.close(section);
  }
  halves_.tell_closed();
}

std::uint64_t ring::size() const noexcept {
  // relaxed: all three loads are an estimate.
  const std::uint64_t head = head_.load(base::order::relaxed);
  // relaxed: an estimate.
  const std::uint64_t tail = tail_.load(base::order::relaxed) & ~closed;
  // relaxed: an estimate.
  const std::uint64_t blocks = blocks_.load(base::order::relaxed);
  const auto laps = static_cast<std::int64_t>((tail & ~index_mask_) - (head & ~index_mask_)) /
                    static_cast<std::int64_t>(one_lap_);
  const std::int64_t count = laps * static_cast<std::int64_t>(places_in(blocks)) +
                             static_cast<std::int64_t>(rank_of(tail, blocks) - rank_of(head, blocks));
  return count <= 0 ? 0 : std::min(static_cast<std::uint64_t>(count), capacity_);
}

channel_stats ring::stats() const noexcept {
  // relaxed: counters; nothing is ordered by them.
  return {.refused = refused_.load(base::order::relaxed),
          .dropped_oldest = dropped_oldest_.load(base::order::relaxed),
          .dropped_newest = dropped_newest_.load(base::order::relaxed)};
}

// ---- growth

std::uint64_t ring::places_in(std::uint64_t blocks) const noexcept {
  return std::min(capacity_, (first_places << blocks) - first_places);
}
std::uint64_t ring::places_of(std::uint64_t number) const noexcept {
  return places_in(number + 1) - places_in(number);
}
/// More than the largest frame that the lists of frames keep: in a fork their lock may be held by a thread
/// that stayed in the parent.
std::size_t ring::bytes_of(std::uint64_t number) const noexcept {
  const std::size_t slots = static_cast<std::size_t>(places_of(number)) * (step_ << shift);
  return std::max(slots, base::largest_kept_frame + 1);
}

base::atomic<std::uint64_t>& ring::rank_of_block(std::uint64_t number) const noexcept {
  return reinterpret_cast<base::atomic<std::uint64_t>*>(&block_at(most_blocks(capacity_)))[number];
}

/// Returns how many slots come before this one in the cycle.
std::uint64_t ring::rank_of(std::uint64_t position, std::uint64_t blocks) const noexcept {
  const std::uint64_t index = position & index_mask_;
  const std::uint64_t number = block_of(index);
  // relaxed: each rank was set before its block could be seen. For an estimate, zero is good enough.
  std::uint64_t rank = rank_of_block(number).load(base::order::relaxed);
  rank += (index - (first_position << number)) >> shift;
  for (std::uint64_t later = number + 1; later < blocks; ++later) {
    // relaxed: same reason as for the first rank. The slots that had this rank, or a higher one, when the
    // block came are behind it.
    if (rank_of_block(later).load(base::order::relaxed) <= rank) rank += places_of(later);
  }
  return rank;
}

/// Returns a block without memory if there is none.
ring::block ring::make_block(std::uint64_t number) const noexcept {
  const std::size_t bytes = bytes_of(number);
  try {
    void* const memory =
        align_ > frame_align ? ::operator new(bytes, std::align_val_t(align_)) : base::allocate_frame(bytes);
    return {static_cast<std::byte*>(memory), number};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void ring::free_block(const block& gone) const noexcept {
  if (gone.memory == nullptr) return;
  const std::size_t bytes = bytes_of(gone.number);
  if (align_ > frame_align) {
    base::note_free(gone.memory, bytes);
    ::operator delete(gone.memory, std::align_val_t(align_));
  } else {
    base::free_frame(gone.memory, bytes);
  }
}

/// Makes the slots of a block, empty in the lap `lap`, and enters the block in the directory. The last slot
/// leads to `next`.
void ring::fill_in(const block& fresh, std::uint64_t lap, std::uint64_t next) noexcept {
  const std::uint64_t first = first_position << fresh.number;
  const std::uint64_t last = places_of(fresh.number) - 1;
  for (std::uint64_t i = 0; i <= last; ++i) {
    const std::uint64_t behind = i == last ? leads_to(next) : first + (i + 1) * one_place;
    ::new (fresh.memory + i * (step_ << shift)) slot(lap | behind);
  }
  // relaxed: released by the exchange of the tail: C8.
  block_at(fresh.number)
      .store(__builtin_bit_cast(std::uintptr_t, fresh.memory) - first * step_, base::order::relaxed);
}

void ring::end_slots(const block& of) const noexcept {
  for (std::uint64_t i = 0; i < places_of(of.number); ++i)
    std::launder(reinterpret_cast<slot*>(of.memory + i * (step_ << shift)))->~slot();
}

/// Takes the lock of growth. Returns false if the caller must check again: another sender has gone on from
/// `seen`, or has moved the limit; or the holder of the lock may have stayed in the parent of this process,
/// and the limit has been moved without the lock.
bool ring::begin_growth(std::uint64_t seen, std::uint64_t next) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with end_growth().
    if (growing_.exchange(1, base::order::acquire) == 0) return true;
    // relaxed: the caller checks again.
    if (tail_.load(base::order::relaxed) != seen || limit_.load(base::order::relaxed) != next) return false;
    if (halves_.may_miss_the_mover(looks)) {
      pass_limit(next);
      return false;
    }
    base::back_off(looks);
  }
}

void ring::end_growth() noexcept {
  // release: pairs with the acquire in begin_growth().
  growing_.store(0, base::order::release);
}

/// Moves the limit. Does nothing if the limit is not `from` any more.
void ring::move_limit(std::uint64_t from, std::uint64_t to) noexcept {
  // relaxed: C9. failure: relaxed: another thread has moved the limit.
  limit_.compare_exchange_strong(from, to, base::order::relaxed, base::order::relaxed);
}
/// Moves the limit from `next` to the place after it, so that the tail may come to `next`.
void ring::pass_limit(std::uint64_t next) noexcept { move_limit(next, behind(next)); }

/// Claims the place at `seen`, and puts the block between it and `next`. Under the lock of growth. Returns
/// null if the tail is not at `seen` any more. Else the ring owns the memory.
ring::slot* ring::grow(block& fresh, std::uint64_t seen, std::uint64_t next) noexcept {
  const std::uint64_t lap = seen & ~index_mask_;
  const std::uint64_t first = first_position << fresh.number;
  fill_in(fresh, lap, next);
  // relaxed: released by the exchange of the tail, as the block's entry.
  rank_of_block(fresh.number).store(rank_of(seen, fresh.number) + 1, base::order::relaxed);
  std::uint64_t tail = seen;
  // release: C6, C8. failure: relaxed: the caller checks again.
  if (!tail_.compare_exchange_strong(tail, lap | first, base::order::release, base::order::relaxed)) {
    end_slots(fresh);
    return nullptr;
  }
  fresh.memory = nullptr;
  slot& last = slot_of(seen);
  // relaxed: the slot leads to the block instead of `next`; publish() releases that.
  last.turn.fetch_add(first - leads_to(next), base::order::relaxed);
  // relaxed: read under the lock of growth, or for the estimate of size().
  blocks_.store(fresh.number + 1, base::order::relaxed);
  // relaxed: under the lock of growth; other readers need no order: C9.
  if (places_in(fresh.number + 1) == capacity_) limit_.store(no_limit, base::order::relaxed);
  return &last;
}

/// Claims the place at `seen` for claim_or_grow(), which would move the tail from there to the limit. Returns
/// null if the caller must check again.
ring::slot* ring::claim_at_limit(std::uint64_t seen, std::uint64_t next) noexcept {
  block fresh;
  slot* place = nullptr;
  bool has_asked = false;
  while (begin_growth(seen, next)) {
    bool needs_memory = false;
    // relaxed: under the lock of growth, as the next loads. The place at `seen` is free, so the head has
    // passed it.
    const std::uint64_t head = head_.load(base::order::relaxed);
    // relaxed: under the lock of growth.
    const std::uint64_t number = blocks_.load(base::order::relaxed);
    // relaxed: under the lock of growth.
    if (tail_.load(base::order::relaxed) != seen || limit_.load(base::order::relaxed) != next) {
      // Another sender was faster.
    } else if (head + one_lap_ != next) {
      // There is more than one free place. The caller moves the limit.
    } else if (fresh.memory != nullptr) {  // its number is still right: the tail has not moved
      place = grow(fresh, seen, next);
    } else if (has_asked) {
      pass_limit(next);
    } else {
      needs_memory = true;
    }
    end_growth();
    if (!needs_memory) break;
    fresh = make_block(number);
    has_asked = true;
  }
  free_block(fresh);
  return place;
}

/// As claim_place(), and also claims the last free place.
look ring::claim_or_grow(slot*& place) noexcept {
  for (;;) {
    if (const look did = claim_place(place); did != look::not_now) return did;
    // relaxed: no_limit is final.
    if (limit_.load(base::order::relaxed) == no_limit) return look::not_now;
    // acquire: same reason as in claim_place().
    const std::uint64_t seen = tail_.load(base::order::acquire);
    if ((seen & closed) != 0) return look::ended;
    // acquire: same reason as in claim_place().
    const std::uint64_t turn = slot_of(seen).turn.load(base::order::acquire);
    if (state_at(turn, seen) != 0) {
      // relaxed: an unchanged tail means that there is no place.
      if (tail_.load(base::order::relaxed) == seen) return look::not_now;
      continue;
    }
    const std::uint64_t next = after(turn);
    // relaxed: C9.
    if (next != limit_.load(base::order::relaxed)) continue;
    // relaxed: the place at the tail is free, so this reads the head that the limit is made of, or a later
    // one.
    const std::uint64_t limit = head_.load(base::order::relaxed) + one_lap_;
    if (limit != next) {
      move_limit(next, limit);
      continue;
    }
    if (slot* const last = claim_at_limit(seen, next)) {
      place = last;
      return look::got;
    }
  }
}

// ---- trying

/// Repeats claim_place(), which has found no place. Returns not_now if the ring is full. Else the place at
/// the tail is being emptied by a thread that does nothing but move an item: waits for it. Returns forked if
/// that thread may have stayed in the parent.
look ring::claim_place_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with the release in claim_place(); before the head: C6.
    const std::uint64_t tail = tail_.load(base::order::acquire) & ~closed;
    // relaxed: reads a head at least as new as the tail.
    if (head_.load(base::order::relaxed) + one_lap_ == tail) return look::not_now;
    if (const look did = claim_or_grow(place); did != look::not_now) return did;
    if (halves_.may_miss_the_mover(looks)) return look::forked;
    base::back_off(looks);
  }
}

/// The same for an item that is being put in. Returns not_now if the ring is empty.
look ring::claim_item_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with the release in claim_item(); before the tail: C6.
    const std::uint64_t head = head_.load(base::order::acquire);
    // relaxed: reads a tail at least as new as the head.
    if ((tail_.load(base::order::relaxed) & ~closed) == head)
      return has_ended_at(head) ? look::ended : look::not_now;
    if (const look did = claim_item(place); did != look::not_now) return did;
    if (halves_.may_miss_the_mover(looks)) return look::forked;
    base::back_off(looks);
  }
}

// ---- no room

/// Returns the status of a try, or of a send that does not wait, that has found no place. It may still claim
/// one.
send_status ring::without_room(look why, slot*& place) noexcept {
  if (on_full_ == overflow::drop_oldest) return claim_over_oldest(place);
  if (why == look::not_now) why = claim_place_in_transit(place);
  if (why == look::got) return send_status::sent;
  if (why == look::ended) return send_status::closed;
  if (why == look::forked) return send_status::forked;
  // relaxed: counters; nothing is ordered by them.
  (on_full_ == overflow::drop_newest ? dropped_newest_ : refused_).fetch_add(1, base::order::relaxed);
  return on_full_ == overflow::drop_newest ? send_status::dropped : send_status::full;
}

/// drop_oldest: claims a place, or, in a full ring, that of the oldest item (C7). Waits for a move that is
/// under way in that place, and for another sender between its two steps: the ring is over-full then. So the
/// new item is never dropped.
send_status ring::claim_over_oldest(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with the claims of places, before the head: C6.
    std::uint64_t tail = tail_.load(base::order::acquire);
    const bool is_closed = (tail & closed) != 0;
    // acquire: reads a head at least as new as the tail; and the block of the head is in the directory.
    const std::uint64_t head = head_.load(base::order::acquire);
    if (!is_over_full(head, tail)) {
      if (is_closed) return send_status::closed;
      if (head + one_lap_ != tail) {
        if (claim_or_grow(place) == look::got) return send_status::sent;
      } else {
        // acquire: pairs with publish(): the oldest item is there.
        const std::uint64_t turn = slot_of(tail).turn.load(base::order::acquire);
        if (state_at(turn, head) == full) {
          const std::uint64_t next_head = after(turn);
          const std::uint64_t next = next_head + one_lap_;
          // relaxed: C9.
          if (next == limit_.load(base::order::relaxed)) [[unlikely]]
            pass_limit(next);
          // release: same reason as in claim_place(). failure: relaxed: the loop checks again.
          if (tail_.compare_exchange_strong(tail, next, base::order::release, base::order::relaxed))
            return drop_or_wait(head, next_head, tail, place);
          looks = 0;  // another sender has claimed the place, so no move is in the way
          continue;
        }
      }
    }
    if (halves_.may_miss_the_mover(looks)) return is_closed ? send_status::closed : send_status::forked;
    base::back_off(looks);
  }
}

/// Step (2) of drop_oldest: moves the head to `next_head`. `claimed`: the position that step (1) has claimed.
send_status ring::drop_or_wait(std::uint64_t head,
                               std::uint64_t next_head,
                               std::uint64_t claimed,
                               slot*& place) noexcept {
  place = &slot_of(claimed);
  // release: as in claim_item(): an acquire of this head sees the claim of the tail. failure: relaxed: a
  // receiver has claimed the oldest item.
  if (head_.compare_exchange_strong(head, next_head, base::order::release, base::order::relaxed)) {
    // relaxed: a counter.
    dropped_oldest_.fetch_add(1, base::order::relaxed);
    return sent_over_oldest;
  }
  // acquire: pairs with free(): the previous item is out.
  for (unsigned looks = 0; state_at(place->turn.load(base::order::acquire), claimed) != 0; ++looks)
    base::back_off(looks);
  return send_status::sent;
}

/// Waits until the ring is not over-full. Called by a close, and by a send or is_closed() that has found the
/// ring closed: C7. In a fork the other sender may have stayed in the parent.
void ring::await_drop_under_way() const noexcept {
  if (on_full_ != overflow::drop_oldest) return;
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with the claims of places, before the head: C6.
    const std::uint64_t tail = tail_.load(base::order::acquire);
    // acquire: reads a head at least as new as the tail; and the block of the head is in the directory.
    if (!is_over_full(head_.load(base::order::acquire), tail)) return;
    if (halves_.may_miss_the_mover(looks)) return;
    base::back_off(looks);
  }
}

/// Applies the policy when there is no place. Returns false if the send must wait.
bool ring::send_without_room(look why, wait_node& me) noexcept {
  slot* place = nullptr;
  if (why == look::not_now && on_full_ == overflow::wait) {
    why = claim_or_grow(place);
    if (why == look::not_now) return false;
    if (why == look::got) {
      me.kind = static_cast<unsigned char>(send_status::sent);
      keep(me, *place);
      return true;
    }
  }
  // A closed channel is an end, which join() reports.
  if (why == look::ended) {
    await_drop_under_way();
    return false;
  }
  const send_status how = without_room(why, place);
  // The close came while this send waited for a move. No place was claimed. The same end, which join()
  // reports.
  if (how == send_status::closed) return false;
  me.kind = static_cast<unsigned char>(how);
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

/// Sets the wait bit at the head. Under the lock. Returns got if there is an item, for the thread that claims
/// it; not_now: the bit is where the next publish sees it.
look ring::mark_head() noexcept {
  for (;;) {
    // acquire: the block of the head is in the directory. The head is an estimate: the turn shows whether it
    // was current.
    const std::uint64_t head = head_.load(base::order::acquire);
    // acquire: pairs with publish(), which moved the head on. Same word: of {item, waiter} at least one side
    // sees the other.
    const std::uint64_t turn = slot_of(head).turn.fetch_or(receiver_waits, base::order::acquire);
    const std::uint64_t state = state_at(turn, head);
    if (state == full) return look::got;
    // Read after the bit was set, for the same head: an end that comes later finds the caller in the list.
    if (state == 0 || is_lap_behind(turn, head)) return has_ended_at(head) ? look::ended : look::not_now;
  }
}

look ring::mark_tail() noexcept {
  for (;;) {
    // acquire: the block of the tail is in the directory. The tail is an estimate: the turn shows whether it
    // was current. A close before this section is visible: it has held the lock.
    const std::uint64_t tail = tail_.load(base::order::acquire);
    if ((tail & closed) != 0) return look::ended;
    // acquire: pairs with free(), without which the tail would not have moved on. Same word: as in
    // mark_head().
    const std::uint64_t turn = slot_of(tail).turn.fetch_or(sender_waits, base::order::acquire);
    if (state_at(turn, tail) == 0) return look::got;
    if (is_lap_behind(turn, tail)) return look::not_now;
  }
}

/// Calls the next in line, if there is an item for it. Under the lock. See C1.
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
  look did = claim_or_grow(place);
  while (did == look::not_now) {
    did = mark_tail();
    if (did == look::not_now) {
      senders_line_.join(section, me);
      return on_join::linked;
    }
    if (did == look::got) did = claim_or_grow(place);
  }
  if (was_called) arm_senders(section);
  if (did == look::ended) return on_join::closed;
  me.kind = static_cast<unsigned char>(send_status::sent);
  keep(me, *place);
  return on_join::done;
}

/// Clears the bit before it calls the first waiter: that waiter arms the next one.
void ring::call_receiver(slot& place) noexcept {
  if (halves_.may_miss_the_holder(receivers_)) return;
  {
    wait_section section(receivers_);
    // relaxed: it is set and cleared under the lock.
    place.turn.fetch_and(~receiver_waits, base::order::relaxed);
    if (!section.is_empty()) receivers_line_.call_first(section);
    if (!nobody_receives_) return;
  }
  halves::destroy_items_of(*this);
}

void ring::call_sender(slot& place) noexcept {
  if (halves_.may_miss_the_holder(senders_)) return;
  wait_section section(senders_);
  // relaxed: same reason as in call_receiver().
  place.turn.fetch_and(~sender_waits, base::order::relaxed);
  if (!section.is_empty()) senders_line_.call_first(section);
}

}  // namespace rota::channel::detail
