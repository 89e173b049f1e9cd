// A task that waits in a wait_list.
#pragma once

#include <rota/detail/wait_list.hpp>
#include <rota/leaf.hpp>

namespace rota::core {

class wait_of_thread;

/// The leaf of every primitive that has wait_rules. A derived class adds `await_resume()`, which calls
/// ended_as().
///
/// The leaf tries, joins the list, tries again when it is called, and gives up when its task is cancelled.
/// What was granted meanwhile goes to the next in line. If the budget of its task is spent, the task yields
/// *before* the leaf tries: a task that is cancelled there has taken nothing.
///
/// If a try is short, the derived class makes it in its await_ready(), inline in the awaiting coroutine:
/// `return try_here([...]);`.
class ROTA_API wait_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final {
    return me_.state() == wait_state::closed || (at_.rules->is_end != nullptr && at_.rules->is_end(at_.of));
  }
  [[nodiscard]] const char* what() const noexcept final { return at_.rules->what; }

 protected:
  explicit wait_leaf(const wait_target& at) noexcept : at_(at) { me_.of_thread = false; }
  ~wait_leaf() = default;

  /// A derived class with work to do at each await overrides start(), does that work, and then calls this
  /// one.
  bool start() override;

  /// For await_ready(). `take` is as wait_rules::try_now. If it returns false, start() goes on.
  template <class Take>
  [[gnu::always_inline]] bool try_here(Take take) noexcept {
    if (task().budget <= 1) [[unlikely]]
      return false;
    if (!take()) {
      attempt_ = attempt::in_vain;
      return false;
    }
    attempt_ = attempt::none;
    --task().budget;
    me_.set(wait_state::granted);
    return true;
  }

  /// The same for a wait of which the outcome may be an end that a cancellation has caused: see
  /// leaf::is_discardable(). If the task may have to stop, this returns false and start() returns true. The
  /// task checks after that whether it must stop.
  template <class Take>
  bool try_end_here(Take take) noexcept {
    if (!try_here(take)) return false;
    if (!task().may_have_to_stop()) [[likely]]
      return true;
    attempt_ = attempt::granted;
    ++task().budget;  // suspend_in() counts it
    return false;
  }

  /// For await_resume(). Returns granted or closed.
  [[nodiscard]] wait_state ended_as() const noexcept { return me_.state(); }
  /// Returns the node. The owner may use it before the co_await, and in await_resume().
  [[nodiscard]] wait_node& node() noexcept { return me_; }

 private:
  friend class wait_of_thread;

  /// What await_ready() or an earlier start() has left for start() and is_ready().
  enum class attempt : unsigned char {
    none,
    in_vain,  // a try has just failed
    granted,  // by try_end_here()
    put_off,  // until the task has yielded
  };

  bool start_after(attempt before);
  bool try_now() noexcept;
  bool try_or_join() noexcept;
  bool join() noexcept;

  wait_target at_;
  attempt attempt_ = attempt::none;
  wait_node me_;
};

/// Access to the same wait for a thread that waits for one of several.
class wait_of_thread {
 public:
  explicit wait_of_thread(wait_leaf& leaf) noexcept : leaf_(&leaf) {}
  [[nodiscard]] const wait_target& at() const noexcept { return leaf_->at_; }
  [[nodiscard]] wait_node& me() const noexcept { return leaf_->me_; }

 private:
  wait_leaf* leaf_;
};

}  // namespace rota::core
