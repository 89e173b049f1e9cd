#include <rota/detail/loop_pace.hpp>

#include "task/header.hpp"
#include "task/unwinder.hpp"

#include <rota/detail/fork_group.hpp>

#include <algorithm>

namespace rota::core {

namespace {

// A check costs 50 ns, and waking a thread 30 us.
constexpr std::int64_t shortest = 1'000;
constexpr std::int64_t longest = 4'000;
constexpr std::int64_t worth_a_thread = 8'000;

/// Returns the time of the task's scheduler. Where that is virtual, a loop runs the same way each time.
std::int64_t now_in_ns() noexcept {
  const header* const me = task_around();
  return me == nullptr ? 0 : base::nanoseconds(me->owner->ops->now(*me->owner).time_since_epoch()).count();
}

/// Returns true if a thread that looks for work would find none with this worker. Thieves look at the ring
/// first.
bool has_nothing_for_others(const fork_context& here) noexcept {
  return here.waiting.is_empty() && !here.by->ops->has_waiting(*here.by);
}

}  // namespace

bool is_called_off() noexcept {
  if (fork_context* const here = forks_of_thread(); here != nullptr && here->waiting.is_called())
    return here->waiting.look_again().called;
  header* const me = task_around();
  return me != nullptr && unwinder::is_due(*me);
}

void loop_pace::begin() noexcept {
  if (!is_given_) began_ = now_in_ns();
}

// A fork is a suspension, too: there the part notices what is_called_off() would return.
bool loop_pace::wants_split(std::size_t left) const noexcept {
  if (left <= items_) return false;
  const fork_context* const here = forks_of_thread();
  // Without a fork context no part can wait here for a thief. All parts are tasks, and these go to threads
  // that have one.
  if (here == nullptr) return true;
  return is_known_ && has_nothing_for_others(*here);
}

loop_pace::step loop_pace::first_look(std::size_t left) noexcept {
  begin();
  return is_known_ && wants_split(left) ? step::split : step::go_on;
}

loop_pace::step loop_pace::look(std::size_t left) noexcept {
  if (!is_given_) learn();
  if (wants_split(left)) return step::split;
  return is_called_off() ? step::suspend : step::go_on;
}

void loop_pace::learn() noexcept {
  const std::int64_t now = now_in_ns();
  const std::int64_t took = now - began_;
  began_ = now;
  spent_ = std::min(spent_ + took, worth_a_thread);
  is_known_ = spent_ == worth_a_thread;
  if (took < shortest) {
    items_ *= 2;
  } else if (took > longest) {
    // As many as will take the longest time, if the next items are like these.
    const auto share = static_cast<std::size_t>(took / longest) + 1;
    items_ = std::max<std::size_t>(items_ / share, 1);
  }
}

}  // namespace rota::core
