// The ring of a bounded channel, for any type of item.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: ring of a channel
//   position        [lap | 0 | index | 000]: a slot, and the number of the lap. `index` has as many bits as
//                   the capacity needs. A position comes back after 2^(60 - bits of index) laps: in a channel
//                   for 4096 items, after 2^47 laps of at least 32 places
//   tail_           the position that the next sender claims; its lowest bit is `closed`
//   head_           the position that the next receiver claims
//
//   slot.turn    63        ...          ...          3      2              1                0
//              +-----+----------+------------+--------------+----------------+-------+
//              | lap | to first | next index | sender_waits | receiver_waits | full  |
//              +-----+----------+------------+--------------+----------------+-------+
//   A thread that reads the turn of a slot knows the index of that slot. So the index field holds the index
//   of the next slot instead: the slots form a cycle. `to first`: the next slot is the first one, where the
//   next lap begins. The bit, added to itself, carries into the lap.
//   "p" below: the lap of position p, and the fields that lead to the next slot.
//
//   turn                  means                                  set by
//   p                     empty: the sender that claims p may    free(): adds a lap, clears `full`, keeps
//                         fill it                                the other bits
//   p | full              holds the item of p                    publish(): sets `full`, keeps the other
//                                                                bits; publish_again(): adds a lap
//   .. | receiver_waits   a receiver waits for an item at the    under the lock of receivers_: a receiver
//                         head                                   that joins, or arm_receivers()
//   .. | sender_waits     a sender waits at the tail             the same for senders_
//   to first, next index  the slot after this one                the sender that has claimed the slot and
//                                                                grows the ring, before its publish()
//   A publish (free) that has seen the wait bit takes that lock, clears the bit, and calls the first waiter
//   in line.
//
//   claim     A compare-exchange of tail_ or head_, by a thread that has seen in the slot's turn that the
//             slot is ready. The slot then belongs to the claimer alone: it moves its item in or out without
//             any lock, and passes the slot on by publish() or free().
//   wait      Under the list's lock, the waiter claims, or sets the bit in the slot at the head (tail). If
//             that same step shows that the slot is not yet full (not yet free), the waiter joins the list:
//             the bit stays until the publish (free) of that position sees it. The slot may still be a lap
//             behind: its previous item is being moved out (in). Items are never bound to waiters: a called
//             waiter tries again, against all other threads.
//   try       Reports full (empty) only if head_ and tail_ say so. Else the claimer of the slot in the way
//             has not freed (published) it yet, and later positions may have been claimed: the try repeats
//             until that claimer has finished, which takes one move of an item. It backs off between two
//             attempts. In a fork of the process that made the channel it returns `forked` instead of
//             sleeping: the moving thread may have stayed in the parent, and then its move never ends.
//   drop_oldest   A send to a full ring. The tail is at t, the head at h = t - lap, and the item of h is in
//                 its slot, which is also the slot of t. (1) The sender claims t: the ring is over-full by
//                 one. (2) The sender moves head_ from h to the next position by a compare-exchange. If (2)
//                 succeeds, the sender owns the slot with the old item in it, replaces that item, and passes
//                 the slot on by publish_again(). If (2) fails, a receiver has claimed h: the sender waits
//                 until that receiver has freed the slot, and fills it as after any other claim. No sender
//                 ever waits in line.
//   grow      The ring begins with one block of first_places slots. Each further block has twice as many as
//             the last one, or as many as are missing to the capacity. The indices of block b begin at
//             first_places << b, so the highest bit of an index is the number of its block.
//             limit_ is the head at some earlier time, plus a lap. A sender that would move the tail to
//             limit_ claims the last free place according to that head. If the head has moved, the sender
//             moves limit_, too. Else it takes the lock of growth, and fills a block in. It claims by an
//             exchange of the tail to the first place of that block; the last slot of the block leads to
//             where the tail would have gone. The sender owns the slot that it has claimed, and makes that
//             slot lead to the block. If there is no memory, the sender moves limit_ one place on, and claims
//             as usual. The next sender that takes a last free place tries again.
//             A ring with `capacity` places has no limit. Blocks are freed with the channel, not earlier.
//   close     Sets `closed` in tail_: nothing is claimed by senders after it. Senders are told at once,
//             receivers when all items have been claimed.
//
//   C1  If a waiter is in a list, one of these holds: the slot at the head (tail) has the bit; the thread
//       that changed that slot has seen the bit and is about to call; a called waiter has not come back yet.
//       A called waiter that claims, gives up or finds the end arms the next one: arm_*(). It need not do so
//       if no waiter was behind it when it was called: a waiter that joins later sets the bit for itself.
//       Several waiters may be called at the same time. A called waiter that finds nothing returns to its
//       former place in line: see Protocol line.
//   C2  A stale bit costs a check of the list, and nothing else.
//   C3  A position is claimed once, and its item leaves once: by its receiver, by drop_oldest (C7), or by C5.
//   C4  Bits are set under the list's lock, and each thread that sees one takes that lock: the node is in the
//       list then. So only the items need an order. publish() releases, and the receiver that finds the slot
//       full acquires; free() releases, and the sender that finds it free acquires.
//   C5  After the last receiver has gone there is no item, except those that are claimed and not published.
//       The bit is set in the slot at the head then. The sender that publishes that slot finds
//       nobody_receives_ set, and destroys that item and the ones after it. So no item outlives the last
//       receiver, whichever half keeps the channel alive.
//   C6  A try that reads tail_, and then a head that is a lap behind it, has seen a full ring. Positions only
//       grow, and the tail is never more than a lap ahead (with drop_oldest: C7), so both values were current
//       when the head was read. Claims release, and the first of the two reads acquires: the items that the
//       tail's last claimer had seen taken out are behind the head then. (Empty: the head first.)
//   C7  With drop_oldest the tail is at most a lap and one ahead: step (1) reads the tail first, then a head
//       that is a lap behind it, and the head does not go back before the exchange. The second sender of an
//       over-full ring waits: it finds the ring over-full, or the slot at the tail not free. A ring is
//       over-full for the two instructions between (1) and (2), which run no code of users; a slot is not
//       free for the moves in it.
//       The linearization point of drop and send is the step by which the head leaves h. If a receiver's
//       claim does that, nothing is dropped, and the send comes right after that receive. The receivers of
//       an over-full ring need not wait: it begins with h. A close, an is_closed() that returns true, and a
//       send that finds the ring closed return only when the ring is not over-full. Else h could be received
//       after a close that comes after the send that drops h. A sender that is to report `closed`, and reads
//       the tail that (1) has written or a later one, reads a head of at least h: it acquires what (1) has
//       read.
//       A fork: (1) needs a head that was read in the same process. So a thread that claims h afterwards is
//       of this process, and frees it.
//   C8  Growth. The exchange of the tail is the only step that adds a block, and a failed one changes nothing
//       that other threads see. Senders are at the old tail before it, and in the block after it. No thread
//       passes the claimed slot before its publish(), which publishes the new next index with it. A thread
//       that reads an index of a block in tail_ or head_ acquires, and so sees the block's entry in the
//       directory: the tail's exchange releases it, and a receiver that comes to the block has acquired the
//       publish().
//   C9  A ring of fewer places than the capacity is full only after a growth without memory. Without one the
//       tail never reaches limit_, which is never ahead of head + lap. Each sender that passes a former limit
//       has read a later limit, and then releases its claim; a sender that acquires that claim reads no
//       earlier limit. limit_ is moved by an exchange from where the tail would go; the place at the tail is
//       free then, so the head is not older than limit_. A drop in a full ring keeps limit_ ahead.
//       The lock is held while one block is filled, without an allocation. In a fork its holder may have
//       stayed in the parent: a sender that has polled the lock as often as it would poll for a move in its
//       way gives up, and goes on as it does without memory. If the holder is a slow thread of the fork, one
//       of the two exchanges of the tail fails: the ring may then stay smaller than it could be, and is
//       correct.
//       A sender that was called from the line may have to grow the ring in join(), and then allocates under
//       the list's lock. That is rare: it has waited although the ring could grow, because of a move in its
//       way or for want of memory.

struct ring_slot {
  explicit ring_slot(std::uint64_t empty) noexcept : turn(empty) {}
  base::atomic<std::uint64_t> turn;
};

class ROTA_API ring {
 public:
  using slot = ring_slot;
  static constexpr bool allocates = false;

  static constexpr std::uint64_t most_items = std::uint64_t{1} << 31U;

  /// Makes one allocation, which includes the first block. Throws std::invalid_argument (0, or more than
  /// most_items), std::bad_alloc.
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

  // ---- places. The thread that has claimed one moves an item in or out, and publishes or frees it.
  [[nodiscard]] void* item_in(slot& place) const noexcept {
    return reinterpret_cast<std::byte*>(&place) + item_offset_;
  }
  /// Claims the place at the tail. Returns not_now also if that is the last free place of a ring that can
  /// grow: claim_or_grow() claims it.
  look claim_place(slot*& place) noexcept;
  look claim_item(slot*& place) noexcept;
  void publish(slot& place) noexcept {
    // release: pairs with the acquire in claim_item(): the item is there. `full` was clear, so adding the bit
    // sets it.
    if ((place.turn.fetch_add(full, base::order::release) & receiver_waits) != 0) [[unlikely]]
      call_receiver(place);
  }
  void free(slot& place) noexcept {
    // release: pairs with the acquire in claim_place(): the old item is out before the next sender moves one
    // in. The same addition clears `full` and adds a lap.
    if ((place.turn.fetch_add(one_lap_ - full, base::order::release) & sender_waits) != 0) [[unlikely]]
      call_sender(place);
  }

  /// Passes on a place that try_place() has given with `sent_over_oldest`: the new item is in it.
  void publish_again(slot& place) noexcept {
    // release: same reason as in publish(). The slot stays full, and its turn moves on a lap.
    if ((place.turn.fetch_add(one_lap_, base::order::release) & receiver_waits) != 0) [[unlikely]]
      call_receiver(place);
  }

  /// Claims an item for a caller that does not wait. Returns not_now if the ring is empty. The slow path has
  /// a variable of its own, so that `place` need not be in memory.
  look try_item(slot*& place) noexcept {
    const look did = claim_item(place);
    if (did != look::not_now) [[likely]]
      return did;
    slot* arrived = nullptr;
    const look then = claim_item_in_transit(arrived);
    place = arrived;
    return then;
  }
  /// Claims a place for a send that does not wait. Returns `sent` or `sent_over_oldest` if there is a place;
  /// else what the policy says.
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
  /// wait_rules::try_now of each side. The claimed place, and the status of the send, are in the node.
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
    // acquire: pairs with close(): its caller's earlier writes are visible.
    if ((tail_.load(base::order::acquire) & closed) == 0) return false;
    await_drop_under_way();
    return true;
  }
  /// Returns an estimate; exact if no other thread moves items.
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

  /// Returns the directory's entry for a block, by the highest bit of the positions in the block. There is
  /// one for each possible block, behind the ring. An entry is where a slot of index 0 would be if the block
  /// began there.
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
    // relaxed: the position was acquired: C8.
    const std::uintptr_t from = entry_of(top_bit_of(index)).load(base::order::relaxed);
    return *__builtin_bit_cast(slot*, from + index * step_);
  }
  /// Returns 0 if the slot with this turn is empty at `position`, and `full` if it has its item. Any other
  /// value: the slot is not at this position.
  [[nodiscard]] std::uint64_t state_at(std::uint64_t turn, std::uint64_t position) const noexcept {
    return (turn ^ position) & state_mask_;
  }
  /// Returns the fields of a turn that lead to the slot of `position`.
  [[nodiscard]] std::uint64_t leads_to(std::uint64_t position) const noexcept {
    const std::uint64_t index = position & index_mask_;
    return index == first_position ? index | to_first_ : index;
  }
  [[nodiscard]] bool is_lap_behind(std::uint64_t turn, std::uint64_t position) const noexcept {
    return (state_at(turn + one_lap_, position) & ~full) == 0;
  }
  /// Returns the position after the one that a slot is at with this turn.
  [[nodiscard]] std::uint64_t after(std::uint64_t turn) const noexcept {
    const std::uint64_t next = turn & ~bits;
    return next + (next & to_first_);  // the bit carries into the lap
  }
  /// Returns the position after `position`. The slot of `position` may be at another lap.
  [[nodiscard]] std::uint64_t behind(std::uint64_t position) const noexcept {
    // relaxed: the index in the turn does not change while the position is the tail, or the head, of a ring
    // in which all places are claimed.
    const std::uint64_t turn = slot_of(position).turn.load(base::order::relaxed);
    return after((position & ~index_mask_) | (turn & index_mask_));
  }
  [[nodiscard]] bool has_ended_at(std::uint64_t head) const noexcept {
    // acquire: pairs with close(): a receiver that is told of the end sees what was done before the close.
    return tail_.load(base::order::acquire) == (head | closed);
  }

  send_status without_room(look why, slot*& place) noexcept;
  bool send_without_room(look why, core::wait_node& me) noexcept;
  /// Returns true if a sender is between the two steps of drop_oldest: C7.
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

  // Constant after the constructor.
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

  // Each side's fields are in cache lines of their own: first those that senders write, then those that
  // receivers write.
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
  line receivers_line_;           // under the list's lock
  bool nobody_receives_ = false;  // under the list's lock
  [[maybe_unused]] std::byte after_head_[apart];
};

inline look ring::claim_place(slot*& place) noexcept {
  // acquire: pairs with the exchange in grow() and the claims: the block of the tail, and the limit that they
  // have read: C8, C9.
  std::uint64_t seen = tail_.load(base::order::acquire);
  for (;;) {
    if ((seen & closed) != 0) [[unlikely]]
      return look::ended;
    slot& at = slot_of(seen);
    // acquire: pairs with free(): the previous item is out.
    const std::uint64_t turn = at.turn.load(base::order::acquire);
    if (state_at(turn, seen) == 0) [[likely]] {
      const std::uint64_t next = after(turn);
      // relaxed: C9.
      if (next == limit_.load(base::order::relaxed)) [[unlikely]]
        return look::not_now;
      // release: C6; the item in the place is ordered by the turn. failure: acquire: same reason as the first
      // load of the tail.
      if (tail_.compare_exchange_weak(seen, next, base::order::release, base::order::acquire)) {
        place = &at;
        return look::got;
      }
      continue;
    }
    // acquire: same reason as the first load of the tail. An unchanged tail means that there is no place.
    const std::uint64_t now = tail_.load(base::order::acquire);
    if (now == seen) return look::not_now;
    seen = now;
  }
}

inline look ring::claim_item(slot*& place) noexcept {
  // acquire: the block of the head is in the directory: C8.
  std::uint64_t seen = head_.load(base::order::acquire);
  for (;;) {
    slot& at = slot_of(seen);
    // acquire: pairs with publish(): the item is there.
    const std::uint64_t turn = at.turn.load(base::order::acquire);
    if (state_at(turn, seen) == full) [[likely]] {
      // release: same reason as in claim_place(). failure: acquire: same reason as the first load of the
      // head.
      if (head_.compare_exchange_weak(seen, after(turn), base::order::release, base::order::acquire)) {
        place = &at;
        return look::got;
      }
      continue;
    }
    // acquire: same reason as the first load of the head. An unchanged head means that there is no item.
    const std::uint64_t now = head_.load(base::order::acquire);
    if (now == seen) return has_ended_at(seen) ? look::ended : look::not_now;
    seen = now;
  }
}

}  // namespace rota::channel::detail
