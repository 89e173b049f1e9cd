#include <rota/detail/thread_wait.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/tls_slot.hpp"
#include "task/thread_sleep.hpp"

#include <rota/detail/deadline.hpp>

namespace rota::core {

namespace {

// Reads nothing of the node: its thread may have gone on.
void wake_thread(void* word) noexcept {
  demand_unguarded();
  base::futex_wake(static_cast<const base::atomic<std::uint32_t>*>(word), 1);
}
constexpr waker_vtable thread_waker{
    wake_thread,
    wake_thread,
    [](void* word) noexcept { return word; },
    [](void*) noexcept {},
};

enum class if_forced : bool { ends, sleeps_on };

/// Sleeps until the node is no longer `waiting`. The node is in the list of `at`. Null: in any list; the
/// caller handles `called` itself.
on_sleep sleep_in(const wait_target* at, wait_node& me, base::time_point deadline, if_forced then) noexcept {
  const asleep section(me.word);
  for (;;) {
    const std::uint32_t seen = me.seen();
    const wait_state now = wait_node::state_in(seen);
    if (now == wait_state::called && at != nullptr) {
      me.wake = waker(&me.word, &thread_waker);
      wait_section list(*at->list);
      if (join_list(*at, list, me) != on_join::linked) return on_sleep::ended;
      continue;
    }
    if (now != wait_state::waiting) return on_sleep::ended;
    // After the word was read: it is raised after the order was given.
    if (then == if_forced::ends && section.is_forced()) return on_sleep::forced;
    if (base::this_thread_locals().waits.wait(me.word, seen, deadline) != base::wait_result::timed_out)
      continue;
    if (me.state() == wait_state::waiting) return on_sleep::timed_out;
  }
}

wait_end end_of(const wait_node& me) noexcept {
  return me.state() == wait_state::granted ? wait_end::granted : wait_end::closed;
}

on_sleep wait_alone(scheduler& alone,
                    const wait_target* at,
                    wait_node& me,
                    base::time_point deadline) noexcept {
  for (;;) {
    const wait_state now = me.state();
    if (now == wait_state::called && at != nullptr) {
      me.wake = waker(&me.word, &thread_waker);
      wait_section list(*at->list);
      if (join_list(*at, list, me) != on_join::linked) return on_sleep::ended;
    } else if (now != wait_state::waiting) {
      return on_sleep::ended;
    } else if (!run_another(alone, deadline)) {
      return on_sleep::timed_out;
    }
  }
}

on_sleep sleep(const wait_target* at, wait_node& me, base::time_point deadline, if_forced then) noexcept {
  scheduler* const alone = alone_here();
  return alone != nullptr ? wait_alone(*alone, at, me, deadline) : sleep_in(at, me, deadline, then);
}

wait_end wait_in_list(const wait_target& at, wait_node& me, base::time_point deadline) {
  const on_sleep how = sleep(&at, me, deadline, if_forced::ends);
  if (how == on_sleep::ended || give_up(at, me, if_granted::keep) == on_give_up::ended) return end_of(me);
  if (how == on_sleep::forced) current_force_ports().throw_forced();
  return wait_end::timed_out;
}

}  // namespace

wait_end block_until(const wait_target& at, wait_node& me, base::time_point deadline) {
  if (at.rules->try_now(at.of, me)) return wait_end::granted;
  me.wake = waker(&me.word, &thread_waker);
  on_join did;
  {
    wait_section section(*at.list);
    did = join_list(at, section, me);
  }
  return did == on_join::linked ? wait_in_list(at, me, deadline) : end_of(me);
}

wait_end block_for(const wait_target& at, wait_node& me, base::nanoseconds span) {
  return block_until(at, me, deadline_in(span));
}

wait_end block(const wait_target& at, wait_node& me) { return block_until(at, me, base::never); }

waker thread_waker_of(wait_node& me) noexcept { return {&me.word, &thread_waker}; }

base::time_point deadline_in(base::nanoseconds span) noexcept {
  const scheduler* const alone = alone_here();
  const base::time_point now = alone == nullptr ? base::now() : alone->ops->now(*alone);
  return detail::saturating_deadline(now, span);
}

on_sleep sleep_while_waiting(wait_node& me, base::time_point deadline) noexcept {
  return sleep(nullptr, me, deadline, if_forced::ends);
}

void block_firmly(const wait_target& at, wait_node& me) noexcept {
  if (me.state() == wait_state::granted) return;
  if (me.state() == wait_state::idle) {
    if (at.rules->try_now(at.of, me)) return;
    me.wake = thread_waker_of(me);
    wait_section section(*at.list);
    if (join_list(at, section, me) != on_join::linked) return;
  }
  static_cast<void>(sleep(&at, me, base::never, if_forced::sleeps_on));
}

void throw_forced() { current_force_ports().throw_forced(); }

}  // namespace rota::core
