// Cancellation: destroys suspended frames from the leaf up.
#pragma once

#include "task/header.hpp"

#include <rota/leaf.hpp>

#include <optional>

namespace rota::core {

/// What the thread that owns a task does with it next.
enum class [[nodiscard]] verdict : unsigned char {
  resume,    // resume its innermost frame
  wait,      // suspend it again
  finished,  // end it: its last frame is destroyed
};

/// Unwinding goes from the innermost frame outward. The leaf is cancelled. When no thread uses the leaf any
/// more, its frame is destroyed, then the frame that awaited it, and so on. There is no recursion: each
/// promise knows the place in its parent that owns it, and that place is emptied first. Unwinding stops at
/// the root, at the frame of the region that is given up, or at a catcher. A catcher cleans up as ordinary
/// code under a shield, and then the unwinding goes on.
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
  /// Called when the running task has seen that `seen` is ready. Returns true if that is an end, and a cause
  /// of it holds for this task too. The task then suspends in the leaf, and is unwound at its next look.
  static bool must_not_go_on(header& task, leaf& seen) noexcept {
    if (!task.may_have_to_stop()) [[likely]]
      return false;
    return seen.is_discardable() && is_reached(task, seen);
  }
  /// Called when its innermost frame waits for a leaf, or lets other tasks run first, with regions in force.
  /// Returns `wait` to let it. A deadline that passed while the task ran is delivered here, because its wake
  /// may be consumed already.
  static verdict before_wait(header& task) noexcept;
  static verdict before_yield(header& task) noexcept;
  /// Continues the unwinding that a clean-up had interrupted, from the frame that ran the clean-up.
  static verdict go_on(header& task) noexcept;
  /// Sets the target of the unwinding; null: none. Marks the target, or stores it in the catcher at which the
  /// unwinding stops before.
  static void set_target(header& task, region* target) noexcept;
  /// Notes in the regions that the shields that are up no longer count, whatever shields come later.
  static void keep_overridden(header& task) noexcept;
  /// Destroys every frame of a task that never ran, without asking regions or leaves.
  static void destroy_unstarted(header& task) noexcept;

  /// Returns true if a suspension would be delivered a cancellation now. The task runs on this thread.
  static bool is_due(header& task) noexcept;
  /// Called by a function that cannot suspend, after the object it waited for was cancelled. Returns the
  /// reason if its task is cancelled too; otherwise none.
  static cancel_reason reason_now(header& task) noexcept;
  /// Returns true if a deadline around this place has passed.
  static bool has_passed_deadline(const header& task) noexcept;

 private:
  /// The state of a cancellation of the task itself.
  enum class standing : unsigned char {
    free,       // there is none, or a shield holds it off
    announced,  // announced but not delivered: it will arrive, and wake the task
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
  static void override_shields(header& task, region* from, const region* to) noexcept;
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
