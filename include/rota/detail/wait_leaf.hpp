// A task that waits in a wait_list.
#pragma once

#include <rota/detail/wait_list.hpp>
#include <rota/leaf.hpp>

namespace rota::core {

class wait_of_thread;

/// The leaf of every primitive that has wait_rules: a class derived from it adds `await_resume()`, which asks ended_as().
///
/// It tries, joins the list, tries again when it is called, and gives up when its task is cancelled: what was granted meanwhile goes
/// to the next in line. With its task's budget spent it lets others go first *before* it tries: who is cancelled there has taken
/// nothing.
///
/// Where a try is short, the derived class has it in its await_ready(), in the code of who awaits: `return try_here([...]);`.
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

  /// What a derived class must do each time that it is awaited comes before it, in one of its own.
  bool start() override;

  /// In await_ready(). `take`: as wait_rules::try_now. False: start() goes on.
  template <class Take>
  bool try_here(Take take) noexcept {
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

  /// The same for what may be the end of a task that was cancelled: see leaf::is_discardable(). If the task may have to stop, the answer
  /// is false, and start() says yes. Whether the task must stop is asked after that.
  template <class Take>
  bool try_end_here(Take take) noexcept {
    if (!try_here(take)) return false;
    if (!task().may_have_to_stop()) [[likely]]
      return true;
    attempt_ = attempt::granted;
    ++task().budget;  // suspend_in() counts it
    return false;
  }

  /// In await_resume(): granted or closed.
  [[nodiscard]] wait_state ended_as() const noexcept { return me_.state(); }
  /// Before the co_await, and in await_resume(): its own.
  [[nodiscard]] wait_node& node() noexcept { return me_; }

 private:
  friend class wait_of_thread;

  /// What start() and is_ready() find done.
  enum class attempt : unsigned char {
    none,
    in_vain,  // just now
    granted,  // by try_end_here()
    put_off,  // until the turn was given up
  };

  bool start_after(attempt before);
  bool try_now() noexcept;
  bool try_or_join() noexcept;
  bool join() noexcept;

  wait_target at_;
  attempt attempt_ = attempt::none;
  wait_node me_;
};

/// The same wait, of a thread that waits for one of several.
class wait_of_thread {
 public:
  explicit wait_of_thread(wait_leaf& leaf) noexcept : leaf_(&leaf) {}
  [[nodiscard]] const wait_target& at() const noexcept { return leaf_->at_; }
  [[nodiscard]] wait_node& me() const noexcept { return leaf_->me_; }

 private:
  wait_leaf* leaf_;
};

}  // namespace rota::core
