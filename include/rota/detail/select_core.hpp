// What a select does with its cases, for any types of cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include <rota/leaf.hpp>

namespace rota::channel::detail {

// PROTOCOL: select
//   One leaf awaits several: each case is a leaf of its own, with a waker of the one task. The thread that
//   runs the task alone decides which case wins, in start() and is_ready(). Wakes only make it check.
//
//   phase      means
//   untried    the turn was given up before any case was started: nothing is taken, nothing waits
//   begun      the cases of started_ wait
//   won        winner_ is ready, and no other case waits
//   ends       cancelled: the cases of started_ must still end, the lowest of them next
//
//   S1  A case takes something only when start_beside() or is_ready() returns true. After that no further
//       case is asked, so one case has taken, and await_resume() delivers its value. Between that
//       return and await_resume() the task does not give up its turn, and is not cancelled.
//   S2  Before the task goes on, every other case has lost: a call or a grant to it has been passed to the
//       next in line.
//   S3  A select that is cancelled has taken nothing: the budget is checked before the first case is started.
//   S4  A case that loses ends at once. Only a case that is cancelled may have to be waited for: then nothing
//       was taken. The task of a handle is cancelled, and waited for, even if its case was not started.
//   S5  The order in which cases are started is drawn, and so is the order of each poll: all ready cases are
//       equally likely to win.
//   S6  A refusal does not depend on the draw. Before any case is started, and even if one of them is ready,
//       each case reports whether it may be started, and the object of which it must be the only waiter. If
//       two cases name the same object, the select throws; nothing was taken, and nothing waits.

enum class order_of_cases : unsigned char { drawn, as_written };

class ROTA_API select_core : public leaf {
 public:
  /// The number of bits in started_.
  static constexpr std::size_t most_cases = 64;
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  void announce_cancel() noexcept final;
  [[nodiscard]] bool cancel_ended() noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "select"; }

 protected:
  /// `cases` are in the awaiting frame; null: not enabled.
  select_core(std::span<leaf* const> cases, order_of_cases order) noexcept : cases_(cases), order_(order) {}
  ~select_core() = default;

  bool start() final;

  /// Called by await_resume(). Returns the index of the case that won. Rethrows what a case threw when it was
  /// started.
  [[nodiscard]] std::size_t winner();

 private:
  enum class phase : unsigned char { untried, begun, won, ends };

  [[nodiscard]] leaf& at(std::size_t i) const noexcept { return *cases_[i]; }
  [[nodiscard]] static std::uint64_t bit(std::size_t i) noexcept { return std::uint64_t{1} << i; }

  void check_cases();
  bool start_cases();
  void let_lose(std::size_t winner) noexcept;
  bool win(std::size_t winner) noexcept;
  bool end_cases() noexcept;

  std::span<leaf* const> cases_;
  std::uint64_t started_ = 0;
  std::uint64_t draw_ = 0;
  std::size_t winner_ = none;
  std::exception_ptr failure_;  // of a start after the turn was given up
  order_of_cases order_;
  phase phase_ = phase::untried;
  bool is_ending_ = false;  // the lowest case of started_ was asked to end
  cancel_reason reason_ = cancel_reason::none;
};

/// For a select without a task: throws `std::invalid_argument` if no case is enabled.
ROTA_API void demand_a_case(bool is_there);

}  // namespace rota::channel::detail
