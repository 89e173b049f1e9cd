#include <rota/detail/channel_chain.hpp>

#include "base/frame_allocator.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"

#include <bit>
#include <new>
#include <utility>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

chain& self(void* of) noexcept { return *static_cast<chain*>(of); }

/// A claimed item is moved out at once, so there is nothing to pass on.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("an item of a channel was claimed, and is not used", me.got);
}

constexpr std::size_t frame_align = 16;
constexpr std::size_t least_in_block = 4;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
/// Returns the offset from the room's first slot to its first item, which is aligned for the item.
constexpr std::size_t offset_of_items(std::size_t slots, std::size_t align) noexcept {
  return round_up(sizeof(chain_room) + slots * sizeof(chain_slot), align) - sizeof(chain_room);
}
constexpr std::size_t bytes_of_room(std::size_t slots, const item_shape& items) noexcept {
  return sizeof(chain_room) + offset_of_items(slots, items.align) + slots * items.size;
}
/// Returns how many slots fit into a frame that threads keep, but at least least_in_block.
constexpr std::size_t slots_for(const item_shape& items, std::size_t most) noexcept {
  while (most > least_in_block && bytes_of_room(most, items) > base::largest_kept_frame) most /= 2;
  return most;
}

}  // namespace

// ---- making and ending

chain* chain::make(const item_shape& items) {
  auto* const first = new chain_block;
  void* memory = nullptr;
  try {
    memory = base::allocate_frame(sizeof(chain));
  } catch (...) {
    delete first;
    throw;
  }
  return ::new (memory) chain(items, *first);
}

chain::chain(const item_shape& items, chain_block& first) noexcept
    : item_bytes_(items.size),
      align_(items.align),
      index_mask_(slots_for(items, most_in_block) - 1),
      index_bits_(static_cast<unsigned>(std::bit_width(index_mask_))),
      first_item_(offset_of_items(index_mask_ + 1, items.align)),
      room_bytes_(bytes_of_room(index_mask_ + 1, items)),
      destroy_item_(items.destroy),
      oldest_(&first),
      last_(&first),
      tail_block_(&first),
      head_block_(&first) {
  // relaxed: no other thread knows the channel yet.
  first.turn.store(0, base::order::relaxed);
}

chain::~chain() {
  receivers_.end("a channel was destroyed while a task or a thread waits to receive");
  for (chain_block* list : {oldest_, spare_blocks_}) {
    while (list != nullptr) {
      if (chain_room* const room = list->room.get()) free_room(room);
      chain_block* const gone = std::exchange(list, list->next.get());
      base::note_free(gone, sizeof(chain_block));
      delete gone;
    }
  }
  free_rooms(spare_rooms_);
}

void chain::destroy() noexcept {
  this->~chain();
  base::free_frame(this, sizeof(chain));
}

void chain::drop_sender() noexcept { halves_.drop_sender_of(*this); }
void chain::drop_receiver() noexcept { halves_.drop_receiver_of(*this); }

void chain::close() noexcept {
  // acq_rel: the release pairs with is_closed() and has_ended_at(); the acquire orders the second of two
  // closes after the first.
  tail_.fetch_or(closed, base::order::acq_rel);
  if (!halves_.may_miss_the_holder(receivers_)) {
    wait_section section(receivers_);
    // relaxed: each waiter has read this head, or a later one, under the lock. A thread that moves the head
    // later sees the bit, and calls (B4).
    if (has_ended_at(head_.load(base::order::relaxed))) line_.close(section);
  }
  halves_.tell_closed();
}

std::uint64_t chain::size() const noexcept {
  // relaxed: both loads are an estimate.
  const std::uint64_t head = head_.load(base::order::relaxed);
  // relaxed: an estimate.
  const std::uint64_t tail = tail_.load(base::order::relaxed) & ~closed;
  return tail <= head ? 0 : tail - head;
}

/// Repeats claim_item(), which has found no item. Returns not_now if the chain is empty. Else the item at the
/// head is being put in by a thread that does nothing but move it: waits for it. Returns forked if that
/// thread may have stayed in the parent.
look chain::claim_item_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire: pairs with the release in claim_item(); before the tail: C6 of the ring.
    const std::uint64_t head = head_.load(base::order::acquire);
    // relaxed: reads a tail at least as new as the head.
    if ((tail_.load(base::order::relaxed) & ~closed) == head)
      return has_ended_at(head) ? look::ended : look::not_now;
    if (const look did = claim_item(place); did != look::not_now) return did;
    if (halves_.may_miss_the_mover(looks)) return look::forked;
    base::back_off(looks);
  }
}

// ---- blocks and rooms

chain_room* chain::make_room() const {
  void* const memory = align_ > frame_align ? ::operator new(room_bytes_, std::align_val_t(align_))
                                            : base::allocate_frame(room_bytes_);
  auto* const room = ::new (memory) chain_room;
  for (std::size_t i = 0; i <= index_mask_; ++i)
    ::new (slots_of(*room) + i) slot(static_cast<std::uint8_t>(i));
  return room;
}

void chain::free_room(chain_room* room) const noexcept {
  for (std::size_t i = 0; i <= index_mask_; ++i) slots_of(*room)[i].~slot();
  room->~chain_room();
  if (align_ > frame_align) {
    base::note_free(room, room_bytes_);
    ::operator delete(static_cast<void*>(room), std::align_val_t(align_));
  } else {
    base::free_frame(room, room_bytes_);
  }
}

void chain::free_rooms(chain_room* first) const noexcept {
  while (first != nullptr) free_room(std::exchange(first, first->next_spare));
}

void chain::throw_no_memory() { throw std::bad_alloc(); }

/// Enters the block at the tail, for a sender that has found it there, before that claims the first place.
/// Returns `sent` if the block was entered, `no_memory`, or `forked` if the lock of the blocks may never be
/// free in this process.
send_status chain::enter(std::uint64_t number) noexcept {
  if (halves_.may_miss_the_holder(blocks_)) return send_status::forked;
  spare with;
  while (!try_enter(number, with)) {  // once or twice: then it has both
    try {
      if (with.block == nullptr) with.block = new chain_block;
      if (with.room == nullptr) with.room = make_room();
    } catch (const std::bad_alloc&) {
      keep_spare(with);
      return no_memory;
    }
  }
  if (with.block != nullptr || with.room != nullptr) keep_spare(with);
  return send_status::sent;
}

/// Enters the block, with the memory in `with`, or with spare memory. Returns false if that is not enough,
/// and true if this sender or another one has entered the block.
bool chain::try_enter(std::uint64_t number, spare& with) noexcept {
  const base::lock_guard lock(blocks_);
  // relaxed: under the lock.
  if (number_in(last_->turn.load(base::order::relaxed)) != number) return true;
  if (with.block == nullptr && spare_blocks_ != nullptr)
    with.block = std::exchange(spare_blocks_, spare_blocks_->next.get());
  if (with.room == nullptr && spare_rooms_ != nullptr) {
    with.room = std::exchange(spare_rooms_, spare_rooms_->next_spare);
    --spare_room_count_;
  }
  if (with.block == nullptr || with.room == nullptr) return false;
  chain_block& at = *std::exchange(last_, std::exchange(with.block, nullptr));
  chain_room& room = *std::exchange(with.room, nullptr);
  room.of.set(&at);
  at.room.set(&room);
  at.next.set(last_);
  last_->next.set(nullptr);
  // release: pairs with mark_head(): a receiver that sets a bit after this sees that the block has a new
  // number.
  last_->full.store(0, base::order::release);
  // release: pairs with find(): a receiver that sees the number sees the block empty.
  last_->turn.store((number + 1) << 1U, base::order::release);
  // release: pairs with claim_place(): the room and the next block are there.
  at.turn.store(number << 1U | entered, base::order::release);
  // release: pairs with claim_place(): the block is initialized.
  tail_block_.store(&at, base::order::release);
  return true;
}

/// Keeps memory that was not needed, or was not enough.
void chain::keep_spare(const spare& what) noexcept {
  chain_room* gone = nullptr;
  {
    const base::lock_guard lock(blocks_);
    if (what.block != nullptr) {
      what.block->next.set(spare_blocks_);
      spare_blocks_ = what.block;
    }
    if (what.room != nullptr) keep_room(*what.room, gone);
  }
  free_rooms(gone);
}

/// Keeps a room, or adds it to the list `gone`, which the caller frees after the lock. Under the lock.
void chain::keep_room(chain_room& room, chain_room*& gone) noexcept {
  const bool keeps = spare_room_count_ < most_spare_rooms;
  if (keeps) ++spare_room_count_;
  chain_room*& list = keeps ? spare_rooms_ : gone;
  room.next_spare = std::exchange(list, &room);
}

/// Returns the block with this number. Returns null if the head has left it, or if the lock may never be free
/// in this process.
chain_block* chain::find_slowly(std::uint64_t number) noexcept {
  if (halves_.may_miss_the_holder(blocks_)) return nullptr;
  const base::lock_guard lock(blocks_);
  // relaxed: under the lock, as the next loads; the blocks up to the head's are linked.
  chain_block* at = head_block_.load(base::order::relaxed);
  // relaxed: under the lock.
  while (number_in(at->turn.load(base::order::relaxed)) < number) at = at->next.get();
  // relaxed: under the lock.
  if (number_in(at->turn.load(base::order::relaxed)) != number) return nullptr;
  // release: pairs with find(): the block is initialized.
  head_block_.store(at, base::order::release);
  return at;
}

/// Returns true if the items of all places were taken, and resets the marks then. Under the lock.
bool chain::was_emptied(chain_room& room) const noexcept {
  slot* const slots = slots_of(room);
  for (std::size_t i = 0; i <= index_mask_; ++i) {
    // acquire: pairs with free(): no thread touches the place any more.
    if ((slots[i].mark.load(base::order::acquire) & taken) == 0) return false;
  }
  for (std::size_t i = 0; i <= index_mask_; ++i) {
    // relaxed: the lock orders it before the next use of the room.
    slots[i].mark.store(static_cast<std::uint8_t>(i), base::order::relaxed);
  }
  return true;
}

void chain::sweep() noexcept {
  // relaxed: the caller has taken an item, and sees at least its own claim. If the head is further on, so is
  // its block.
  static_cast<void>(find(head_.load(base::order::relaxed) >> index_bits_));
  if (halves_.may_miss_the_holder(blocks_)) return;
  chain_room* gone = nullptr;
  {
    const base::lock_guard lock(blocks_);
    // relaxed: under the lock.
    while (oldest_ != head_block_.load(base::order::relaxed) && was_emptied(*oldest_->room.get())) {
      chain_block& done = *std::exchange(oldest_, oldest_->next.get());
      keep_room(*done.room.get(), gone);
      done.room.set(nullptr);
      // relaxed: try_enter() empties the block and sets its next number later, under the same lock, with
      // release: a thread that sees one of those does not see the old number. A thread that reads the old
      // number otherwise fails in its exchange, or reads again: B2.
      done.turn.store(unused, base::order::relaxed);
      done.next.set(spare_blocks_);
      spare_blocks_ = &done;
    }
  }
  free_rooms(gone);
}

// ---- waiting

const core::wait_rules chain::send_rules{
    .what = "channel send",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_send_now(me); },
    .join =
        [](void* of, wait_section&, wait_node& me) noexcept {
          return self(of).try_send_now(me) ? on_join::done : on_join::closed;
        },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
};

const core::wait_rules chain::receive_rules{
    .what = "channel receive",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_receive_now(me); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          self(of).line_.forget(me);
          if (me.state() == wait_state::called) self(of).arm(section);
        },
    .pass_on = never_passed_on,
    .called_may_try = true,
};

/// Sets the wait bit at the head. Under the list's lock. Returns got if there is an item, for the thread that
/// claims it; not_now: the bit is where the next publish sees it.
look chain::mark_head() noexcept {
  for (;;) {
    // relaxed: an estimate; the block shows whether it was current.
    const std::uint64_t head = head_.load(base::order::relaxed);
    chain_block* const at = find(head >> index_bits_);
    if (at == nullptr && halves_.may_miss_the_holder(blocks_)) return look::forked;
    if (at == nullptr) continue;
    // acquire: pairs with publish(), which moved the head on. Same word: of {item, waiter} at least one side
    // sees the other. Also pairs with try_enter(): see the next load.
    const std::uint64_t full = at->full.fetch_or(receiver_waits, base::order::acquire);
    // relaxed: a bit that was set in the word of another number has acquired the store that emptied it, and
    // so sees a later turn.
    if (number_in(at->turn.load(base::order::relaxed)) != head >> index_bits_) continue;
    if ((full >> (head & index_mask_) & 1U) != 0) return look::got;
    // Read after the bit was set, for the same head: an end that comes later finds the caller in the list.
    return has_ended_at(head) ? look::ended : look::not_now;
  }
}

/// Calls the next in line, if there is an item for it. Under the list's lock. See B4.
void chain::arm(wait_section& section) noexcept {
  if (section.is_empty()) return;
  switch (mark_head()) {
    case look::got: return line_.call_first(section);
    case look::ended: return line_.close(section);
    case look::not_now:
    case look::forked: return;
  }
}

on_join chain::join(wait_section& section, wait_node& me) noexcept {
  const bool was_called = me.state() == wait_state::called;
  slot* place = nullptr;
  look did = claim_item(place);
  while (did == look::not_now) {
    did = mark_head();
    if (did == look::not_now) {
      line_.join(section, me);
      return on_join::linked;
    }
    if (did == look::got) did = claim_item(place);
  }
  if (did == look::forked) {
    line_.join(section, me);
    return on_join::linked;
  }
  if (was_called) arm(section);
  if (did == look::ended) return on_join::closed;
  keep(me, *place);
  return on_join::done;
}

/// Clears the bit before it calls the first waiter: that waiter arms the next one.
void chain::call_receiver(chain_block& at, std::uint64_t before, std::uint64_t bit) noexcept {
  // The head cannot pass a missing item: the sender that publishes that item sees the bit.
  if ((before & (bit - 1)) != bit - 1) return;
  if (halves_.may_miss_the_holder(receivers_)) return;
  {
    wait_section section(receivers_);
    // relaxed: it is set and cleared under the lock.
    at.full.fetch_and(~receiver_waits, base::order::relaxed);
    if (!section.is_empty()) line_.call_first(section);
    if (!nobody_receives_) return;
  }
  halves::destroy_items_of(*this);
}

}  // namespace rota::channel::detail
