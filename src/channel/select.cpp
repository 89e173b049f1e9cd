#include <rota/detail/select_core.hpp>
#include <rota/detail/select_list.hpp>

#include "base/drawn_order.hpp"
#include "base/uninitialized.hpp"
#include "task/header.hpp"

#include <rota/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::channel::detail {

namespace {

/// The budget while cases are started. Each case is tried, so each must find two operations left: with fewer
/// it would give the turn up. A case counts no operation, since the select counts as one. What a case has
/// charged for bytes stays charged, even if it did not win: a write of many parts may have moved some before
/// it had to wait. A charge leaves two operations, so a select that has won never gives the turn up with its
/// value.
class budget_of_cases {
 public:
  explicit budget_of_cases(core::activation& task) noexcept : task_(&task), before_(task.budget) {
    task.budget = std::max(before_, least_for_a_case);
  }
  budget_of_cases(const budget_of_cases&) = delete;
  budget_of_cases& operator=(const budget_of_cases&) = delete;
  /// A leaf that counts an operation of its own may have left less than two. With fewer than two before,
  /// nothing was charged.
  ~budget_of_cases() { task_->budget = std::min(before_, std::max(task_->budget, least_for_a_case)); }

 private:
  static constexpr unsigned char least_for_a_case = 2;
  core::activation* task_;
  unsigned char before_;
};

}  // namespace

void demand_a_case(bool is_there) {
  if (!is_there) throw std::invalid_argument("channel::select: no case is enabled");
}

void demand_few_cases(std::size_t count) {
  if (count <= select_core::most_cases) return;
  throw std::invalid_argument("channel::select: the list has " + std::to_string(count) +
                              " cases: must be at most " + std::to_string(select_core::most_cases));
}

bool select_core::start() {
  phase_ = phase::untried;
  started_ = 0;
  is_ending_ = false;
  winner_ = none;
  failure_ = nullptr;
  bool any = false;
  for (leaf* const each : cases_) any = any || each != nullptr;
  demand_a_case(any);
  check_cases();
  if (task().budget > 1) [[likely]]
    return start_cases();
  task().why = core::stop_reason::yield;
  return false;
}

/// S6. There are at most 64 cases, so pairs are compared.
void select_core::check_cases() {
  ROTA_UNINITIALIZED std::array<const void*, most_cases> waited_for;
  auto end = waited_for.begin();
  for (leaf* const each : cases_) {
    if (each == nullptr) continue;
    each->bind(task());
    const void* const alone = each->check_beside();
    if (alone == nullptr) continue;
    if (std::find(waited_for.begin(), end, alone) != end) {
      throw error(errc::already_joined, "two cases of a select wait for the same");
    }
    *end++ = alone;
  }
}

/// A case that would let other tasks run first, such as a sleep of zero length, is polled after they have
/// run.
bool select_core::start_cases() {
  const budget_of_cases section(task());
  core::scheduler& by = *core::header_of(task()).owner;
  if (order_ == order_of_cases::drawn) draw_ = by.ops->draw(by);
  phase_ = phase::begun;
  bool is_polite = false;
  task().why = core::stop_reason::none;
  try {
    base::drawn_order drawn(cases_.size(), draw_);
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      const std::size_t i = order_ == order_of_cases::drawn ? drawn.next() : k;
      if (cases_[i] == nullptr) continue;
      at(i).bind(task());
      if (at(i).start_beside()) return win(i);
      started_ |= bit(i);
      is_polite = is_polite || task().why == core::stop_reason::yield;
      task().why = core::stop_reason::none;
    }
  } catch (...) {
    let_lose(none);
    throw;
  }
  if (is_polite) task().why = core::stop_reason::yield;
  return false;
}

bool select_core::win(std::size_t winner) noexcept {
  let_lose(winner);
  winner_ = winner;
  phase_ = phase::won;
  return true;
}

void select_core::let_lose(std::size_t winner) noexcept {
  for (std::uint64_t left = std::exchange(started_, 0); left != 0; left &= left - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(left));
    if (i != winner) at(i).lose();
  }
}

bool select_core::is_ready() noexcept {
  if (phase_ == phase::won) return true;
  if (phase_ == phase::untried) {
    try {
      if (start_cases()) return true;
    } catch (...) {
      failure_ = std::current_exception();
      phase_ = phase::won;
      return true;
    }
  }
  // A new order for each poll, from the same draw.
  if (order_ == order_of_cases::drawn) draw_ = base::random(draw_).next();
  base::drawn_order drawn(cases_.size(), draw_);
  for (std::size_t k = 0; k < cases_.size(); ++k) {
    const std::size_t i = order_ == order_of_cases::drawn ? drawn.next() : k;
    if ((started_ & bit(i)) != 0 && at(i).is_ready()) return win(i);
  }
  return false;
}

std::size_t select_core::winner() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return winner_;
}

cancel_progress select_core::try_cancel(cancel_reason reason) noexcept {
  reason_ = reason;
  // The case that has won has only its end left; the others have lost already.
  if (phase_ == phase::won && winner_ != none) started_ |= bit(winner_);
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (cases_[i] != nullptr && at(i).begin_cancel(reason)) started_ |= bit(i);
  }
  phase_ = phase::ends;
  return end_cases() ? cancel_progress::ended : cancel_progress::pending;
}

/// Comes before try_cancel().
void select_core::announce_cancel() noexcept {
  for (leaf* const each : cases_) {
    if (each == nullptr) continue;
    // A case behind the one that has won was not started.
    each->bind(task());
    each->announce_cancel();
  }
}

bool select_core::cancel_ended() noexcept { return end_cases(); }

bool select_core::is_discardable() noexcept {
  return failure_ == nullptr && winner_ != none && at(winner_).is_discardable();
}

/// Ends one case after the other: a task can wait for the end of only one other task at a time.
bool select_core::end_cases() noexcept {
  for (; started_ != 0; started_ &= started_ - 1) {
    leaf& next = at(static_cast<std::size_t>(std::countr_zero(started_)));
    const bool is_new = !std::exchange(is_ending_, true);
    const bool may_be_pending = !is_new || next.try_cancel(reason_) == cancel_progress::pending;
    if (may_be_pending && !next.cancel_ended()) return false;
    is_ending_ = false;
  }
  return true;
}

}  // namespace rota::channel::detail
