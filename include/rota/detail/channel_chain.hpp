// The chain of blocks of an unbounded channel, whatever its items are.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base_mutex.hpp>
#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: chain of a channel
//   position        [block | index]: counts items, and never comes back. `block` is the number of a block, `index` a place in its room
//   tail_           63: closed, and below it the position that the next sender claims
//   head_           the position that the next receiver claims
//
//   block    what is known of 32 places (fewer where items are large), and the room that they are in. Blocks follow one another by `next`:
//            from oldest_ to last_, which waits for its first sender. One that is done with gets a new number later, at the end. It stays
//            as long as the channel: who still looks at it finds another number. Its room goes, or serves another block.
//   .turn    [number | entered], or `unused`. `entered`: it has a room, and the next block is there
//   .full    63: receiver_waits; bit i: the item of place i is in it
//   slot     of each place, in the room: its index, and whether it was taken
//
//   what                   set by                                                   needs
//   tail_, head_           compare-exchange, by who has seen in turn (and full)     of the block of that position, which must be that number
//   .full                  publish(): adds the bit, keeps the others. Emptied by who links the block, before its turn is there
//   .full receiver_waits   under the lock of receivers_: who joins, and whoever looks for the next
//   slot: taken            free(): a store, the last that anybody does with the place
//   all else of blocks     under blocks_: enter() by a sender, once for each block; find_slowly() and sweep() by receivers
//
//   claim     of a place: the block of the tail must have been entered: who comes first does that, with memory that it has asked for before,
//             so that a failure changes nothing. Of an item: the head's must be full. The place is then the claimer's alone: it moves its
//             item in or out without any lock, and gives it on by publish() or free().
//   wait      under the list's lock: as in the ring, with the bit in the block of the head. Who publishes behind one that is still missing
//             leaves the bit to that one. Items are never bound to who waits: who is called tries again, against whoever comes by.
//   try       says that there is no item only if head_ and tail_ are the same: as in the ring (C6). Backs off, and says `forked`, as there.
//   close     sets `closed` in tail_: nothing is claimed after it. It has ended when that is the head's position.
//   sweep     by who takes the last place of a block, or one of a block that the head has left: from oldest_ on, blocks before the
//             head's of which each place was taken are done with. Two who end at once may both leave one: it goes with the next.
//
//   B1  A position is claimed once, and its item leaves once: by its receiver, or by B6.
//   B2  Who claims with what it has read of a block has read it of that position's. Positions only grow, so the head (tail) was at this one from
//       the first look until the exchange; as long as it is, its block is not done with, and no other has its number. What was read
//       otherwise, of a block that has another number by now, comes with an exchange that fails, or with a look that is made again.
//   B3  A room and what is in it are touched by claimers alone: between their claim, and their publish() or their `taken`. It goes after all of
//       those. Before a claim only words of blocks are read.
//   B4  Somebody is in the list: the block of the head has the bit, or who changed that has seen it and is about to call, or one that was
//       called has not come yet. Whoever was called and claims, gives up or finds the end looks for the next: arm(). If
//       nobody was behind it when it was called it need not: who joins later sets the bit for itself. Whoever clears a bit, be it of a block
//       that has another number by now, calls the first in line in the same section.
//   B5  A bit that nobody needs any more costs a look at the list, and nothing else. (Invariants: tests/model/chain_model.cpp.)
//   B6  Once the last receiver has gone there is no item, but for what is claimed and not published: the bit is in the block of the head then, and
//       who publishes at the head finds that nobody receives any more, and destroys that item, and what is behind it.
//   Orders: publish() releases, who finds it full acquires: the item, and the room. enter() releases, by turn; who claims a place acquires.
//   free() releases, sweep() acquires. The bit: as in the ring.

/// In its room, one for each place.
struct chain_slot {
  explicit chain_slot(std::uint8_t index) noexcept : mark(index) {}
  base::atomic<std::uint8_t> mark;
};

struct chain_block;

/// Its slots, and then its items, follow it.
struct chain_room {
  base::cell<chain_block*> of{nullptr};
  chain_room* next_spare = nullptr;  // under blocks_, or of who has taken it out
};

struct alignas(64) chain_block {
  base::atomic<std::uint64_t> turn{~std::uint64_t{0}};
  base::atomic<std::uint64_t> full{0};
  base::cell<chain_room*> room{nullptr};   // written under blocks_
  base::cell<chain_block*> next{nullptr};  // under blocks_; of one that is unused: the next of those
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

  // ---- places. Who has got one moves an item in or out, and publishes or frees it.
  [[nodiscard]] void* item_in(slot& place) const noexcept {
    const std::size_t index = index_of(place);
    return reinterpret_cast<std::byte*>(&place - index) + first_item_ + index * item_bytes_;
  }
  /// `sent`: there is a place; `closed`. Throws std::bad_alloc.
  send_status try_place(slot*& place) {
    const send_status did = claim_place(place);
    if (did == no_memory) [[unlikely]]
      throw_no_memory();
    return did;
  }
  look claim_item(slot*& place) noexcept;
  /// For a caller that does not wait; not_now: it is empty. As in the ring.
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
    // release. The item is seen by who finds the place full. It was not full, so adding the bit sets it.
    const std::uint64_t before = at.full.fetch_add(bit, base::order::release);
    if ((before & receiver_waits) != 0) [[unlikely]]
      call_receiver(at, before, bit);
  }
  void free(slot& place) noexcept {
    const std::size_t index = index_of(place);
    const chain_block* const at = room_of(place, index).of.get();
    // release. What was moved out comes before the end of the room, or what the next one moves in.
    place.mark.store(static_cast<std::uint8_t>(index | taken), base::order::release);
    // relaxed. A guess: see sweep.
    if (index == index_mask_ || head_block_.load(base::order::relaxed) != at) [[unlikely]]
      sweep();
  }

  // ---- waiting
  [[nodiscard]] core::wait_target to_close() noexcept { return halves_.to_close(); }
  [[nodiscard]] core::wait_target to_send() noexcept { return {&receivers_, this, &send_rules}; }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&receivers_, this, &receive_rules}; }
  /// wait_rules::try_now of each. There is always room. That there is no memory for it is noted, for claimed_place(). A channel without
  /// receivers is an end, which join() says.
  bool try_send_now(core::wait_node& me) noexcept {
    slot* place = nullptr;
    if (claim_place(place) == send_status::closed) return false;
    me.got = reinterpret_cast<std::uintptr_t>(place);
    return true;
  }
  /// Of a send that was granted. Throws std::bad_alloc.
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
    // acquire. Pairs with close().
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
  /// A channel keeps no more of them than it needs beside the one in use.
  static constexpr std::size_t most_spare_rooms = 2;
  static const core::wait_rules send_rules;
  static const core::wait_rules receive_rules;

  /// What a block needs that is not used yet.
  struct spare {
    chain_block* block = nullptr;
    chain_room* room = nullptr;
  };

  chain(const item_shape& items, chain_block& first) noexcept;
  ~chain();
  void destroy() noexcept;

  [[nodiscard]] static std::size_t index_of(const slot& place) noexcept {
    // relaxed. The index never changes.
    return place.mark.load(base::order::relaxed) & ~std::size_t{taken};
  }
  /// `index`: that of the place.
  [[nodiscard]] static chain_room& room_of(slot& place, std::size_t index) noexcept {
    return *(reinterpret_cast<chain_room*>(&place - index) - 1);
  }
  [[nodiscard]] static slot* slots_of(chain_room& room) noexcept {
    return reinterpret_cast<slot*>(&room + 1);
  }
  [[nodiscard]] static std::uint64_t number_in(std::uint64_t turn) noexcept { return turn >> 1U; }
  [[nodiscard]] bool has_ended_at(std::uint64_t head) const noexcept {
    // acquire. Pairs with close(): who is told of the end sees what was done before it.
    return tail_.load(base::order::acquire) == (head | closed);
  }

  [[nodiscard]] chain_room* make_room() const;
  void free_room(chain_room* room) const noexcept;
  send_status claim_place(slot*& place) noexcept;
  /// Out of line: an exception in the code of each send would keep that from being inlined.
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

  // Written once.
  std::size_t item_bytes_;
  std::size_t align_;
  std::size_t index_mask_;
  unsigned index_bits_;
  std::size_t first_item_;  // from the first slot on
  std::size_t room_bytes_;
  void (*destroy_item_)(void*) noexcept;
  halves halves_;
  base::mutex blocks_;
  // Under it.
  chain_block* oldest_;
  chain_block* last_;
  chain_block* spare_blocks_ = nullptr;
  chain_room* spare_rooms_ = nullptr;
  std::size_t spare_room_count_ = 0;

  // What senders write, and what receivers write, each in lines of its own. Of the blocks: changed under blocks_.
  static constexpr std::size_t apart = 128;
  [[maybe_unused]] std::byte before_tail_[apart];
  base::atomic<std::uint64_t> tail_{0};
  base::atomic<chain_block*> tail_block_;  // the last that was entered
  [[maybe_unused]] std::byte before_head_[apart];
  base::atomic<std::uint64_t> head_{0};
  base::atomic<chain_block*> head_block_;  // the head's, or an earlier one
  core::wait_list receivers_;
  line line_;                     // under the list's lock
  bool nobody_receives_ = false;  // the same
  [[maybe_unused]] std::byte after_head_[apart];
};

/// `sent`, `closed`, `forked` or `no_memory`.
inline send_status chain::claim_place(slot*& place) noexcept {
  // relaxed. A guess; the exchange decides.
  std::uint64_t seen = tail_.load(base::order::relaxed);
  for (;;) {
    if ((seen & closed) != 0) [[unlikely]]
      return send_status::closed;
    // acquire. Pairs with try_enter(): the block is there.
    chain_block& at = *tail_block_.load(base::order::acquire);
    // acquire. Pairs with try_enter(): so is its room, and the next block.
    if (at.turn.load(base::order::acquire) != ((seen >> index_bits_) << 1U | entered)) [[unlikely]] {
      if (const send_status did = enter(seen >> index_bits_); did != send_status::sent) return did;
      // relaxed. Again a guess.
      seen = tail_.load(base::order::relaxed);
      continue;
    }
    // relaxed. What is in the place is ordered by its block. failure: relaxed. Again a guess.
    if (tail_.compare_exchange_weak(seen, seen + 1, base::order::relaxed, base::order::relaxed)) [[likely]] {
      place = slots_of(*at.room.get()) + (seen & index_mask_);
      return send_status::sent;
    }
  }
}

inline chain_block* chain::find(std::uint64_t number) noexcept {
  // acquire. Pairs with find_slowly(): the block is there.
  chain_block* const at = head_block_.load(base::order::acquire);
  // acquire. Pairs with try_enter(): what is in it is of that number, or comes later.
  return number_in(at->turn.load(base::order::acquire)) == number ? at : find_slowly(number);
}

inline look chain::claim_item(slot*& place) noexcept {
  // relaxed. A guess; the exchange decides.
  std::uint64_t seen = head_.load(base::order::relaxed);
  for (;;) {
    chain_block* const at = find(seen >> index_bits_);
    // acquire. Pairs with publish(): the item is there.
    if (at != nullptr && (at->full.load(base::order::acquire) >> (seen & index_mask_) & 1U) != 0) [[likely]] {
      // release. C6 of the ring. failure: relaxed. Again a guess.
      if (head_.compare_exchange_weak(seen, seen + 1, base::order::release, base::order::relaxed)) {
        place = slots_of(*at->room.get()) + (seen & index_mask_);
        return look::got;
      }
      continue;
    }
    // relaxed. A guess: the head as it was means that there is no item.
    const std::uint64_t now = head_.load(base::order::relaxed);
    if (now == seen && at != nullptr) return has_ended_at(seen) ? look::ended : look::not_now;
    if (now == seen && halves_.may_miss_the_holder(blocks_)) return look::forked;
    seen = now;
  }
}

}  // namespace rota::channel::detail
