// A work: the part of it that is the same for all.
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

/// Somebody who waits for a work: a task, or another work. In a list of the work, under its lock, until it is over; then whoever
/// took the list has it.
struct waiting_node {
  waiting_node* next = nullptr;
  bool is_in = false;
  waker wake;                      // of a task
  work_core* successor = nullptr;  // else: a work that has this one in `after`; the node is its own
};

[[nodiscard]] bool enter_list(work_core& w, waiting_node& node) noexcept;
void leave_list(work_core& w, waiting_node& node) noexcept;

/// A slot of the pool's memory. Fields without a comment: the runner's, or whoever's the work is before it runs.
class alignas(base::cache_line) work_core : public queue_item {
 public:
  work_core(pool_core& owner, std::uint32_t place) noexcept : pool(&owner), index(place) {}
  work_core(const work_core&) = delete;
  work_core& operator=(const work_core&) = delete;
  ~work_core() { free_timer(); }

  /// Without a reference: no thread arms the timer, and none cancels it.
  void free_timer() noexcept {
    // relaxed, both. The last reference was dropped before.
    timing::timer_node* const timer = grace.load(base::order::relaxed);
    if (timer == nullptr) return;
    grace.store(nullptr, base::order::relaxed);
    delete timer;
  }

  /// Applies a rule, if it applies: the only compare-exchange loop on a work's word. Returns the word as it was.
  template <auto Rule, class... A>
  bool apply(word& seen, A... with) noexcept {
    // acquire. A guess, if the rule applies: the compare-exchange decides. If not, it is acted upon: who finds a work over reads how.
    seen.bits = state.load(base::order::acquire);
    for (;;) {
      const step made = Rule(seen, with...);
      if (!made.applies) return false;
      // acq_rel. release: what was done to the work before is seen by whoever it belongs to next. acquire: the same the other way.
      // failure: acquire. A final status is acted upon.
      if (state.compare_exchange_weak(seen.bits, made.next.bits, base::order::acq_rel, base::order::acquire))
        return true;
    }
  }
  [[nodiscard]] word load() const noexcept {
    // acquire. Pairs with apply(): who sees `over` sees the outcome.
    return word{state.load(base::order::acquire)};
  }
  void retain() noexcept {
    // relaxed. The caller's reference keeps it alive.
    const word before{state.fetch_add(1, base::order::relaxed)};
    if (before.refs() >= word::max_refs) [[unlikely]]
      ROTA_FATAL("references to a work overflow", before.bits);
  }
  /// True: it was the last.
  [[nodiscard]] bool drop_reference() noexcept {
    // acq_rel. My last use happens before its end; every other owner's has, if I end it.
    const word before{state.fetch_sub(1, base::order::acq_rel)};
    if (before.refs() == 0) [[unlikely]]
      ROTA_FATAL("a reference to a work was dropped twice", before.bits);
    return before.refs() == 1;
  }
  /// For whoever found the slot by an id, and holds no reference. False: nobody owns it.
  [[nodiscard]] bool try_retain() noexcept {
    // relaxed. A guess.
    std::uint64_t seen = state.load(base::order::relaxed);
    while (word{seen}.refs() != 0) {
      // acq_rel. acquire: pairs with the store that gave the slot its id. release: look_again() skips a work that does not run. One
      // that begins after that changes this word, acquires, and sees that nothing is paused. failure: relaxed. Again.
      if (state.compare_exchange_weak(seen, seen + 1, base::order::acq_rel, base::order::relaxed))
        return true;
    }
    return false;
  }

  // What every work needs comes first, and a small function and its result right behind it: these lines go from the thread that
  // submits to the one that runs it, and back.
  base::atomic<std::uint64_t> state{0};
  base::atomic<std::uint64_t> name{0};  // its id; written while nobody has a reference but who draws it
  pool_core* pool;  // this and the next: written again when the slot's segment is opened again
  std::uint32_t index;
  bool body_gone = false;      // written by a runner that was given up
  bool function_gone = false;  // by a runner
  // A failure of which no callback and no observer was told. Written by the thread that ends the job, before `over`; read by the last owner.
  bool has_untold_failure = false;
  base::atomic<lane*> home{nullptr};  // where it lies; written under the lock of that
  const body_type* type = nullptr;
  void* body = nullptr;
  work_extras* extras = nullptr;        // owned
  coroutine_part* coroutine = nullptr;  // owned
  stop_hook* hook = nullptr;            // owned; the runner writes it before the word says `hooked`
  work_core* link = nullptr;            // in a list of free slots, of held works or of those that failed
  base::time_point
      timed_at{};  // of those that are timed: since it is in a queue, or runs; zero: not any more
  alignas(16) std::byte room[body_room];

  base::mutex lock;                 // of `waiting`
  waiting_node* waiting = nullptr;  // whoever holds the lock, until `over`
  membership* joined = nullptr;     // groups that it joined after its submit(); owned; their lock
  // Under `lock`: the runner blocks until that one is over, or until that count rises.
  work_core* waits_for = nullptr;
  base::atomic<std::uint32_t>* waits_on = nullptr;
  base::atomic<timing::timer_node*> grace{nullptr};  // owned, until the slot's segment leaves: see slots
  base::time_point queued_at{};                      // zero: not measured
  base::time_point began_at{};
};

}  // namespace rota::pool::detail
