// Cancellation: destroying suspended frames from the leaf up.
#pragma once

#include "task/header.hpp"

#include <rota/leaf.hpp>

#include <optional>

namespace rota::core {

/// What may happen next to a task that this thread owns.
enum class [[nodiscard]] verdict : unsigned char {
  resume,    // its innermost frame goes on
  wait,      // nothing yet: suspend again
  finished,  // its last frame is gone
};

/// Unwinding goes from the innermost frame outward: the leaf is cancelled, and when nobody touches it any more its frame
/// is destroyed, then the frame that awaited it, and so on, without recursion: each promise knows the place in its
/// parent that owns it, which is emptied first. It stops at the root, at the frame whose deadline passed, or at a
/// catcher, which cleans up as ordinary code under a shield and then lets it go on.
class unwinder {
 public:
  /// Decides what a task that has just become `running` may do.
  static verdict look(header& task) noexcept {
    leaf* const waiting = task.waiting.get();
    if (task.word.load().has_one_of(cancelled, unwinding) || task.regions != nullptr) [[unlikely]]
      return look_closely(task, waiting);
    if (waiting == nullptr || task.why == stop_reason::turn) {
      if (task.birth != 0) task.owner->births[task.birth - 1].note_begun();
      return verdict::resume;
    }
    if (!waiting->is_ready()) return verdict::wait;
    if (task.may_have_to_stop() && waiting->is_discardable()) [[unlikely]]
      return look_closely(task, waiting);
    return verdict::resume;
  }
  /// The running task has seen that `seen` is ready. Returns true if that is an end, and a cause of it holds for the task, too: then the
  /// task suspends in the leaf, and is unwound at its next look.
  static bool must_not_go_on(header& task, leaf& seen) noexcept {
    if (!task.may_have_to_stop()) [[likely]]
      return false;
    return seen.is_discardable() && is_reached(task, seen);
  }
  /// Its innermost frame waits for a leaf, or lets others run first, with regions in force. `wait`: let it. A deadline that
  /// passed while the task ran is delivered here: its wake may be used up.
  static verdict before_wait(header& task) noexcept;
  static verdict before_yield(header& task) noexcept;
  /// A clean-up has ended: the unwinding that it interrupted goes on from the frame that ran it.
  static verdict go_on(header& task) noexcept;
  /// Where the unwinding that goes on is to end; null: nowhere. Marks the target, or leaves it with the catcher where the unwinding stops before.
  static void set_target(header& task, region* target) noexcept;
  /// The shields that are up no longer count, whatever shields come.
  static void keep_overridden(header& task) noexcept;
  /// Destroys every frame that is left, without asking anybody: the task never ran.
  static void destroy_unstarted(header& task) noexcept;

  /// Would a suspension be delivered a cancellation now? The task runs on this thread.
  static bool is_due(header& task) noexcept;
  /// A function that cannot suspend has ended, since what it waited for was cancelled. Returns why its task is cancelled, too; none: it is not.
  static cancel_reason reason_now(header& task) noexcept;
  /// A deadline around this place has passed.
  static bool has_passed_deadline(const header& task) noexcept;

 private:
  /// How a cancellation of the task itself stands.
  enum class standing : unsigned char {
    free,       // there is none, or a shield holds it off
    announced,  // it is not there yet: it comes for certain, and wakes the task
    due,
  };

  static bool is_reached(header& task, const leaf& seen) noexcept;
  static standing standing_of(const header& task) noexcept;
  static verdict look_closely(header& task, leaf* waiting) noexcept;
  static verdict begin_cancelled(header& task) noexcept;
  static std::optional<verdict> stop_if_reached(header& task, const leaf& seen) noexcept;
  static void catch_up(header& task) noexcept;
  static base::time_point inherited_deadline(const header& task) noexcept;
  static bool is_held_off_by_parent(const header& task) noexcept;
  static region* region_that_is_over(header& task, const leaf& seen) noexcept;
  static bool must_begin(header& task) noexcept;
  static bool is_held_off_for_good(const header& task) noexcept;
  static void note_limits(header& task) noexcept;
  static region* passed_deadline(header& task) noexcept;
  static region* outermost_passed(region* from, const region* to) noexcept;
  static bool has_no_limit(region& shield) noexcept;
  static verdict begin(header& task, region* target, cancel_reason reason) noexcept;
  static verdict give_up(header& task, region& at) noexcept;
  static bool may_unwind(header& task) noexcept;
  static verdict advance(header& task) noexcept;
  static region* stop_at(header& task, const promise_base& frame) noexcept;
  static verdict stop(header& task, region& here) noexcept;
};

}  // namespace rota::core
