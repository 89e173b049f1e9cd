#include <rota/detail/loop_pace.hpp>

#include "base/clock.hpp"
#include "task/header.hpp"

#include <rota/detail/fork_group.hpp>

namespace rota::core {

namespace {

// To wake a thread costs 30 us, and to look around 0.05.
constexpr std::int64_t shortest = 8'000;
constexpr std::int64_t longest = 32'000;

std::int64_t now_in_ns() noexcept { return base::nanoseconds(base::now().time_since_epoch()).count(); }

}  // namespace

bool is_called_off() noexcept {
  if (fork_context* const here = forks_of_thread(); here != nullptr && here->waiting.is_called())
    return here->waiting.look_again().called;
  const header* const me = task_around();
  return me != nullptr && me->word.load().cancel_due();
}

void loop_pace::begin() noexcept {
  if (!is_given_) began_ = now_in_ns();
}

loop_pace::step loop_pace::look(std::size_t left) noexcept {
  if (!is_given_) learn();
  if (is_called_off()) return step::suspend;
  if (left <= items_) return step::go_on;
  const fork_context* const here = forks_of_thread();
  // Where nothing can lie for others, all parts are tasks, and these go where something can.
  if (here == nullptr) return step::split;
  return is_known_ && here->waiting.is_empty() ? step::split : step::go_on;
}

void loop_pace::learn() noexcept {
  const std::int64_t now = now_in_ns();
  const std::int64_t took = now - began_;
  began_ = now;
  if (took < shortest) {
    items_ *= 2;
    return;
  }
  is_known_ = true;
  if (took > longest && items_ > 1) items_ /= 2;
}

}  // namespace rota::core
