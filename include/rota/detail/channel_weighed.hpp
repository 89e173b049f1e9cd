// The queue of a channel that is bounded by the weight of its items, for any type of item.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: queue of a channel that is bounded by weight
//   One lock, lock_, guards all fields below and the fields of each slot. It is held for a few dozen
//   instructions. An item is weighed, moved and destroyed without it. No thread is woken, and no memory is
//   allocated, under it.
//   Lock order: the lock of a wait list, then lock_. No thread holds the locks of both lists.
//
//   capacity_, max_weight_   the bounds; constant
//   slots_                   how many slots there are: at first 32, or the capacity if that is less, then
//                            more, up to the capacity
//   first_, last_            a list of the queued slots, in the order of their claims
//   spare_                   a list of the slots without an item
//   closed_                  no slot is claimed any more
//   moves_                   counts publish(), free() and close(). Changed under lock_. A try that waits for
//                            a move reads it without lock_, so that it does not take the lock that the moving
//                            thread needs
//
//   Three amounts, each a number of items and the sum of their weights. Their sum is the load:
//   queued_     a sender has claimed a slot, and no receiver has claimed the item
//   leaving_    a receiver has claimed the item, and has not freed the slot
//   reserved_   kept for a sender that waited, was called, and has not come back yet
//
//   slot state     list            event                                   next state
//   spare          spare_          claim, by a sender that has room        being filled
//   being filled   first_..last_   publish(), by that sender               full
//   full           first_..last_   claim, by a receiver; only the first    being emptied
//   being emptied  none            free(), by that receiver                spare
//
//   has room    An item of weight w has room if the load has fewer items than slots_, and
//               the load is empty (so an item that is heavier than max_weight_ goes in alone), or
//               load + w <= max_weight_. Beside an item that is heavier than max_weight_ nothing has room,
//               not even an item of weight 0.
//
//   sender_waits_     Senders are in the list senders_, or a sender is about to be linked there. Set under
//                     that list's lock and lock_, by the sender that joins; cleared under both, by serve(),
//                     when the list is empty. A try_select without room sets it, and clears it before it
//                     releases the lock of the list: a try in between returns `full`.
//   receiver_waits_   Receivers are in the list receivers_, and the first item was not there at the last
//                     check of one of them. Set under that list's lock and lock_. Cleared by the publish()
//                     that makes the first item full, which then calls the first receiver.
//
//   sender_waits_   event                                    what follows
//   false           claim of a sender: it has room           it has a slot
//   false           the same without room                    a try returns `full`; a send joins the list
//   true            claim of a sender that comes now         no slot, even if it has room: it joins the
//                                                            list at the end
//   true            the load becomes less, slots are added,  serve(): as long as the first in the list has
//                   or the first in the list leaves it       room, that room is kept for it, and it is called
//   either          a sender that was called comes back      it claims a slot: reserved_ -> queued_; after
//                                                            a close it returns `closed`
//   either          it is cancelled, late, or loses in a     its room is given up, and serve()
//                   select
//
//   B1  The load has at most slots_ items. Its weight is at most max_weight_, or it is one item.
//   B2  First in, first out among the senders that wait: a later sender, and one that did not wait, gets no
//       room before they have theirs. So light items do not starve a heavy one: the load only falls while the
//       heavy one waits, and it is called in the end.
//   B3  If senders wait, the first of them has no room, or the thread that has made room is on its way to
//       serve(). That thread has changed the load or added slots under lock_, has seen sender_waits_, and
//       then takes the lock of the list: the sender that has set the flag is linked by then. So there is no
//       lost wakeup.
//   B4  A sender that is called has room, and no slot. With a slot, a task that may not run for long would
//       hold a position between other items, and receivers would wait for it. So a cancelled sender leaves no
//       hole and no weight, and keeps its item. It is called and not granted, so that it can still be told of
//       a close: an end, after which a task that is cancelled as well does not go on.
//   B5  Receivers: as C1 of the ring. A called receiver tries again, against others. If it takes the item,
//       gives up or finds the end, it arms the next receiver: arm_receivers().
//   B6  The first item becomes full by its publish() only. A later item that is full before is found by the
//       receiver that takes the first, if that receiver was called with others behind it; other receivers
//       check when they join.
//   B7  Items leave in the order of the claims. So a receiver waits for a sender that has claimed and has not
//       finished its move. A try waits so, too (base::back_off), and returns `empty` only for an empty queue.
//       A try to send returns `full` only if the item has no room beside queued_ and reserved_, or senders
//       wait: for an item that is being moved out it waits. In a fork of the process that made the channel it
//       returns `forked` instead of sleeping, as in the ring.
//   B8  Growth. If an item has no room only because no spare slot is left, and slots_ is below the capacity,
//       its sender allocates memory without lock_, and enters the new slots under lock_ if slots_ is
//       unchanged. A claim holds no lock meanwhile. A join and a serve() hold that of senders_: rarely, if an
//       item is followed by more senders than there are slots, or if two senders come at once. A claim that
//       has added slots calls serve() if senders wait then: one of them may have joined the list without
//       memory during the allocation. Without memory the channel stays at slots_ until an item leaves, a
//       sender that waits gives up, a claim that was at its allocation adds slots, or the next sender comes
//       to an empty line. Slots are freed with the channel, not earlier.
//   B9  After the last receiver has gone, an item that a sender had claimed before the close is destroyed by
//       that sender: C5 of the ring.
//   Checked: tests/unit/channel/weighed_test.cpp, tests/model/weighed_model.cpp; without memory:
//   tests/unit/faults/allocations_in_channels_test.cpp.

struct weighed_slot {
  weighed_slot* next = nullptr;
  std::uint64_t weight = 0;
  bool is_full = false;
};

/// The function that weighs the items of a channel. The channel has its own copy.
struct weigher {
  std::size_t size;
  void (*move)(void* to, void* from) noexcept;
  void (*destroy)(void* function) noexcept;
  std::uint64_t (*weigh)(const void* function, const void* item) noexcept;
};

class ROTA_API weighed {
 public:
  using slot = weighed_slot;
  static constexpr bool allocates = false;

  static constexpr std::uint64_t most_items = std::uint64_t{1} << 31U;

  /// Makes two allocations. Moves from `function`, as the last step. Throws std::invalid_argument (a capacity
  /// of 0, or above most_items; a max_weight of 0), std::bad_alloc.
  [[nodiscard]] static weighed* make(std::uint64_t capacity,
                                     std::uint64_t max_weight,
                                     const item_shape& items,
                                     const weigher& by,
                                     void* function);

  weighed(const weighed&) = delete;
  weighed& operator=(const weighed&) = delete;

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

  // ---- slots. The thread that has claimed one moves an item in or out, and publishes or frees it.
  [[nodiscard]] std::uint64_t weight_of(const void* item) const noexcept { return weigh_(function(), item); }
  [[nodiscard]] void* item_in(slot& place) const noexcept {
    return reinterpret_cast<std::byte*>(&place) + item_offset_;
  }
  look claim_item(slot*& place) noexcept;
  void publish(slot& place) noexcept;
  void free(slot& place) noexcept;
  /// Claims an item for a caller that does not wait. Returns not_now if the channel is empty.
  look try_item(slot*& place) noexcept;
  /// Claims a slot. Returns `sent` if there is one; else `full`, `closed`, `forked`.
  send_status try_place(slot*& place, std::uint64_t weight) noexcept;

  // ---- waiting
  [[nodiscard]] core::wait_target to_close() noexcept { return halves_.to_close(); }
  [[nodiscard]] core::wait_target to_send() noexcept { return {&senders_, this, &send_rules}; }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&receivers_, this, &receive_rules}; }
  /// wait_rules::try_now of each side. The weight is in `me.wanted`.
  bool try_send_now(core::wait_node& me) noexcept;
  bool try_receive_now(core::wait_node& me) noexcept;
  static slot& place_of(const core::wait_node& me) noexcept { return *__builtin_bit_cast(slot*, me.got); }

  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t weight() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t max_weight() const noexcept { return max_weight_; }
  [[nodiscard]] channel_stats stats() const noexcept;

 private:
  /// A number of items, and the sum of their weights.
  struct amount {
    std::uint64_t items = 0;
    std::uint64_t weight = 0;

    void add(std::uint64_t w) noexcept {
      ++items;
      weight += w;
    }
    void remove(std::uint64_t w) noexcept {
      --items;
      weight -= w;
    }
    [[nodiscard]] amount operator+(const amount& other) const noexcept {
      return {items + other.items, weight + other.weight};
    }
  };
  /// The result of a sender's claim.
  struct claimed {
    look did = look::not_now;
    slot* place = nullptr;
    // If there was no room:
    bool is_on_its_way = false;  // it would have room after all moves under way
    std::uint32_t moves = 0;     // moves() at that time
  };
  /// Several slots in one allocation.
  struct block {
    block* next = nullptr;
    std::uint64_t slots = 0;
  };
#if ROTA_MODEL && !ROTA_SIMULATED
  static constexpr std::uint64_t first_slots = 2;
#else
  static constexpr std::uint64_t first_slots = 32;
#endif
  static const core::wait_rules send_rules;
  static const core::wait_rules receive_rules;

  friend class halves;
  weighed(std::uint64_t capacity,
          std::uint64_t max_weight,
          const item_shape& items,
          const weigher& by) noexcept;
  ~weighed();
  void destroy() noexcept;
  [[nodiscard]] const void* function() const noexcept;

  // ---- slots
  [[nodiscard]] std::size_t stride() const noexcept;
  [[nodiscard]] std::size_t offset_of_slots() const noexcept;
  [[nodiscard]] std::size_t bytes_of(std::uint64_t slots) const noexcept;
  [[nodiscard]] block* make_block(std::uint64_t slots) const;
  void free_block(block* gone) const noexcept;
  void enter(block& fresh) noexcept;
  [[nodiscard]] bool add_slots(std::uint64_t seen) noexcept;

  // ---- under lock_
  [[nodiscard]] bool fits(std::uint64_t weight, const amount& beside) const noexcept;
  [[nodiscard]] bool fits_beside_load(std::uint64_t weight) const noexcept;
  [[nodiscard]] bool lacks_a_slot(std::uint64_t weight) const noexcept;
  [[nodiscard]] slot& take_slot(std::uint64_t weight) noexcept;
  [[nodiscard]] bool has_first() const noexcept { return first_ != nullptr && first_->is_full; }
  look take_place(slot*& place, std::uint64_t weight) noexcept;
  look take_item(slot*& place) noexcept;

  [[nodiscard]] std::uint32_t moves() const noexcept {
    // relaxed: what a move has changed is read under lock_.
    return moves_.load(base::order::relaxed);
  }
  void count_move() noexcept {
    // relaxed: same reason as in moves().
    moves_.fetch_add(1, base::order::relaxed);
  }
  [[nodiscard]] bool await_move(std::uint32_t seen) const noexcept;

  [[nodiscard]] bool sender_waits() const noexcept;
  claimed claim_place(std::uint64_t weight) noexcept;
  look mark_head() noexcept;
  void arm_receivers(core::wait_section& section) noexcept;
  void call_receiver() noexcept;
  void serve(core::wait_section& section) noexcept;
  void serve_senders() noexcept;
  void leave_senders(core::wait_section& section, const core::wait_node& me) noexcept;
  core::on_join join_receivers(core::wait_section& section, core::wait_node& me) noexcept;
  core::on_join join_senders(core::wait_section& section, core::wait_node& me) noexcept;

  // Constant after the constructor.
  std::uint64_t capacity_;
  std::uint64_t max_weight_;
  std::size_t slot_align_;
  std::size_t item_offset_;
  std::size_t item_bytes_;
  std::size_t function_bytes_;
  void (*destroy_item_)(void*) noexcept;
  void (*destroy_function_)(void*) noexcept;
  std::uint64_t (*weigh_)(const void*, const void*) noexcept;
  halves halves_;

  mutable base::mutex lock_;
  // Guarded by lock_.
  bool closed_ = false;
  bool sender_waits_ = false;
  bool receiver_waits_ = false;
  std::uint64_t slots_ = 0;
  amount queued_;
  amount leaving_;
  amount reserved_;
  slot* first_ = nullptr;
  slot* last_ = nullptr;
  slot* spare_ = nullptr;
  block* blocks_ = nullptr;
  base::atomic<std::uint32_t> moves_{0};
  base::atomic<std::uint64_t> refused_{0};

  core::wait_list senders_;
  core::wait_list receivers_;
  line receivers_line_;           // under the lock of receivers_
  bool nobody_receives_ = false;  // under the lock of receivers_
};

}  // namespace rota::channel::detail
