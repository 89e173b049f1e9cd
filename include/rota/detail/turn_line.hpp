// The line of a strand: which task or thread has the turn, and which ones wait for it.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/error.hpp>
#include <rota/task.hpp>
#include <rota/time.hpp>

namespace rota::core {

// PROTOCOL: line of a strand
//   word_     busy 1 · waiting 2 · closed 4
//   owner_    the task or thread that has the turn; null: the turn is being handed over, or is free
//
//   enter    free -> busy, by compare-exchange. Otherwise, under the list's lock: the same, or the same step
//            sets `waiting` and the caller joins the list. If the strand is closed, the same step refuses the
//            caller.
//   finish   the same, and the step also sets `closed`. So the finisher is behind all that have entered.
//   leave    busy -> free, by compare-exchange, while there is no waiter. Otherwise, under the list's lock:
//            the first in line is granted the turn, and the word stays busy. So no caller overtakes.
//
//   T1  The word is busy exactly while a task or thread has the turn or is granted it.
//   T2  Under the lock: the list has waiters exactly while `waiting` is set, and then the word is busy.
//   T3  is_mine() finds its own value in owner_ only if the same task or thread has set it and not yet
//       cleared it. The two accesses are ordered by program order, and no other task or thread has that
//       value.
//   T4  With waiters the turn is given away only under the list's lock: see W5 of the wait list.
class ROTA_API turn_line {
 public:
  turn_line() noexcept = default;
  turn_line(const turn_line&) = delete;
  turn_line& operator=(const turn_line&) = delete;
  ~turn_line() {
    list_.end("a sync::strand was destroyed while a task or a thread waits for it");
    // relaxed: the destroying thread has made sure that all others are done.
    if ((word_.load(base::order::relaxed) & busy) != 0) [[unlikely]]
      end_in_use();
  }

  [[nodiscard]] wait_target entering() noexcept { return {&list_, this, &enter_rules}; }
  [[nodiscard]] wait_target finishing() noexcept { return {&list_, this, &finish_rules}; }
  /// Records the caller, which was granted the turn, as the owner: is_mine() is true for it from now on.
  void begin() noexcept;
  void end() noexcept;
  /// Returns true if the calling task has the turn, or the calling thread outside of a task.
  [[nodiscard]] bool is_mine() const noexcept;

  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return (guess() & closed) != 0; }
  [[nodiscard]] bool is_busy() const noexcept { return (guess() & busy) != 0; }

 private:
  static constexpr std::uint32_t busy = 1;
  static constexpr std::uint32_t waiting = 2;
  static constexpr std::uint32_t closed = 4;
  static const wait_rules enter_rules;
  static const wait_rules finish_rules;

  [[nodiscard]] std::uint32_t guess() const noexcept {
    // relaxed: a guess.
    return word_.load(base::order::relaxed);
  }
  bool take(std::uint32_t also) noexcept;
  on_join join(wait_section& section, wait_node& me, std::uint32_t also) noexcept;
  void give_up(const wait_section& section) noexcept;
  void give_back() noexcept;
  void give_back_slowly() noexcept;
  [[noreturn]] static void end_in_use() noexcept;

  base::atomic<std::uint32_t> word_{0};
  base::atomic<const void*> owner_{nullptr};
  wait_list list_;
};

/// Holds the turn, and ends it when destroyed. Empty if the code runs inside a turn that another object
/// holds.
class [[nodiscard]] turn {
 public:
  turn() noexcept = default;
  explicit turn(turn_line& of) noexcept : of_(&of) { of.begin(); }
  turn(turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  turn& operator=(turn&& other) noexcept {
    const turn old(std::move(*this));
    of_ = std::exchange(other.of_, nullptr);
    return *this;
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() {
    if (of_ != nullptr) of_->end();
  }

 private:
  turn_line* of_ = nullptr;
};

/// A task that waits for its turn.
class ROTA_DETAIL_AWAIT_IT ROTA_API turn_leaf final : public wait_leaf {
 public:
  explicit turn_leaf(turn_line& of) noexcept : wait_leaf(of.entering()), of_(&of) {}
  [[nodiscard]] turn await_resume() {
    if (ended_as() == wait_state::closed) throw error(errc::closed, "this strand is closed");
    return turn(*of_);
  }

 private:
  turn_line* of_;
};

/// A task that waits for the last turn.
class ROTA_DETAIL_AWAIT_IT ROTA_API last_turn_leaf final : public wait_leaf {
 public:
  explicit last_turn_leaf(turn_line& of) noexcept : wait_leaf(of.finishing()), of_(&of) {}
  void await_resume() noexcept { of_->end(); }

 private:
  turn_line* of_;
};

/// A place in the line for a task that does not run yet. Empty after a move.
class ROTA_API turn_place {
 public:
  /// Throws errc::closed, and `std::bad_alloc`.
  explicit turn_place(turn_line& of);
  turn_place(turn_place&& other) noexcept : of_(other.of_), node_(std::exchange(other.node_, nullptr)) {}
  turn_place& operator=(turn_place&&) = delete;
  turn_place(const turn_place&) = delete;
  turn_place& operator=(const turn_place&) = delete;
  ~turn_place();

 private:
  friend class place_leaf;
  static void free(wait_node* node) noexcept;

  turn_line* of_;
  wait_node* node_;  // from the frame allocator
};

/// The task has begun, and waits in its place.
class ROTA_DETAIL_AWAIT_IT ROTA_API place_leaf final : public leaf {
 public:
  explicit place_leaf(turn_place& at) noexcept : at_(&at) {}
  [[nodiscard]] bool is_ready() noexcept override;
  /// The destructor of the turn_place gives up the place.
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  /// The turn goes to the next in line, together with the place.
  [[nodiscard]] bool is_discardable() noexcept override { return true; }
  [[nodiscard]] const char* what() const noexcept override { return "strand post"; }
  [[nodiscard]] turn await_resume() noexcept;

 protected:
  bool start() override;

 private:
  turn_place* at_;
};

/// The result type of a function that runs on a strand. If it returns a task: the result of that task.
template <class R>
struct turn_result {
  using type = R;
};
template <class R>
  requires is_task<R>
struct turn_result<R> {
  using type = typename R::value_type;
};
template <class F, class... Args>
using turn_result_t = typename turn_result<std::invoke_result_t<F, Args...>>::type;
/// The same with a limit, as for timeout().
template <class R>
using turn_in_time_t = typename timed_result<R>::type;

/// Calls `f` and returns its result as a turn_in_time_t.
template <class R, class F>
turn_in_time_t<R> result_in_time(F&& f) {
  struct called {
    F& f;
    R await_resume() { return f(); }
  } now{f};
  return timed_result<R>::in_time(now);
}

}  // namespace rota::core
