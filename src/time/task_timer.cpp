#include <rota/detail/task_timer.hpp>

#include "task/header.hpp"
#include "time/shard.hpp"

#include <new>
#include <utility>

namespace rota::timing {

namespace {

timer_node& node_in(std::byte* room) noexcept { return *std::launder(reinterpret_cast<timer_node*>(room)); }
const timer_node& node_in(const std::byte* room) noexcept {
  return *std::launder(reinterpret_cast<const timer_node*>(room));
}

}  // namespace

void task_timer::arm(core::activation& task, time_point at, waker due) noexcept {
  static_assert(sizeof(timer_node) <= room && alignof(timer_node) <= alignof(task_timer));
  if (!is_used_) ::new (static_cast<void*>(node_)) timer_node;
  is_used_ = true;
  core::scheduler& by = *core::header_of(task).owner;
  const arm_result armed = by.ops->timer_shard(by).arm(node_in(node_), at, std::move(due));
  if (armed.duty == on_arm::announce_earlier) by.ops->deadline_moved(by, armed.earliest);
}

bool task_timer::has_fired() const noexcept {
  return is_used_ && node_in(node_).state() == node_state::fired;
}

void task_timer::disarm() noexcept {
  if (is_used_) static_cast<void>(shard::cancel(node_in(node_)));
}

void task_timer::destroy() noexcept { node_in(node_).~timer_node(); }

base::time_point now_for(core::activation& task) noexcept {
  const core::scheduler& by = *core::header_of(task).owner;
  return by.ops->now(by);
}

}  // namespace rota::timing
