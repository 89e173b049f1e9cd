// The line of a strand: whose turn it is, and who waits for it.
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
//   owner_    the task or thread whose turn it is; null: it is on its way, or there is none
//
//   enter    free -> busy, by compare-exchange; else, under the lock of the list: the same, or `waiting` is set in that step and the caller
//            joins the list. Closed: it is refused, by the same step.
//   finish   the same, but for `closed`, which it sets in that step. So whoever finishes is behind all that have entered.
//   leave    busy -> free, by compare-exchange while nobody waits. Else, under the lock of the list, the first is granted the turn, and the
//            word stays busy: nobody overtakes.
//
//   T1  Busy exactly while somebody has the turn or is granted it.
//   T2  Under the lock: somebody is in the list exactly while `waiting` is set, and then it is busy.
//   T3  owner_ is what asks who has set it, and not yet cleared it: on the same task or thread the two are in order by themselves, and
//       no other has that value.
//   T4  With waiters the turn is given away only under the list's lock: see W5 of the wait list.
class ROTA_API turn_line {
 public:
  turn_line() noexcept = default;
  turn_line(const turn_line&) = delete;
  turn_line& operator=(const turn_line&) = delete;
  ~turn_line() {
    list_.end("a sync::strand was destroyed while somebody waits for it");
    // relaxed. Who destroys it has seen to it that all others are done.
    if ((word_.load(base::order::relaxed) & busy) != 0) [[unlikely]]
      end_in_use();
  }

  [[nodiscard]] wait_target entering() noexcept { return {&list_, this, &enter_rules}; }
  [[nodiscard]] wait_target finishing() noexcept { return {&list_, this, &finish_rules}; }
  /// It is the caller's turn, who is granted it: from now on is_mine().
  void begin() noexcept;
  void end() noexcept;
  /// Whether the task, or the thread outside of one, that calls this has the turn.
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
    // relaxed. A guess.
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

/// Has the turn, and ends it. Empty: what runs here is in somebody's turn already.
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
  /// The place is given up by its own end.
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  /// The turn goes to the next in line with the place.
  [[nodiscard]] bool is_discardable() noexcept override { return true; }
  [[nodiscard]] const char* what() const noexcept override { return "strand post"; }
  [[nodiscard]] turn await_resume() noexcept;

 protected:
  bool start() override;

 private:
  turn_place* at_;
};

/// What a function of a strand's gives, with a task as its result.
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
/// The same with a limit: as timeout() has it.
template <class R>
using turn_in_time_t = typename timed_result<R>::type;

/// Of what `f` returns, which is called here.
template <class R, class F>
turn_in_time_t<R> result_in_time(F&& f) {
  struct called {
    F& f;
    R await_resume() { return f(); }
  } now{f};
  return timed_result<R>::in_time(now);
}

}  // namespace rota::core
