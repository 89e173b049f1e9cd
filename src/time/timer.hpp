// One timer: a node in the frame of the waiting coroutine.
#pragma once

#include <cstdint>

#include <rota/waker.hpp>

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "queue/pairing_heap.hpp"

namespace rota::timing {

class shard;

enum class node_state : std::uint8_t {
  unarmed,    // new, or about to be armed
  armed,      // a shard holds the node and its waker
  fired,      // the deadline passed; the shard has released the node, and its waker is woken or about to be
  cancelled,  // cancel() came first; the shard has released the node, and its waker is never woken
};

// PROTOCOL: timer node
//
//   state      means                                    set by
//   unarmed    in no list, no waker in it               construction
//   armed      the shard's wheel holds it               shard::arm()      under the lock of the shard
//   fired      taken out, the waker moved out first     shard::poll()     under the lock, as its last touch
//   cancelled  taken out, the waker moved out           shard::cancel()   under the lock
//
//   field                            which threads may touch it
//   next_ prev_ child_ deadline_     the holder of the lock of shard_, while armed, and no other thread
//   waker_ sequence_ place_
//   shard_                           set by arm(), under the lock of the shard that it names; cancel() reads
//                                    it, takes that lock and checks again, state_ first
//   state_                           written under the lock; read by any thread that may rely on the node
//                                    being there
//
// The owner is the code that made the node. It alone arms, one call at a time, and destroys. Any thread may
// cancel at any moment, as long as the owner keeps the node until that call has returned.
// The owner frees the node once it has seen a state other than armed: by state(), or by what cancel()
// returned.
//
//   N1  An armed node is in exactly one list of the wheel, or in its heap; every other node is in none.
//       ~timer_node() checks that it is not armed.
//   N2  Each arm ends in exactly one of: one wake; a cancel that returned `cancelled`; a re-arm that replaced
//       it. The shard's counts add up so; ~shard() checks that.
//   N3  After the store of `fired` or `cancelled` the shard does not touch the node. Otherwise: a use after
//       free. timer_model frees the node.
// Why the orders suffice: the store of `fired` is a release and state() an acquire, so a free that follows
// comes after the shard's last touch. Everything else is ordered by the lock.

/// A timer to be armed on a shard. 64 bytes; arming allocates nothing.
class timer_node {
 public:
  timer_node() noexcept = default;
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;
  ~timer_node() {
    // relaxed: only the owner arms, and it has seen before, with acquire, that the shard has released the
    // node.
    const auto seen = state_.load(base::order::relaxed);
    if (seen == node_state::armed) ROTA_FATAL("a timer was destroyed while armed", seen);
    base::note_write(this);
  }

  [[nodiscard]] node_state state() const noexcept {
    // acquire: pairs with the release in shard::poll() and cancel(): the shard's last touch comes before what
    // the caller does next.
    return state_.load(base::order::acquire);
  }

 private:
  template <class, class>
  friend class queue::pairing_heap;
  friend struct fires_before;
  friend class wheel;
  friend class shard;

  timer_node* next_ = nullptr;  // in a slot: the next one; in the heap: the next sibling
  timer_node* prev_ =
      nullptr;  // in a slot: the one before, null for the first; in the heap: see queue::pairing_heap
  timer_node* child_ = nullptr;  // in the heap: the first child
  base::time_point deadline_{};
  waker waker_;
  base::atomic<shard*> shard_{nullptr};
  std::uint32_t sequence_ = 0;  // its number among the arms of its shard: orders equal deadlines
  std::uint16_t place_ = 0;     // the list that holds it: see wheel
  base::atomic<node_state> state_{node_state::unarmed};
};

static_assert(sizeof(timer_node) == 64, "a sleeping task pays for this");

/// Orders by deadline; of equal ones the one that was armed first comes first.
struct fires_before {
  [[nodiscard]] bool operator()(const timer_node& a, const timer_node& b) const noexcept {
    if (a.deadline_ != b.deadline_) return a.deadline_ < b.deadline_;
    return static_cast<std::int32_t>(a.sequence_ - b.sequence_) < 0;
  }
};

/// The timers of the current millisecond, and the overdue ones.
using near_heap = queue::pairing_heap<timer_node, fires_before>;

}  // namespace rota::timing
