// What the frames of a running task share: the part of a task's header that templates need.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include <rota/cancel_reason.hpp>
#include <rota/detail/base.hpp>

namespace rota {
class leaf;
}

namespace rota::core {

struct fork_context;
struct local_node;
class promise_base;
class region;
class timed_region;

/// Why the frames gave the thread back to the trampoline.
enum class stop_reason : unsigned char {
  none,      // they did not
  bounce,    // only so that the stack does not grow: `innermost` goes on at once
  leaf,      // the innermost frame waits for a leaf
  yield,     // it wants to go on, but others come first; a leaf that it waits for is asked then
  turn,      // the same, and it waits for nothing
  join,      // it awaits a task that it may run itself; `join_target` says which
  finished,  // the root frame is at its end
  unwind,    // a clean-up is done: the interrupted unwinding goes on
};

/// Ready leaf operations that a task may perform before it must yield.
inline constexpr unsigned char leaf_budget = 128;
/// An operation that moves more than this counts as several.
inline constexpr std::size_t bytes_per_operation = std::size_t{16} << 10U;

/// What frames that run one inside the other share, whether they are a task or not yet: a child that a group runs in its
/// parent's place has this, at the place where its header will be if it ever needs one. Only the thread that runs it.
struct strand {
  // In place: where its frames fork. A task sets it when it forks, to where it did last: whoever cancels it calls there.
  base::atomic<fork_context*> forks;
  base::cell<promise_base*> innermost;  // the frame that goes on next
  stop_reason why = stop_reason::none;
  unsigned char transfers = 0;
  bool in_place = false;
  unsigned char budget = leaf_budget;  // a task's
};

/// Owned by the thread that runs the task, but for the fields that say otherwise.
struct activation : strand {
  std::uint32_t birth = 0;    // its entry among the births of its scheduler, from 1 on; 0: none
  base::cell<leaf*> waiting;  // what it waits for; null before the first run
  base::atomic<const void*>
      where;  // for reports: a std::source_location of the innermost co_await, as its one pointer
  region* regions = nullptr;  // shields, deadlines and catchers in force, innermost first
  local_node* locals =
      nullptr;  // bindings of task_locals in force, innermost first; inherited by the tasks that this one spawns
  base::atomic<cancel_reason> reason;  // written by whoever cancels, before the word's transition
  bool limited = false;                // a time_limit is in force in this task itself
  std::uint16_t shard = not_enrolled;  // the registry's, under its lock
  base::cell<bool>
      waits_out;  // under the lock of join.cpp: it unwinds, and waits for the end of the task it joined
  // A cancellation was requested, or will be as soon as every task that it reaches has been told so: a family, a registry. Any thread; never cleared.
  base::atomic<bool> announced;
  // The task may have to stop although its word does not say so: regions are in force, or a deadline, or it is in no registry, so that a
  // shutdown does not find it; or what it awaited here has just been cancelled. The owner's.
  bool watched = true;

  static constexpr std::uint16_t not_enrolled = 0xFFFF;

  /// Returns false if nothing can have asked the task to stop. A cancellation is announced before it has effects. So the owner gets true
  /// if it asks after it has seen such an effect.
  [[nodiscard]] bool may_have_to_stop() const noexcept {
    // relaxed. What was seen of the end orders it.
    return watched || announced.load(base::order::relaxed);
  }

  void note_site(std::source_location here) noexcept {
    // relaxed. What it points to is constant.
    where.store(__builtin_bit_cast(const void*, here), base::order::relaxed);
  }

  activation() = default;
  activation(const activation&) = delete;
  activation& operator=(const activation&) = delete;
  ~activation() = default;
};

/// A child that runs in place becomes a task of its own, and so does every one around it.
ROTA_API void promote(strand& running) noexcept;

/// The task that these frames belong to. They run now.
[[nodiscard]] inline activation& task_of(strand& running) noexcept {
  if (running.in_place) [[unlikely]]
    promote(running);
  return static_cast<activation&>(running);
}

#if defined(__clang__)
/// clang turns a transfer into a jump at every optimisation level and under every sanitizer.
template <class Promise>
std::coroutine_handle<> transfer(strand& /*running*/, Promise& to) noexcept {
  return to.handle();
}
#else
/// g++ does so only when it optimises, and never under ASan or TSan: bounce off the trampoline now and then.
inline constexpr unsigned char most_transfers = 64;
template <class Promise>
std::coroutine_handle<> transfer(strand& running, Promise& to) noexcept {
  if (++running.transfers < most_transfers) return to.handle();
  running.innermost.set(&to);
  running.why = stop_reason::bounce;
  return std::noop_coroutine();
}
#endif

/// A stretch of a task's execution with a rule of its own: a shield, a deadline, a scope, a catcher of cancellation.
/// Lives in a frame of the task; linked while in force. Only the thread that runs the task touches it.
class ROTA_API region {
 public:
  enum class kind : unsigned char { shield, deadline, scope, catcher };

  region(kind k, activation& task, promise_base* frame) noexcept;
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Has the limit of this shield, or this deadline, passed? Has a child of this scope failed?
  [[nodiscard]] virtual bool passed() noexcept { return false; }
  /// It has not, and the task is about to wait: sees to it that the task is woken when it has.
  virtual void watch() noexcept {}
  /// The task is about to begin to unwind through this region, and perhaps through others: tells those that will be cancelled.
  virtual void announce_unwind() noexcept {}
  /// The task begins to unwind through this region.
  virtual void on_unwind(cancel_reason /*reason*/) noexcept {}
  /// The frames inside are about to be destroyed. False: somebody still uses them, and will wake the task.
  [[nodiscard]] virtual bool may_unwind() noexcept { return true; }

  [[nodiscard]] kind what() const noexcept { return kind_; }
  [[nodiscard]] promise_base* frame() const noexcept { return frame_; }
  [[nodiscard]] region* outer() const noexcept { return outer_; }
  [[nodiscard]] region* inner() const noexcept { return inner_; }
  /// A region that takes part in the task's deadline; null for others.
  [[nodiscard]] virtual timed_region* as_timed() noexcept { return nullptr; }
  /// A deadline or a scope: what happens inside is given up when passed() says so.
  [[nodiscard]] bool may_give_up() const noexcept { return kind_ == kind::deadline || kind_ == kind::scope; }
  /// Holds off the deadlines around it, and cancellation: a shield, or a catcher whose clean-up runs.
  [[nodiscard]] bool is_shielding() const noexcept { return kind_ == kind::shield || holds_shield_; }
  [[nodiscard]] activation& task() const noexcept { return *task_; }
  /// Unwinding stopped here: a deadline's work was abandoned, or a catcher's body was cancelled.
  [[nodiscard]] bool stopped_here() const noexcept { return stopped_here_; }
  [[nodiscard]] cancel_reason reason() const noexcept { return reason_; }

 protected:
  ~region();                                                  // unlinks
  void link(activation& task, promise_base* frame) noexcept;  // becomes the innermost
  void relink(region& from) noexcept;  // takes the place of `from`, which leaves the list
  void unlink() noexcept;
  [[nodiscard]] bool is_linked() const noexcept { return linked_; }
  /// What is awaited a second time begins anew.
  void forget_past() noexcept { stopped_here_ = overridden_ = false; }
  /// Catcher: the clean-up is over. Gives its shield back and returns where the unwinding was going.
  region* release_catch() noexcept;
  /// For a region that is linked later.
  explicit region(kind k) noexcept : kind_(k), linked_(false) {}

 private:
  friend class unwinder;

  activation* task_ = nullptr;
  region* outer_ = nullptr;
  region* inner_ = nullptr;
  promise_base* frame_ = nullptr;
  region* saved_target_ = nullptr;  // catcher: where the interrupted unwinding was going
  kind kind_;
  bool is_target_ = false;  // the unwinding that goes on, or was interrupted, ends here
  bool stopped_here_ = false;
  bool overridden_ = false;    // shield: its limit has passed and was acted upon
  bool holds_shield_ = false;  // catcher: the clean-up runs under a shield of this region
  bool linked_ = true;
  cancel_reason reason_ = cancel_reason::none;
};

}  // namespace rota::core
