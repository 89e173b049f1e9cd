// The part of a work that is the same for all works.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "pool/work_queue.hpp"
#include "pool/work_word.hpp"
#include "time/timer.hpp"

#include <rota/detail/pool_work.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/waker.hpp>

#include <cstddef>
#include <cstdint>

namespace rota::pool::detail {

class coroutine_part;
struct membership;
struct lane;
class group_core;
struct stop_hook;
class pool_core;
struct work_extras;

/// A waiter of a work: a task, or another work. The node is in the list of the work, under its lock, until
/// the work is over. Afterwards it belongs to the thread that took the list.
struct waiting_node {
  waiting_node* next = nullptr;
  bool is_in = false;
  waker wake;                      // of a task
  work_core* successor = nullptr;  // otherwise: a work that has this one in `after`; the node belongs to it
};

[[nodiscard]] bool enter_list(work_core& w, waiting_node& node) noexcept;
void leave_list(work_core& w, waiting_node& node) noexcept;

/// A slot of the pool's memory. A field without a comment belongs to the runner, and before that to the
/// thread that has the work.
class alignas(base::cache_line) work_core : public queue_item {
 public:
  work_core(pool_core& owner, std::uint32_t place) noexcept : pool(&owner), index(place) {}
  work_core(const work_core&) = delete;
  work_core& operator=(const work_core&) = delete;
  ~work_core() { free_timer(); }

  /// Called when there is no reference: so no thread arms the timer, and none cancels it.
  void free_timer() noexcept {
    // relaxed, both: the last reference was dropped before.
    timing::timer_node* const timer = grace.load(base::order::relaxed);
    if (timer == nullptr) return;
    grace.store(nullptr, base::order::relaxed);
    delete timer;
  }

  /// Applies a rule to the word. This is the only compare-exchange loop on a work's word. Returns false if
  /// the rule does not apply. Sets `seen` to the word as it was.
  template <auto Rule, class... A>
  bool apply(word& seen, A... with) noexcept {
    // acquire: if the rule applies, the value is only a guess, and the compare-exchange decides. If not, the
    // caller acts on the value: a caller that finds the work over reads its status.
    seen.bits = state.load(base::order::acquire);
    for (;;) {
      const step made = Rule(seen, with...);
      if (!made.applies) return false;
      // acq_rel: release: the next owner of the work sees what was done to it before. acquire: this thread
      // sees what the owners before have done. failure: acquire: the caller acts on a final status.
      if (state.compare_exchange_weak(seen.bits, made.next.bits, base::order::acq_rel, base::order::acquire))
        return true;
    }
  }
  [[nodiscard]] word load() const noexcept {
    // acquire: pairs with the release in apply(). A thread that sees `over` sees the outcome.
    return word{state.load(base::order::acquire)};
  }
  void retain() noexcept {
    // relaxed: the caller's reference keeps it alive.
    const word before{state.fetch_add(1, base::order::relaxed)};
    if (before.refs() >= word::max_refs) [[unlikely]]
      ROTA_FATAL("references to a work overflow", before.bits);
  }
  /// Drops a reference. Returns true if it was the last.
  [[nodiscard]] bool drop_reference() noexcept {
    // acq_rel: this owner's last use happens before the reuse. The last uses of all other owners happen
    // before it, too.
    const word before{state.fetch_sub(1, base::order::acq_rel)};
    if (before.refs() == 0) [[unlikely]]
      ROTA_FATAL("a reference to a work was dropped twice", before.bits);
    return before.refs() == 1;
  }
  /// Takes a reference for a caller that found the slot by an id and has no reference. Returns false if the
  /// slot has no owner.
  [[nodiscard]] bool try_retain() noexcept {
    // relaxed: a guess.
    std::uint64_t seen = state.load(base::order::relaxed);
    while (word{seen}.refs() != 0) {
      // acq_rel: acquire: pairs with the store that gave the slot its id. release: look_again() skips a work
      // that does not run. A work that begins later changes this word, acquires, and sees that nothing is
      // paused. failure: relaxed: the loop tries again.
      if (state.compare_exchange_weak(seen, seen + 1, base::order::acq_rel, base::order::relaxed))
        return true;
    }
    return false;
  }

  // The fields that every work needs come first, and a small function and its result come right behind them.
  // These cache lines move from the submitting thread to the running thread, and back.
  base::atomic<std::uint64_t> state{0};
  // its id; written by the thread that draws the slot, while no other thread has a reference
  base::atomic<std::uint64_t> name{0};
  pool_core* pool;  // this and the next: written again when the slot's segment is opened again
  std::uint32_t index;
  bool body_gone = false;      // written by a runner after the work was abandoned
  bool function_gone = false;  // written by a runner
  // True for a failure that no callback and no observer received. Written by the thread that ends the job,
  // before `over`. Read by the last owner.
  bool has_untold_failure = false;
  base::atomic<lane*> home{nullptr};  // the queue that it is in; written under the lock of that queue
  const body_type* type = nullptr;
  void* body = nullptr;
  work_extras* extras = nullptr;        // owned
  coroutine_part* coroutine = nullptr;  // owned
  stop_hook* hook = nullptr;            // owned; the runner writes it before it sets `hooked` in the word
  work_core* link = nullptr;            // in a list of free slots, of held works or of those that failed
  base::time_point
      timed_at{};  // for timed works: when it was queued, or began to run; zero: not timed any more
  alignas(16) std::byte room[body_room];

  base::mutex lock;                 // of `waiting`
  waiting_node* waiting = nullptr;  // written under the lock, until `over`
  // groups that it joined after its submit(); owned; under the lock of the groups
  membership* joined = nullptr;
  // Under `lock`: the runner blocks until that work is over, or until that count rises.
  work_core* waits_for = nullptr;
  base::atomic<std::uint32_t>* waits_on = nullptr;
  base::atomic<timing::timer_node*> grace{nullptr};  // owned, until the slot's segment leaves: see slots
  base::time_point queued_at{};                      // zero: not measured
  base::time_point began_at{};
};

}  // namespace rota::pool::detail
