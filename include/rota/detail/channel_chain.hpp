// The chain of blocks of an unbounded channel, for any type of item.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base_mutex.hpp>
#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: chain of a channel
//   position        [block | index]: counts items, and never comes back. `block` is the number of a block,
//                   `index` a place in its room
//   tail_           bit 63: closed; below it the position that the next sender claims
//   head_           the position that the next receiver claims
//
//   room     a chain_room: the memory of one block's slots and items
//   block    the state of 32 places (fewer if items are large), and a pointer to the room that they are in.
//            Blocks follow one another by `next`: from oldest_ to last_, which has no sender yet. A block
//            that is done gets a new number later, at the end. It stays as long as the channel: a thread that
//            still reads it finds another number. Its room is freed, or serves another block.
//   .turn    [number | entered], or `unused`. `entered`: the block has a room, and the next block is linked
//   .full    bit 63: receiver_waits; bit i: the item of place i is in it
//   slot     one for each place, in the room: the index of the place, and whether its item was taken
//
//   what                   set by                                         needs
//   tail_, head_           compare-exchange, by a thread that has read    the number of the block that it has
//                          .turn (and .full) of the position's block      read is that of the position
//   .full                  publish(): adds the bit, keeps the others.
//                          Emptied by the sender that links the block,
//                          before it sets its turn
//   .full receiver_waits   a receiver that joins, or arm()                the lock of receivers_
//   slot: taken            free(): a store, the last access to the place
//   all else of blocks     enter() by a sender, once for each block;      blocks_
//                          find_slowly() and sweep() by receivers
//
//   claim     Of a place: the block of the tail must have been entered. The first sender that comes to the
//             block enters it, with memory that it has allocated before, so that a failure changes nothing.
//             Of an item: the bit of the head's place must be in .full. The place then belongs to the claimer
//             alone: it moves its item in or out without any lock, and passes the place on by publish() or
//             free().
//   wait      Under the list's lock: as in the ring, with the bit in the block of the head. A sender that
//             publishes behind a missing item leaves the bit to the sender of that item. Items are never
//             bound to waiters: a called waiter tries again, against all other threads.
//   try       Reports that there is no item only if head_ and tail_ are the same: as in the ring (C6). Backs
//             off, and returns `forked`, as there.
//   close     Sets `closed` in tail_: no place is claimed after it. The channel has ended when that is the
//             head's position.
//   sweep     By a receiver that takes the last place of a block, or one of a block that the head has left:
//             from oldest_ on, the blocks before the head's block of which all places were taken are done.
//             Two receivers that finish at once may both leave a block: it goes with the next sweep.
//
//   B1  A position is claimed once, and its item leaves once: by its receiver, or by B6.
//   B2  A successful claim has read the block of its own position. Positions only grow, so the head (tail)
//       was at this position from the first load until the exchange. As long as it is, its block is not done,
//       and no other block has its number. A thread that has read a block which has another number by now
//       fails in its exchange, or reads again.
//   B3  A room and its contents are touched by claimers alone: between their claim and their publish() or
//       their `taken`. The room is freed after all of those. Before a claim only words of blocks are read.
//   B4  If a waiter is in the list, one of these holds: the block of the head has the bit; the thread that
//       changed that block has seen the bit and is about to call; a called waiter has not come back yet. A
//       called waiter that claims, gives up or finds the end arms the next one: arm(). It need not do so if
//       no waiter was behind it when it was called: a waiter that joins later sets the bit for itself. A
//       thread that clears a bit, even one of a block that has another number by now, calls the first in line
//       in the same critical section.
//   B5  A stale bit costs a check of the list, and nothing else. (Invariants: tests/model/chain_model.cpp.)
//   B6  After the last receiver has gone there is no item, except those that are claimed and not published.
//       The bit is in the block of the head then. The sender that publishes at the head finds
//       nobody_receives_ set, and destroys that item and the ones after it.
//   Orders: publish() releases, and the receiver that finds the bit acquires: the item, and the room. enter()
//   releases, by turn; a sender that claims a place acquires. free() releases, sweep() acquires. The bit: as
//   in the ring.

/// One for each place, in its room.
struct chain_slot {
  explicit chain_slot(std::uint8_t index) noexcept : mark(index) {}
  base::atomic<std::uint8_t> mark;
};

struct chain_block;

/// Followed by its slots, and then by its items.
struct chain_room {
  base::cell<chain_block*> of{nullptr};
  chain_room* next_spare = nullptr;  // under blocks_, or of the thread that has taken it out
};

struct alignas(64) chain_block {
  base::atomic<std::uint64_t> turn{~std::uint64_t{0}};
  base::atomic<std::uint64_t> full{0};
  base::cell<chain_room*> room{nullptr};   // written under blocks_
  base::cell<chain_block*> next{nullptr};  // under blocks_; in an unused block: the next unused one
};

class ROTA_API chain {
 public:
  using slot = chain_slot;
  static constexpr bool allocates = true;

  /// Throws std::bad_alloc.
  [[nodiscard]] static chain* make(const item_shape& items);

  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;

  // ---- halves
  void add_sender() noexcept { halves_.add_sender(); }
  void add_receiver() noexcept { halves_.add_receiver(); }
  void add_weak() noexcept { halves_.add_weak(); }
  [[nodiscard]] bool add_sender_to_others() noexcept { return halves_.add_sender_to_others(); }
  void drop_weak() noexcept {
    if (halves_.drop_side()) destroy();
  }
  void drop_sender() noexcept;
  void drop_receiver() noexcept;

  // ---- places. The thread that has claimed one moves an item in or out, and publishes or frees it.
  [[nodiscard]] void* item_in(slot& place) const noexcept {
    const std::size_t index = index_of(place);
    return reinterpret_cast<std::byte*>(&place - index) + first_item_ + index * item_bytes_;
  }
  /// Claims a place. Returns `sent` if there is one, or `closed`, or `forked`. Throws std::bad_alloc.
  send_status try_place(slot*& place) {
    const send_status did = claim_place(place);
    if (did == no_memory) [[unlikely]]
      throw_no_memory();
    return did;
  }
  look claim_item(slot*& place) noexcept;
  /// Claims an item for a caller that does not wait. Returns not_now if the channel is empty. The variable:
  /// as in the ring.
  look try_item(slot*& place) noexcept {
    const look did = claim_item(place);
    if (did != look::not_now) [[likely]]
      return did;
    slot* arrived = nullptr;
    const look then = claim_item_in_transit(arrived);
    place = arrived;
    return then;
  }
  void publish(slot& place) noexcept {
    const std::size_t index = index_of(place);
    chain_block& at = *room_of(place, index).of.get();
    const std::uint64_t bit = std::uint64_t{1} << index;
    // release: pairs with the acquire in claim_item(): the item is there. The bit was clear, so adding the
    // bit sets it.
    const std::uint64_t before = at.full.fetch_add(bit, base::order::release);
    if ((before & receiver_waits) != 0) [[unlikely]]
      call_receiver(at, before, bit);
  }
  void free(slot& place) noexcept {
    const std::size_t index = index_of(place);
    const chain_block* const at = room_of(place, index).of.get();
    // release: pairs with the acquire in was_emptied(): the item is out before the room is freed or used
    // again.
    place.mark.store(static_cast<std::uint8_t>(index | taken), base::order::release);
    // relaxed: an estimate: see sweep.
    if (index == index_mask_ || head_block_.load(base::order::relaxed) != at) [[unlikely]]
      sweep();
  }

  // ---- waiting
  [[nodiscard]] core::wait_target to_close() noexcept { return halves_.to_close(); }
  [[nodiscard]] core::wait_target to_send() noexcept { return {&receivers_, this, &send_rules}; }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&receivers_, this, &receive_rules}; }
  /// wait_rules::try_now of each side. A send always has a place, unless there is no memory: that is noted in
  /// the node, for claimed_place(). A closed channel is an end, which join() reports.
  bool try_send_now(core::wait_node& me) noexcept {
    slot* place = nullptr;
    if (claim_place(place) == send_status::closed) return false;
    me.got = reinterpret_cast<std::uintptr_t>(place);
    return true;
  }
  /// Returns the place of a send that was granted. Throws std::bad_alloc.
  static slot& claimed_place(const core::wait_node& me) {
    if (me.got == 0) [[unlikely]]
      throw_no_memory();
    return place_of(me);
  }
  bool try_receive_now(core::wait_node& me) noexcept {
    slot* place = nullptr;
    if (claim_item(place) != look::got) return false;
    keep(me, *place);
    return true;
  }
  static void keep(core::wait_node& me, slot& place) noexcept {
    me.got = reinterpret_cast<std::uintptr_t>(&place);
  }
  static slot& place_of(const core::wait_node& me) noexcept { return *__builtin_bit_cast(slot*, me.got); }

  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: pairs with close().
    return (tail_.load(base::order::acquire) & closed) != 0;
  }
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  friend class halves;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t receiver_waits = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t entered = 1;
  static constexpr std::uint64_t unused = ~std::uint64_t{0};
  static constexpr std::uint8_t taken = 0x80;
  static constexpr send_status no_memory{0x81};  // never returned to users
#if ROTA_MODEL && !ROTA_SIMULATED
  static constexpr std::size_t most_in_block = 2;
#else
  static constexpr std::size_t most_in_block = 32;
#endif
  /// A channel keeps at most this number of rooms beside the one in use.
  static constexpr std::size_t most_spare_rooms = 2;
  static const core::wait_rules send_rules;
  static const core::wait_rules receive_rules;

  /// What a new block needs: not used yet.
  struct spare {
    chain_block* block = nullptr;
    chain_room* room = nullptr;
  };

  chain(const item_shape& items, chain_block& first) noexcept;
  ~chain();
  void destroy() noexcept;

  [[nodiscard]] static std::size_t index_of(const slot& place) noexcept {
    // relaxed: the index never changes.
    return place.mark.load(base::order::relaxed) & ~std::size_t{taken};
  }
  /// Returns the room of a place. `index`: that of the place.
  [[nodiscard]] static chain_room& room_of(slot& place, std::size_t index) noexcept {
    return *(reinterpret_cast<chain_room*>(&place - index) - 1);
  }
  [[nodiscard]] static slot* slots_of(chain_room& room) noexcept {
    return reinterpret_cast<slot*>(&room + 1);
  }
  [[nodiscard]] static std::uint64_t number_in(std::uint64_t turn) noexcept { return turn >> 1U; }
  [[nodiscard]] bool has_ended_at(std::uint64_t head) const noexcept {
    // acquire: pairs with close(): a receiver that is told of the end sees what was done before the close.
    return tail_.load(base::order::acquire) == (head | closed);
  }

  [[nodiscard]] chain_room* make_room() const;
  void free_room(chain_room* room) const noexcept;
  send_status claim_place(slot*& place) noexcept;
  /// Out of line: a throw in the code of each send would prevent its inlining.
  [[noreturn, gnu::cold]] static void throw_no_memory();
  [[nodiscard]] send_status enter(std::uint64_t number) noexcept;
  [[nodiscard]] bool try_enter(std::uint64_t number, spare& with) noexcept;
  void keep_spare(const spare& what) noexcept;
  void keep_room(chain_room& room, chain_room*& gone) noexcept;
  void free_rooms(chain_room* first) const noexcept;
  [[nodiscard]] chain_block* find(std::uint64_t number) noexcept;
  chain_block* find_slowly(std::uint64_t number) noexcept;
  [[nodiscard]] bool was_emptied(chain_room& room) const noexcept;
  void sweep() noexcept;
  look claim_item_in_transit(slot*& place) noexcept;

  look mark_head() noexcept;
  void arm(core::wait_section& section) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void call_receiver(chain_block& at, std::uint64_t before, std::uint64_t bit) noexcept;

  // Constant after the constructor.
  std::size_t item_bytes_;
  std::size_t align_;
  std::size_t index_mask_;
  unsigned index_bits_;
  std::size_t first_item_;  // offset from the first slot
  std::size_t room_bytes_;
  void (*destroy_item_)(void*) noexcept;
  halves halves_;
  base::mutex blocks_;
  // Guarded by blocks_.
  chain_block* oldest_;
  chain_block* last_;
  chain_block* spare_blocks_ = nullptr;
  chain_room* spare_rooms_ = nullptr;
  std::size_t spare_room_count_ = 0;

  // Each side's fields are in cache lines of their own: first those that senders write, then those that
  // receivers write. The pointers to blocks are changed under blocks_.
  static constexpr std::size_t apart = 128;
  [[maybe_unused]] std::byte before_tail_[apart];
  base::atomic<std::uint64_t> tail_{0};
  base::atomic<chain_block*> tail_block_;  // the last that was entered
  [[maybe_unused]] std::byte before_head_[apart];
  base::atomic<std::uint64_t> head_{0};
  base::atomic<chain_block*> head_block_;  // the head's, or an earlier one
  core::wait_list receivers_;
  line line_;                     // under the list's lock
  bool nobody_receives_ = false;  // under the list's lock
  [[maybe_unused]] std::byte after_head_[apart];
};

/// Returns `sent`, `closed`, `forked` or `no_memory`.
inline send_status chain::claim_place(slot*& place) noexcept {
  // relaxed: an estimate; the exchange decides.
  std::uint64_t seen = tail_.load(base::order::relaxed);
  for (;;) {
    if ((seen & closed) != 0) [[unlikely]]
      return send_status::closed;
    // acquire: pairs with try_enter(): the block is initialized.
    chain_block& at = *tail_block_.load(base::order::acquire);
    // acquire: pairs with try_enter(): its room and the next block are there.
    if (at.turn.load(base::order::acquire) != ((seen >> index_bits_) << 1U | entered)) [[unlikely]] {
      if (const send_status did = enter(seen >> index_bits_); did != send_status::sent) return did;
      // relaxed: an estimate again.
      seen = tail_.load(base::order::relaxed);
      continue;
    }
    // relaxed: what is in the place is ordered by its block. failure: relaxed: the value is an estimate
    // again.
    if (tail_.compare_exchange_weak(seen, seen + 1, base::order::relaxed, base::order::relaxed)) [[likely]] {
      place = slots_of(*at.room.get()) + (seen & index_mask_);
      return send_status::sent;
    }
  }
}

inline chain_block* chain::find(std::uint64_t number) noexcept {
  // acquire: pairs with find_slowly(): the block is initialized.
  chain_block* const at = head_block_.load(base::order::acquire);
  // acquire: pairs with try_enter(): the fields read afterwards are of that number, or of a later one.
  return number_in(at->turn.load(base::order::acquire)) == number ? at : find_slowly(number);
}

inline look chain::claim_item(slot*& place) noexcept {
  // relaxed: an estimate; the exchange decides.
  std::uint64_t seen = head_.load(base::order::relaxed);
  for (;;) {
    chain_block* const at = find(seen >> index_bits_);
    // acquire: pairs with publish(): the item is there.
    if (at != nullptr && (at->full.load(base::order::acquire) >> (seen & index_mask_) & 1U) != 0) [[likely]] {
      // release: C6 of the ring. failure: relaxed: the value is an estimate again.
      if (head_.compare_exchange_weak(seen, seen + 1, base::order::release, base::order::relaxed)) {
        place = slots_of(*at->room.get()) + (seen & index_mask_);
        return look::got;
      }
      continue;
    }
    // relaxed: an estimate. An unchanged head means that there is no item.
    const std::uint64_t now = head_.load(base::order::relaxed);
    if (now == seen && at != nullptr) return has_ended_at(seen) ? look::ended : look::not_now;
    if (now == seen && halves_.may_miss_the_holder(blocks_)) return look::forked;
    seen = now;
  }
}

}  // namespace rota::channel::detail
