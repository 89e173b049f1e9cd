// What the frames of a running task share: the part of a task's header that templates need.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include <rota/cancel_reason.hpp>
#include <rota/detail/base.hpp>
#include <rota/detail/chrono.hpp>

namespace rota {
class leaf;
}

namespace rota::core {

struct fork_context;
struct local_node;
class promise_base;
class region;
class timed_region;

/// Why the frames returned to the trampoline.
enum class stop_reason : unsigned char {
  none,      // they did not
  bounce,    // only to keep the stack from growing: `innermost` goes on at once
  leaf,      // the innermost frame waits for a leaf
  yield,     // the task wants to go on after other tasks; if it waits for a leaf, the leaf is then asked
  turn,      // as `yield`, but it waits for nothing
  join,      // the task awaits a task that it may run itself: `join_target`
  finished,  // the root frame is at its end
  unwind,    // a clean-up is done: the interrupted unwinding goes on
};

/// Ready leaf operations that a task may perform before it must yield.
inline constexpr unsigned char leaf_budget = 128;
/// An operation that moves more than this counts as several.
inline constexpr std::size_t bytes_per_operation = std::size_t{16} << 10U;

/// What frames that run one inside the other share, whether they belong to a task or not yet. A child that a
/// group runs in its parent's place has a strand at the place where its header will be, if it ever needs one.
/// Used only by the thread that runs it.
struct strand {
  // In place: the context in which its frames fork. Of a task: the context in which it forked last, set at
  // the fork. A thread that cancels the task calls there.
  base::atomic<fork_context*> forks;
  base::cell<promise_base*> innermost;  // the frame that goes on next
  stop_reason why = stop_reason::none;
  unsigned char transfers = 0;
  bool in_place = false;
  unsigned char budget = leaf_budget;  // of a task only
};

/// Owned by the thread that runs the task, except where a field says otherwise.
struct activation : strand {
  std::uint32_t birth = 0;    // its entry among the births of its scheduler, counted from 1; 0: none
  base::cell<leaf*> waiting;  // the leaf that it waits for; null before the first run
  // for reports: a std::source_location of the innermost co_await, as its one pointer
  base::atomic<const void*> where;
  region* regions = nullptr;  // shields, deadlines and catchers in force, innermost first
  // bindings of task_locals in force, innermost first; tasks that this one spawns inherit them
  local_node* locals = nullptr;
  base::atomic<cancel_reason> reason;  // written by the cancelling thread, before the word's transition
  bool limited = false;                // a time_limit is in force in this task itself
  std::uint16_t shard = not_enrolled;  // of the registry, under its lock
  // under the lock of join.cpp: the task unwinds, and waits for the end of the task that it joined
  base::cell<bool> waits_out;
  // A cancellation was requested, or will be as soon as every task that it reaches (of a family, of a
  // registry) has been told of it. Any thread sets it; it is never cleared.
  base::atomic<bool> announced;
  // The task may have to stop although its word does not say so. Regions or a deadline are in force; or the
  // task is in no registry, so that a shutdown does not find it; or what it awaited here has just been
  // cancelled. Only the owner uses it.
  bool watched = true;

  static constexpr std::uint16_t not_enrolled = 0xFFFF;

  /// Returns false if nothing can have asked the task to stop. A cancellation is announced before it has
  /// effects, so the owner gets true if it asks after it has seen such an effect.
  [[nodiscard]] bool may_have_to_stop() const noexcept {
    // relaxed: the effect that the owner has seen orders the announcement before this load.
    return watched || announced.load(base::order::relaxed);
  }

  void note_site(std::source_location here) noexcept {
    // relaxed: what it points to is constant.
    where.store(__builtin_bit_cast(const void*, here), base::order::relaxed);
  }

  activation() = default;
  activation(const activation&) = delete;
  activation& operator=(const activation&) = delete;
  ~activation() = default;
};

/// Makes a task of a child that runs in place, and of every child in place around it.
ROTA_API void promote(strand& running) noexcept;

/// Returns the task that these running frames belong to.
[[nodiscard]] inline activation& task_of(strand& running) noexcept {
  if (running.in_place) [[unlikely]]
    promote(running);
  return static_cast<activation&>(running);
}

#if defined(__clang__)
/// Returns the handle to jump to. clang turns a transfer into a jump at every optimisation level and under
/// every sanitizer.
template <class Promise>
std::coroutine_handle<> transfer(strand& /*running*/, Promise& to) noexcept {
  return to.handle();
}
#else
/// Returns the handle to jump to. g++ turns a transfer into a jump only when it optimises, and never under
/// ASan or TSan. So every 64th transfer goes through the trampoline.
inline constexpr unsigned char most_transfers = 64;
template <class Promise>
std::coroutine_handle<> transfer(strand& running, Promise& to) noexcept {
  if (++running.transfers < most_transfers) return to.handle();
  running.innermost.set(&to);
  running.why = stop_reason::bounce;
  return std::noop_coroutine();
}
#endif

/// A stretch of a task's execution with a rule of its own: a shield, a deadline, a scope, a catcher of
/// cancellation. Lives in a frame of the task; linked while in force. Only the thread that runs the task
/// touches it.
class ROTA_API region {
 public:
  enum class kind : unsigned char { shield, deadline, scope, catcher };

  region(kind k, activation& task, promise_base* frame) noexcept;
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Returns true if the limit of this shield or this deadline has passed, or if a child of this scope has
  /// failed.
  [[nodiscard]] virtual bool passed() noexcept { return false; }
  /// Arranges that the task is woken when passed() becomes true. Called when it is false and the task is
  /// about to wait.
  virtual void watch() noexcept {}
  /// Announces the cancel to the tasks that will be cancelled. Called before the task unwinds through this
  /// region, and perhaps through others.
  virtual void announce_unwind() noexcept {}
  /// Called when the task begins to unwind through this region.
  virtual void on_unwind(cancel_reason /*reason*/) noexcept {}
  /// Called before the frames inside are destroyed. Returns false if a thread still uses them; that thread
  /// wakes the task later.
  [[nodiscard]] virtual bool may_unwind() noexcept { return true; }

  [[nodiscard]] kind what() const noexcept { return kind_; }
  [[nodiscard]] promise_base* frame() const noexcept { return frame_; }
  [[nodiscard]] region* outer() const noexcept { return outer_; }
  [[nodiscard]] region* inner() const noexcept { return inner_; }
  /// Returns a region that takes part in the task's deadline; null for other regions.
  [[nodiscard]] virtual timed_region* as_timed() noexcept { return nullptr; }
  /// Returns true for a deadline or a scope: the work inside is given up when passed() returns true.
  [[nodiscard]] bool may_give_up() const noexcept { return kind_ == kind::deadline || kind_ == kind::scope; }
  /// Returns true if it holds off cancellation and the deadlines around it: a shield, or a catcher while its
  /// clean-up runs.
  [[nodiscard]] bool is_shielding() const noexcept { return kind_ == kind::shield || holds_shield_; }
  [[nodiscard]] activation& task() const noexcept { return *task_; }
  /// Returns true if unwinding stopped here: a deadline's work was abandoned, or a catcher's body was
  /// cancelled.
  [[nodiscard]] bool stopped_here() const noexcept { return stopped_here_; }
  [[nodiscard]] cancel_reason reason() const noexcept { return reason_; }
  /// Returns the deadline at this place that the task's own regions make: this one, and those around it. The
  /// deadline that the task has inherited does not count.
  [[nodiscard]] std::chrono::steady_clock::time_point own_deadline() const noexcept { return own_deadline_; }

 protected:
  ~region();                                                  // unlinks
  void link(activation& task, promise_base* frame) noexcept;  // makes it the innermost region
  void relink(region& from) noexcept;  // takes the place of `from`, which leaves the list
  void unlink() noexcept;
  [[nodiscard]] bool is_linked() const noexcept { return linked_; }
  /// Resets the flags when the same awaitable is awaited a second time.
  void forget_past() noexcept { stopped_here_ = overridden_ = false; }
  /// Of a catcher: ends the clean-up. Gives its shield back and returns the target of the interrupted
  /// unwinding.
  region* release_catch() noexcept;
  /// Makes a region that is linked later.
  explicit region(kind k) noexcept : kind_(k), linked_(false) {}

 private:
  friend class timed_region;
  friend class unwinder;

  activation* task_ = nullptr;
  region* outer_ = nullptr;
  region* inner_ = nullptr;
  promise_base* frame_ = nullptr;
  region* saved_target_ = nullptr;  // catcher: the target of the interrupted unwinding
  std::chrono::steady_clock::time_point own_deadline_{};
  kind kind_;
  bool is_target_ = false;  // the target of the current or interrupted unwinding
  bool stopped_here_ = false;
  bool overridden_ = false;    // shield: its limit has passed, and this was acted upon
  bool holds_shield_ = false;  // catcher: its clean-up runs under a shield of this region
  bool linked_ = true;
  cancel_reason reason_ = cancel_reason::none;
};

/// Returns the deadline at the innermost place of the task that its own regions make.
[[nodiscard]] inline std::chrono::steady_clock::time_point own_deadline(const activation& task) noexcept {
  return task.regions == nullptr ? std::chrono::steady_clock::time_point::max()
                                 : task.regions->own_deadline();
}

}  // namespace rota::core
