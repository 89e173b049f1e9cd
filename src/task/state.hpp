// The atomic task word: the only place that orders task memory.
#pragma once

#include "base/atomic.hpp"
#include "task/word.hpp"

#include <cstdint>

namespace rota::core {

#if ROTA_MODEL
/// Model tests count here which rule was applied to which word.
inline void (*transition_seen)(void (*rule)(), snapshot from) noexcept = nullptr;
#endif

/// Counting references is no rule. These are the names under which tests count it.
inline void counted_up() noexcept {}
inline void counted_down() noexcept {}

/// The word of one task. word.hpp has the protocol. The comments here say which thread may call what.
class state {
 public:
  explicit state(snapshot initial) noexcept : word_(initial.bits) {}

  /// Any thread that holds a reference. After `submit` the caller hands the task to its scheduler.
  on_wake wake() noexcept { return apply<rule::wake>(); }
  on_cancel cancel() noexcept { return apply<rule::cancel>(); }
  on_cancel force_end() noexcept { return apply<rule::force_end>(); }
  on_wake override_shield() noexcept { return apply<rule::override_shield>(); }

  /// The thread that took the entry out of its queue.
  on_pop pop() noexcept { return apply<rule::pop, is_queued>(); }
  on_drop_entry drop_entry() noexcept { return apply<rule::drop_entry, is_queued>(); }
  /// A joiner that holds the handle's reference.
  on_claim claim() noexcept { return apply<rule::claim>(); }

  /// The running thread. Nothing of the task may be touched after `parked`.
  on_suspend suspend() noexcept { return apply<rule::suspend, is_running>(); }
  on_suspend yield() noexcept { return apply<rule::yield, is_running>(); }
  on_finish finish() noexcept { return apply<rule::finish, is_running>(); }
  /// As finish(), by the thread of the task that awaits this one and holds its handle.
  on_finish finish_in_place() noexcept { return apply<rule::finish_in_place, is_held_too>(); }
  on_shield shield_up() noexcept { return apply<rule::shield_up, is_running>(); }
  on_shield shield_down() noexcept { return apply<rule::shield_down, is_shielded>(); }
  on_shield begin_unwind() noexcept { return apply<rule::begin_unwind, is_running>(); }
  on_shield pause_unwind() noexcept { return apply<rule::pause_unwind, is_running>(); }
  on_shield end_unwind() noexcept { return apply<rule::end_unwind, is_running>(); }

  /// The owner of the handle.
  on_register join_register() noexcept { return apply<rule::join_register>(); }
  on_leave join_leave() noexcept { return apply<rule::join_leave>(); }
  on_drop_handle drop_handle() noexcept { return apply<rule::drop_handle>(); }

  /// Adds a reference. The caller holds one. The program ends long before the count could wrap.
  void retain() noexcept {
    // relaxed: the caller's own reference keeps the task alive. Counting publishes nothing.
    const snapshot before{word_.fetch_add(snapshot::one_ref, base::order::relaxed)};
    if (before.refs() >= snapshot::max_refs) [[unlikely]]
      ROTA_FATAL("task refcount overflow", before.bits);
    note(counted_up, before);
  }

  on_release release() noexcept {
    if (is_last_reference()) {
      // relaxed: no other thread reads it. A second drop of the same reference would read it, and ends the
      // program below.
      word_.store(word_.load(base::order::relaxed) - snapshot::one_ref, base::order::relaxed);
      return on_release::free;
    }
    // acq_rel: release: this thread's last use of the task happens before its destruction. acquire: the
    // thread that frees the task sees the last use of every other owner.
    const snapshot before{word_.fetch_sub(snapshot::one_ref, base::order::acq_rel)};
    if (before.refs() == 0) [[unlikely]]
      ROTA_FATAL("task reference dropped twice", before.bits);
    note(counted_down, before);
    return before.refs() == 1 ? on_release::free : on_release::kept;
  }

  /// Returns true if the task is complete and the caller's reference is the only one. No other thread can
  /// find the task any more, so the word needs no write.
  [[nodiscard]] bool is_last_reference() const noexcept {
    // acquire: pairs with the release of every other owner: the caller sees their last uses.
    const snapshot seen{word_.load(base::order::acquire)};
    return seen.refs() == 1 && seen.is(lifecycle::complete);
  }

  [[nodiscard]] snapshot load() const noexcept {
    // acquire: pairs with finish(): a thread that sees `complete` sees the outcome.
    return snapshot{word_.load(base::order::acquire)};
  }

  /// Tests only: counts up as if `count` more references existed.
  void force_references(std::uint64_t count) noexcept {
    // relaxed: no other thread runs meanwhile.
    word_.fetch_add(count * snapshot::one_ref, base::order::relaxed);
  }

 private:
  static constexpr bool is_any(snapshot /*s*/) noexcept { return true; }
  static constexpr bool is_queued(snapshot s) noexcept { return s.has(queued); }
  static constexpr bool is_running(snapshot s) noexcept { return s.is(lifecycle::running); }
  static constexpr bool is_held_too(snapshot s) noexcept {
    return is_running(s) && s.refs() >= 2 && !s.has(detached) && !s.has(join_interest);
  }
  static constexpr bool is_shielded(snapshot s) noexcept { return is_running(s) && s.shields() > 0; }

  /// Runs one rule to completion: the only compare-exchange loop on a task word. Lock-free: in each round
  /// some thread's exchange succeeds.
  template <auto Rule, auto Legal = is_any>
  auto apply() noexcept -> decltype(Rule(snapshot{}).duty) {
    // relaxed: a guess; the compare-exchange below decides.
    snapshot seen{word_.load(base::order::relaxed)};
    for (;;) {
      if (!is_legal(seen) || !Legal(seen)) [[unlikely]]
        ROTA_FATAL("task word does not allow this transition", seen.bits);
      const auto [next, duty] = Rule(seen);
      ROTA_ASSERT(valid(next));
      ROTA_ASSERT(keeps_the_end(seen, next));
      // acq_rel, even if next == seen: release: what a waker did before wake() is seen by the run that
      // follows, also if the task was runnable already. acquire: a run sees that, and the frames as the last
      // run left them; a joiner sees the outcome. failure: relaxed: the reloaded word is again only a guess.
      if (word_.compare_exchange_weak(seen.bits, next.bits, base::order::acq_rel, base::order::relaxed)) {
        note(reinterpret_cast<void (*)()>(Rule), seen);
        return duty;
      }
    }
  }

#if ROTA_MODEL
  static void note(void (*rule)(), snapshot from) noexcept {
    if (transition_seen != nullptr) transition_seen(rule, from);
  }
#else
  static void note(void (* /*rule*/)(), snapshot /*from*/) noexcept {}
#endif

  base::atomic<std::uint64_t> word_;
};

static_assert(sizeof(state) == 8, "the word is the whole state");

}  // namespace rota::core
