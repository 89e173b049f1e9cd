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

/// What was claimed is moved at once: nobody can give it back.
[[noreturn]] void never_passed_on(void* /*of*/, wait_node& me) noexcept {
  ROTA_FATAL("an item of a channel was claimed, and is not used", me.got);
}

constexpr std::size_t frame_align = 16;
constexpr std::size_t least_in_block = 4;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
/// From the room's first slot to its first item, which has its alignment.
constexpr std::size_t offset_of_items(std::size_t slots, std::size_t align) noexcept {
  return round_up(sizeof(chain_room) + slots * sizeof(chain_slot), align) - sizeof(chain_room);
}
constexpr std::size_t bytes_of_room(std::size_t slots, const item_shape& items) noexcept {
  return sizeof(chain_room) + offset_of_items(slots, items.align) + slots * items.size;
}
/// As many as there is room for in a frame that threads keep, but not too few.
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
  // relaxed. Nobody else has it yet.
  first.turn.store(0, base::order::relaxed);
}

chain::~chain() {
  receivers_.end("a channel was destroyed while somebody waits to receive");
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
  // acq_rel. release: pairs with is_closed() and has_ended_at(). acquire: of two that close the second comes after the first.
  tail_.fetch_or(closed, base::order::acq_rel);
  if (!halves_.may_miss_the_holder(receivers_)) {
    wait_section section(receivers_);
    // relaxed. Who waits has seen this head, or a later one, under the lock. What moves it later has seen the bit, and calls (B4).
    if (has_ended_at(head_.load(base::order::relaxed))) line_.close(section);
  }
  halves_.tell_closed();
}

std::uint64_t chain::size() const noexcept {
  // relaxed. A guess, all of it.
  const std::uint64_t head = head_.load(base::order::relaxed);
  // relaxed. As above.
  const std::uint64_t tail = tail_.load(base::order::relaxed) & ~closed;
  return tail <= head ? 0 : tail - head;
}

/// claim_item() has found none. not_now: the chain is empty. Else the item at the head is just being put in, by one that does nothing but
/// move it: it is waited for. forked: that one may have stayed in the parent.
look chain::claim_item_in_transit(slot*& place) noexcept {
  for (unsigned looks = 0;; ++looks) {
    // acquire. Pairs with claim_item(), before the tail: C6 of the ring.
    const std::uint64_t head = head_.load(base::order::acquire);
    // relaxed. At least as new as the head.
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

/// By a sender that has found this block at the tail, before it claims the first place. Returns `sent` if the block was entered, `no_memory`, or `forked`
/// if the lock of the blocks may never be free in this process.
send_status chain::enter(std::uint64_t number) noexcept {
  if (halves_.may_miss_the_holder(blocks_)) return send_status::forked;
  spare with;
  while (!try_enter(number, with)) {  // once or twice: then there is enough
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

/// Takes what it has from `with`, else what there is. False: that is not enough. True: this one or another sender has entered it.
bool chain::try_enter(std::uint64_t number, spare& with) noexcept {
  const base::lock_guard lock(blocks_);
  // relaxed. Under the lock.
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
  // release. Pairs with mark_head(): who sets a bit after this sees that the block is not what it was.
  last_->full.store(0, base::order::release);
  // release. Pairs with find(): and who sees the number sees it empty.
  last_->turn.store((number + 1) << 1U, base::order::release);
  // release. Pairs with claim_place(): the room is there, and the next block.
  at.turn.store(number << 1U | entered, base::order::release);
  // release. The same: so is the block.
  tail_block_.store(&at, base::order::release);
  return true;
}

/// What was not needed, or not enough.
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

/// Under the lock. What it does not keep is one more of those that are gone: they are freed after it.
void chain::keep_room(chain_room& room, chain_room*& gone) noexcept {
  const bool keeps = spare_room_count_ < most_spare_rooms;
  if (keeps) ++spare_room_count_;
  chain_room*& list = keeps ? spare_rooms_ : gone;
  room.next_spare = std::exchange(list, &room);
}

/// Returns null if the head has left it, or if the lock may never be free in this process.
chain_block* chain::find_slowly(std::uint64_t number) noexcept {
  if (halves_.may_miss_the_holder(blocks_)) return nullptr;
  const base::lock_guard lock(blocks_);
  // relaxed. Under the lock, all of it; the blocks up to the head's are linked there.
  chain_block* at = head_block_.load(base::order::relaxed);
  // relaxed. As above.
  while (number_in(at->turn.load(base::order::relaxed)) < number) at = at->next.get();
  // relaxed. As above.
  if (number_in(at->turn.load(base::order::relaxed)) != number) return nullptr;
  // release. Pairs with find(): the block is there.
  head_block_.store(at, base::order::release);
  return at;
}

/// Under the lock. All places were taken: they are as new then.
bool chain::was_emptied(chain_room& room) const noexcept {
  slot* const slots = slots_of(room);
  for (std::size_t i = 0; i <= index_mask_; ++i) {
    // acquire. Pairs with free(): nobody is in the room any more.
    if ((slots[i].mark.load(base::order::acquire) & taken) == 0) return false;
  }
  for (std::size_t i = 0; i <= index_mask_; ++i) {
    // relaxed. It is given on under the lock.
    slots[i].mark.store(static_cast<std::uint8_t>(i), base::order::relaxed);
  }
  return true;
}

void chain::sweep() noexcept {
  // relaxed. The caller has taken an item, and sees its own claim at least. Where the head is further, so is its block.
  static_cast<void>(find(head_.load(base::order::relaxed) >> index_bits_));
  if (halves_.may_miss_the_holder(blocks_)) return;
  chain_room* gone = nullptr;
  {
    const base::lock_guard lock(blocks_);
    // relaxed. Under the lock.
    while (oldest_ != head_block_.load(base::order::relaxed) && was_emptied(*oldest_->room.get())) {
      chain_block& done = *std::exchange(oldest_, oldest_->next.get());
      keep_room(*done.room.get(), gone);
      done.room.set(nullptr);
      // relaxed. Seen by who sees it empty, or with its next number.
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

/// Under the list's lock. got: there is an item, for whoever claims it. not_now: the bit is where the next publish sees it.
look chain::mark_head() noexcept {
  for (;;) {
    // relaxed. A guess; the block says whether it was right.
    const std::uint64_t head = head_.load(base::order::relaxed);
    chain_block* const at = find(head >> index_bits_);
    if (at == nullptr && halves_.may_miss_the_holder(blocks_)) return look::forked;
    if (at == nullptr) continue;
    // acquire. Pairs with publish(), which moved the head on. Same word: of {item, who waits} at least one side sees the other. And with
    // try_enter(): see below.
    const std::uint64_t full = at->full.fetch_or(receiver_waits, base::order::acquire);
    // relaxed. A bit that came into another number's word has seen that it was emptied, and so a later turn.
    if (number_in(at->turn.load(base::order::relaxed)) != head >> index_bits_) continue;
    if ((full >> (head & index_mask_) & 1U) != 0) return look::got;
    // After the bit, and of the same head: an end that comes later finds the caller in the list.
    return has_ended_at(head) ? look::ended : look::not_now;
  }
}

/// Under the list's lock: the next in line, if there is anything for it. See B4.
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

/// The bit goes before the first is called: the others are its care then.
void chain::call_receiver(chain_block& at, std::uint64_t before, std::uint64_t bit) noexcept {
  // The head cannot pass one that is missing: who publishes that sees the bit.
  if ((before & (bit - 1)) != bit - 1) return;
  if (halves_.may_miss_the_holder(receivers_)) return;
  {
    wait_section section(receivers_);
    // relaxed. It is set and cleared under the lock.
    at.full.fetch_and(~receiver_waits, base::order::relaxed);
    if (!section.is_empty()) line_.call_first(section);
    if (!nobody_receives_) return;
  }
  halves::destroy_items_of(*this);
}

}  // namespace rota::channel::detail
