// The ring of a bounded channel, whatever its items are.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: ring of a channel
//   position        [lap | 0 | index | 000]: a place, and how often the ring has gone round. `index` has as many bits as the capacity needs. A
//                   position comes back after 2^(60 - bits of index) rounds: of a channel for 4096 items, after 2^47 rounds of at least 32 places
//   tail_           the position that the next sender claims, and in its lowest bit: closed
//   head_           the position that the next receiver claims
//
//   slot.turn    63        ...          ...          3      2              1                0
//              +-----+----------+------------+--------------+----------------+-------+
//              | lap | to first | next index | sender_waits | receiver_waits | full  |
//              +-----+----------+------------+--------------+----------------+-------+
//   The index of a slot is known to each thread that looks at it. So its turn has the index of the slot behind it in that place: the slots are
//   a cycle. `to first`: that one is the first slot, where the next lap begins; the bit, added to itself, carries into the lap.
//   "p" below: the lap of position p, and what leads to the next slot.
//
//   turn                means                                     set by
//   p                   empty: the sender that claims p may fill  free(): adds a lap, takes `full` away, keeps the other bits
//   p | full            the item of p is in it                    publish(): adds `full`, keeps the other bits; publish_again(): adds a lap
//   .. | receiver_waits somebody waits for an item at the head    under the lock of receivers_: who joins, and whoever looks for the next
//   .. | sender_waits   somebody waits for a place at the tail    the same for senders_
//   to first, next index  the slot behind this one                the sender that has claimed the slot and grows the ring, before its publish()
//   A publish (free) that has seen the bit takes that lock, clears it, and calls the first in line.
//
//   claim     compare-exchange of tail_ or head_, by who has seen in the slot's turn that it may. The place is then the claimer's alone:
//             it moves its item in or out without any lock, and gives it on by publish() or free().
//   wait      under the list's lock: claims, or sets the bit in the slot at the head (tail). If that same step shows that it is not yet
//             full (not yet free), the caller joins the list: the bit stays until the publish (free) of that position sees it. The slot
//             may still be a lap behind: what was there is on its way out (in). Items are never bound to
//             who waits: who is called tries again, against whoever comes by.
//   try       says that the ring is full (empty) only if head_ and tail_ say so. Else whoever claimed what is in the way has not freed (published)
//             it yet, and others may have gone past: the caller looks again until that one has, a move of one item later. Between two looks it
//             backs off. In a fork of the process that made the channel it says `forked` instead of a sleep: the thread that moves may
//             have stayed in the parent, and then its move never ends.
//   drop_oldest   a send to a full ring, with the tail at t, the head at h = t - lap, and the item of h in its slot, which is that of t, too:
//             (1) claims t: the ring is over-full by one. (2) moves head_ from h to the next by a compare-exchange. Won: the sender has
//             the place with the old item in it, replaces that, and gives the place on by publish_again(). Lost: a receiver has
//             claimed h; the sender waits until that has freed the slot, and fills it as after any other claim. No sender ever waits in line.
//   grow      The ring begins with one block of first_places slots. A block more has twice as many as the last one, or what is missing to the
//             capacity. Indices of block b begin at first_places << b, so the highest bit of an index is the number of its block.
//             limit_ is the head at some time, a lap later. A sender that would move the tail to limit_ claims the last free place by that
//             head. If the head has moved, it moves limit_, too. Else it takes the lock of growth, and fills a block in. It claims by an
//             exchange of the tail to the first place of that block; the block's last slot leads to where the tail would have gone. It
//             owns the slot that it has claimed, and makes it lead to the block. If there is no memory, it moves limit_ one place on, and
//             claims as ever. The next sender that takes a last free place tries again.
//             A ring with `capacity` places has no limit. No block goes before the channel does.
//   close     sets `closed` in tail_: nothing is claimed after it. Senders are told at once; receivers when all items have been claimed.
//
//   C1  Somebody is in a list: the slot at the head (tail) has the bit, or who changed that slot has seen it and is about to call, or
//       one that was called has not come yet. Whoever was called and claims, gives up or finds the end looks for the next: arm_*().
//       If nobody was behind it when it was called it need not: who joins later sets the bit for itself.
//       Several may be called and on their way. Who comes in vain has its place in line again: see Protocol line.
//   C2  A bit that nobody needs any more costs a look at the list, and nothing else.
//   C3  A position is claimed once, and its item leaves once: by its receiver, by drop_oldest (C7), or by C5.
//   C4  Bits are set under the list's lock, and whoever sees one takes that lock: the node is in the list then. So only what an item is
//       needs an order: publish() releases, who finds it full acquires; free() releases, who finds it free acquires.
//   C5  Once the last receiver has gone there is no item, but for what is claimed and not published: the bit is in the slot at the head then, and who
//       publishes that finds that nobody receives any more, and destroys it, and what is behind it. So no item outlives who could take it,
//       whoever else keeps the channel.
//   C6  Who tries and reads tail_, and then a head that is a lap behind it, has seen a full ring: positions only grow, and a tail is never more
//       than a lap ahead (with drop_oldest: C7), so both were so when the head was read. Claims release, and the first of the two reads
//       acquires: what the tail's last claimer had taken out before is in the head then. (Empty: the head first.)
//   C7  With drop_oldest the tail is at most a lap and one ahead: step (1) reads the tail first, then a head that is a lap behind it, and the head
//       does not go back before the exchange. The second sender of an over-full ring waits: its look finds it over-full, or the slot at the
//       tail not free. A ring is over-full for the two instructions between (1) and (2), which run no code of users; a slot is not free for
//       the moves in it.
//       Drop and send are one step for all others: the one by which the head leaves h. If a receiver's claim does that, nothing is dropped,
//       and the send comes right behind that receive. The receivers of an over-full ring need not wait: it begins with h. A close, an is_closed() that
//       says yes, and a send that finds the ring closed, return only when it is not over-full: else h could be received after a close that
//       comes after the send that drops h. A sender that is to say `closed`, and reads a tail behind (1), reads a head of at least h: it acquires what (1) has read.
//       A fork: (1) needs a head that was read in the same process. So a thread that claims h afterwards is of this process, and frees it.
//   C8  Growth. The exchange of the tail is the only step that adds a block, and a failed one changes nothing that other threads see. Senders
//       are at the old tail before it, and in the block after it; no thread passes the claimed slot before its publish(), which brings
//       the new next index along. A thread that reads an index of a block in tail_ or head_ acquires, and so sees the block's entry
//       in the directory: the tail's exchange releases it, and a receiver that comes to the block has acquired the publish().
//   C9  A ring of fewer places than the capacity is full only after a growth without memory. Without one the tail never comes to limit_, which is never
//       ahead of head + lap. Each sender that passes a former limit has read a later limit, and then releases its claim; a sender that
//       acquires that claim reads no earlier limit. limit_ is moved by an exchange from where the tail
//       would go; the place at the tail is free then, so the head is not older than limit_. A drop in a full ring keeps limit_ ahead.
//       The lock is held for the filling of one block, without an allocation. In a fork its holder may have stayed in the parent: a sender
//       that has looked as often as for a move in its way does what it does without memory. If the holder is a slow thread of the fork,
//       one of the two exchanges of the tail fails: the ring may then stay smaller than it could be, and is right.
//       A sender that was called from the line may have to grow the ring in join(), and then asks for memory under the list's lock. That is rare: it has
//       waited although the ring could grow, for a move in its way or for want of memory.

struct ring_slot {
  explicit ring_slot(std::uint64_t empty) noexcept : turn(empty) {}
  base::atomic<std::uint64_t> turn;
};

class ROTA_API ring {
 public:
  using slot = ring_slot;
  static constexpr bool allocates = false;

  static constexpr std::uint64_t most_items = std::uint64_t{1} << 31U;

  /// One allocation, of the first block too. Throws std::invalid_argument (0, or more than most_items), std::bad_alloc.
  [[nodiscard]] static ring* make(std::uint64_t capacity, const item_shape& items, options how);

  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

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
    return reinterpret_cast<std::byte*>(&place) + item_offset_;
  }
  /// not_now, too, if the place is the last free one of a ring that can grow: claim_or_grow() claims that.
  look claim_place(slot*& place) noexcept;
  look claim_item(slot*& place) noexcept;
  void publish(slot& place) noexcept {
    // release. The item is seen by who finds the place full. It was not full, so adding the bit sets it.
    if ((place.turn.fetch_add(full, base::order::release) & receiver_waits) != 0) [[unlikely]]
      call_receiver(place);
  }
  void free(slot& place) noexcept {
    // release. What was moved out comes before what the next sender moves in. The same addition empties it and moves it on a lap.
    if ((place.turn.fetch_add(one_lap_ - full, base::order::release) & sender_waits) != 0) [[unlikely]]
      call_sender(place);
  }

  /// Gives on a place that try_place() has given with `sent_over_oldest`: the new item is in it.
  void publish_again(slot& place) noexcept {
    // release. As in publish(). It stays full, and moves on a lap.
    if ((place.turn.fetch_add(one_lap_, base::order::release) & receiver_waits) != 0) [[unlikely]]
      call_receiver(place);
  }

  /// For a caller that does not wait; not_now: it is empty. The slow path has a variable of its own, so that `place` need not be in memory.
  look try_item(slot*& place) noexcept {
    const look did = claim_item(place);
    if (did != look::not_now) [[likely]]
      return did;
    slot* arrived = nullptr;
    const look then = claim_item_in_transit(arrived);
    place = arrived;
    return then;
  }
  /// A place, or what the policy says instead; `sent`, `sent_over_oldest`: there is a place.
  send_status try_place(slot*& place) noexcept {
    const look did = claim_place(place);
    if (did == look::got) [[likely]]
      return send_status::sent;
    slot* freed = nullptr;
    const send_status then = without_room(did, freed);
    place = freed;
    return then;
  }

  // ---- waiting
  [[nodiscard]] core::wait_target to_close() noexcept { return halves_.to_close(); }
  [[nodiscard]] core::wait_target to_send() noexcept { return {&senders_, this, &send_rules}; }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&receivers_, this, &receive_rules}; }
  /// wait_rules::try_now of each: what they have claimed, and how it went, is in the node.
  bool try_send_now(core::wait_node& me) noexcept {
    slot* place = nullptr;
    const look did = claim_place(place);
    if (did == look::got) [[likely]] {
      me.kind = static_cast<unsigned char>(send_status::sent);
      keep(me, *place);
      return true;
    }
    return send_without_room(did, me);
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
    // acquire. Pairs with close(): what was done before is seen.
    if ((tail_.load(base::order::acquire) & closed) == 0) return false;
    await_drop_under_way();
    return true;
  }
  /// A guess, unless nothing moves.
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] channel_stats stats() const noexcept;

 private:
  static constexpr std::uint64_t full = 1;
  static constexpr std::uint64_t receiver_waits = 2;
  static constexpr std::uint64_t sender_waits = 4;
  static constexpr std::uint64_t waits = receiver_waits | sender_waits;
  static constexpr std::uint64_t bits = waits | full;
  static constexpr unsigned shift = 3;
  static constexpr std::uint64_t one_place = std::uint64_t{1} << shift;
  static constexpr std::uint64_t closed = 1;    // in tail_
  static constexpr std::uint64_t no_limit = 1;  // no position
#if ROTA_MODEL && !ROTA_SIMULATED
  static constexpr std::uint64_t first_places = 2;
#else
  static constexpr std::uint64_t first_places = 32;
#endif
  static constexpr std::uint64_t first_position = first_places << shift;
  static constexpr std::uint64_t first_top_bit = 63 - __builtin_clzll(first_position);
  static const core::wait_rules send_rules;
  static const core::wait_rules receive_rules;

  friend class halves;
  ring(std::uint64_t capacity, const item_shape& items, options how) noexcept;
  ~ring();
  static std::size_t bytes_for(std::uint64_t capacity, const item_shape& items) noexcept;
  void destroy() noexcept;

  /// One entry for each block that there may be, behind the ring: where a slot of index 0 would be if the block began there. By the highest bit of
  /// the positions in the block.
  [[nodiscard]] base::atomic<std::uintptr_t>& entry_of(std::uint64_t top_bit) const noexcept {
    constexpr std::size_t before = sizeof(ring) - first_top_bit * sizeof(base::atomic<std::uintptr_t>);
    auto* const entries = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + before;
    return reinterpret_cast<base::atomic<std::uintptr_t>*>(entries)[top_bit];
  }
  [[nodiscard]] static std::uint64_t top_bit_of(std::uint64_t index) noexcept {
    return static_cast<std::uint64_t>(__builtin_clzll(index)) ^ 63U;
  }
  [[nodiscard]] static std::uint64_t block_of(std::uint64_t index) noexcept {
    return top_bit_of(index) - first_top_bit;
  }
  [[nodiscard]] base::atomic<std::uintptr_t>& block_at(std::uint64_t number) const noexcept {
    return entry_of(number + first_top_bit);
  }
  [[nodiscard]] static std::uint64_t most_blocks(std::uint64_t capacity) noexcept;
  [[nodiscard]] slot& slot_of(std::uint64_t position) const noexcept {
    const std::uint64_t index = position & index_mask_;
    // relaxed. The position was acquired: C8.
    const std::uintptr_t from = entry_of(top_bit_of(index)).load(base::order::relaxed);
    return *__builtin_bit_cast(slot*, from + index * step_);
  }
  /// 0: the slot of this turn is empty at `position`; full: it has its item. Anything else: it is not at this position.
  [[nodiscard]] std::uint64_t state_at(std::uint64_t turn, std::uint64_t position) const noexcept {
    return (turn ^ position) & state_mask_;
  }
  /// What the turn of a slot has that is followed by that of `position`.
  [[nodiscard]] std::uint64_t leads_to(std::uint64_t position) const noexcept {
    const std::uint64_t index = position & index_mask_;
    return index == first_position ? index | to_first_ : index;
  }
  [[nodiscard]] bool is_lap_behind(std::uint64_t turn, std::uint64_t position) const noexcept {
    return (state_at(turn + one_lap_, position) & ~full) == 0;
  }
  /// The position behind the one that a slot is at with this turn.
  [[nodiscard]] std::uint64_t after(std::uint64_t turn) const noexcept {
    const std::uint64_t next = turn & ~bits;
    return next + (next & to_first_);  // the bit carries into the lap
  }
  /// The position behind `position`, whose slot may be at another lap.
  [[nodiscard]] std::uint64_t behind(std::uint64_t position) const noexcept {
    // relaxed. The index in it does not change while the position is the tail, or the head, of a ring whose places are all claimed.
    const std::uint64_t turn = slot_of(position).turn.load(base::order::relaxed);
    return after((position & ~index_mask_) | (turn & index_mask_));
  }
  [[nodiscard]] bool has_ended_at(std::uint64_t head) const noexcept {
    // acquire. Pairs with close(): who is told of the end sees what was done before it.
    return tail_.load(base::order::acquire) == (head | closed);
  }

  send_status without_room(look why, slot*& place) noexcept;
  bool send_without_room(look why, core::wait_node& me) noexcept;
  /// A sender is between the two steps of drop_oldest: C7.
  [[nodiscard]] bool is_over_full(std::uint64_t head, std::uint64_t tail) const noexcept {
    return behind(head) + one_lap_ == (tail & ~closed);
  }
  send_status claim_over_oldest(slot*& place) noexcept;
  send_status drop_or_wait(std::uint64_t head,
                           std::uint64_t next_head,
                           std::uint64_t claimed,
                           slot*& place) noexcept;
  void await_drop_under_way() const noexcept;
  look claim_place_in_transit(slot*& place) noexcept;
  look claim_item_in_transit(slot*& place) noexcept;

  // ---- growth
  /// Memory for the slots of a block.
  struct block {
    std::byte* memory = nullptr;  // null: none
    std::uint64_t number = 0;
  };
  [[nodiscard]] std::uint64_t places_of(std::uint64_t number) const noexcept;
  [[nodiscard]] std::size_t bytes_of(std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t places_in(std::uint64_t blocks) const noexcept;
  [[nodiscard]] base::atomic<std::uint64_t>& rank_of_block(std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t rank_of(std::uint64_t position, std::uint64_t blocks) const noexcept;
  [[nodiscard]] block make_block(std::uint64_t number) const noexcept;
  void free_block(const block& gone) const noexcept;
  void fill_in(const block& fresh, std::uint64_t lap, std::uint64_t next) noexcept;
  void end_slots(const block& of) const noexcept;
  bool begin_growth(std::uint64_t seen, std::uint64_t next) noexcept;
  void end_growth() noexcept;
  void move_limit(std::uint64_t from, std::uint64_t to) noexcept;
  void pass_limit(std::uint64_t next) noexcept;
  slot* grow(block& fresh, std::uint64_t seen, std::uint64_t next) noexcept;
  slot* claim_at_limit(std::uint64_t seen, std::uint64_t next) noexcept;
  look claim_or_grow(slot*& place) noexcept;

  look mark_head() noexcept;
  look mark_tail() noexcept;
  void arm_receivers(core::wait_section& section) noexcept;
  void arm_senders(core::wait_section& section) noexcept;
  core::on_join join_receivers(core::wait_section& section, core::wait_node& me) noexcept;
  core::on_join join_senders(core::wait_section& section, core::wait_node& me) noexcept;
  void call_receiver(slot& place) noexcept;
  void call_sender(slot& place) noexcept;

  // Written once.
  std::uint64_t capacity_;
  std::uint64_t index_mask_;
  std::uint64_t one_lap_;
  std::uint64_t state_mask_;
  std::uint64_t to_first_;
  std::size_t step_;  // from slot to slot, in eighths: an index stands 3 bits up in its position
  std::size_t item_offset_;
  void (*destroy_item_)(void*) noexcept;
  std::size_t bytes_;
  std::size_t align_;
  overflow on_full_;
  halves halves_;

  // What senders write, and what receivers write, each in lines of its own.
  static constexpr std::size_t apart = 128;
  [[maybe_unused]] std::byte before_tail_[apart];
  base::atomic<std::uint64_t> tail_{first_position};
  base::atomic<std::uint64_t> limit_;
  base::atomic<std::uint32_t> growing_{0};  // 1: its lock is held
  base::atomic<std::uint64_t> blocks_{1};
  core::wait_list senders_;
  line senders_line_;  // under the list's lock
  base::atomic<std::uint64_t> refused_{0};
  base::atomic<std::uint64_t> dropped_oldest_{0};
  base::atomic<std::uint64_t> dropped_newest_{0};
  [[maybe_unused]] std::byte before_head_[apart];
  base::atomic<std::uint64_t> head_{first_position};
  core::wait_list receivers_;
  line receivers_line_;           // the same
  bool nobody_receives_ = false;  // the same
  [[maybe_unused]] std::byte after_head_[apart];
};

inline look ring::claim_place(slot*& place) noexcept {
  // acquire. The block that it is in, and what is known of the limit: C8, C9.
  std::uint64_t seen = tail_.load(base::order::acquire);
  for (;;) {
    if ((seen & closed) != 0) [[unlikely]]
      return look::ended;
    slot& at = slot_of(seen);
    // acquire. Pairs with free(): what was there before has left.
    const std::uint64_t turn = at.turn.load(base::order::acquire);
    if (state_at(turn, seen) == 0) [[likely]] {
      const std::uint64_t next = after(turn);
      // relaxed. C9.
      if (next == limit_.load(base::order::relaxed)) [[unlikely]]
        return look::not_now;
      // release. C6; what is in the place is ordered by its turn. failure: acquire. As above.
      if (tail_.compare_exchange_weak(seen, next, base::order::release, base::order::acquire)) {
        place = &at;
        return look::got;
      }
      continue;
    }
    // acquire. As above. The tail as it was means that there is no room.
    const std::uint64_t now = tail_.load(base::order::acquire);
    if (now == seen) return look::not_now;
    seen = now;
  }
}

inline look ring::claim_item(slot*& place) noexcept {
  // acquire. The block that it is in: C8.
  std::uint64_t seen = head_.load(base::order::acquire);
  for (;;) {
    slot& at = slot_of(seen);
    // acquire. Pairs with publish(): the item is there.
    const std::uint64_t turn = at.turn.load(base::order::acquire);
    if (state_at(turn, seen) == full) [[likely]] {
      // release. As in claim_place(). failure: acquire. As above.
      if (head_.compare_exchange_weak(seen, after(turn), base::order::release, base::order::acquire)) {
        place = &at;
        return look::got;
      }
      continue;
    }
    // acquire. As above. The head as it was means that there is no item.
    const std::uint64_t now = head_.load(base::order::acquire);
    if (now == seen) return has_ended_at(seen) ? look::ended : look::not_now;
    seen = now;
  }
}

}  // namespace rota::channel::detail
