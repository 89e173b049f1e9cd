#include <rota/detail/thread_wait.hpp>

#include "base/chance.hpp"
#include "base/drawn_order.hpp"
#include "base/futex.hpp"
#include "base/random.hpp"
#include "base/tls_slot.hpp"
#include "task/thread_sleep.hpp"

#include <utility>

namespace rota::core {

namespace {

// PROTOCOL: a thread that waits for one of several
//   told_     the word on which it sleeps: every wake adds one, and so does a force stop
//   wakers_   the number of wakers of its nodes, wherever they are; `leaving`: the thread waits for the last
//             of them
//
//   N1  The thread reads told_, then checks its nodes, then sleeps while told_ is unchanged. A granting
//       thread changes the node first, and wakes later. So the thread sees the node, or told_ has moved: no
//       lost wakeup.
//   N2  The thread decides alone, and once: for the first node that has what it waits for. All others give
//       up, and pass on what they have got.
//   N3  A waker refers to the thread's stack, and may still be on its way long after its node was seen. Its
//       last access is that of wakers_; the thread does not return before that is 0.
//   N4  A node holds only what it got in this wait: it begins idle. A node that won before, and now loses
//       without having been tried, passes on nothing.
class several {
 public:
  several(std::span<const wait_case> cases, std::uint64_t draw) noexcept : cases_(cases), draw_(draw) {
    for (const wait_case& one : cases_) {
      if (one.at != nullptr) one.me->set(wait_state::idle);  // a named leaf may have won before: N4
    }
  }
  several(const several&) = delete;
  several& operator=(const several&) = delete;
  ~several() {
    // acquire: pairs with the release in drop(): no other thread touches this any more. This thread publishes
    // nothing.
    std::uint32_t seen = wakers_.fetch_or(leaving, base::order::acquire) | leaving;
    while (seen != leaving) {
      static_cast<void>(base::futex_wait(wakers_, seen, base::never));
      // acquire: same reason as the fetch_or above.
      seen = wakers_.load(base::order::acquire);
    }
  }

  std::size_t wait(base::time_point deadline) {
    std::size_t won = begin();
    if (won == no_case) {
      scheduler* const alone = alone_here();
      const on_sleep how = alone != nullptr ? wait_alone(*alone, deadline, won) : sleep(deadline, won);
      if (how == on_sleep::ended) return end(won);
      won = give_up_all();
      if (how == on_sleep::forced && won == no_case) forced_ = true;
      return won;
    }
    return end(won);
  }
  [[nodiscard]] bool was_forced() const noexcept { return forced_; }

 private:
  static constexpr std::uint32_t leaving = std::uint32_t{1} << 31U;

  static several& of(void* data) noexcept { return *static_cast<several*>(data); }
  static void drop(void* data) noexcept {
    auto& wakers = of(data).wakers_;
    // release: what this waker has touched comes before the thread's return. Afterwards only the address is
    // used.
    if (wakers.fetch_sub(1, base::order::release) == (leaving | 1)) base::futex_wake(&wakers, 1);
  }
  static void wake_by_ref(void* data) noexcept {
    auto& told = of(data).told_;
    // release: pairs with the acquire in sleep(): the node has changed.
    told.fetch_add(1, base::order::release);
    base::futex_wake(&told, 1);
  }
  static void wake(void* data) noexcept {
    wake_by_ref(data);
    drop(data);
  }
  static void* clone(void* data) noexcept {
    // relaxed: the caller has a waker.
    of(data).wakers_.fetch_add(1, base::order::relaxed);
    return data;
  }
  static constexpr waker_vtable vtable{wake, wake_by_ref, clone, drop};

  /// Joins the list. Returns true if the node has ended, false if it is in its list.
  bool join(const wait_case& one) noexcept {
    // relaxed: no other thread knows of it yet.
    wakers_.fetch_add(1, base::order::relaxed);
    waker unused;  // outlives the section
    one.me->wake = waker(this, &vtable);
    wait_section section(*one.at->list);
    if (join_list(*one.at, section, *one.me) == on_join::linked) return false;
    unused = std::move(one.me->wake);
    return true;
  }

  std::size_t begin() noexcept {
    base::drawn_order drawn(cases_.size(), draw_);
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      const std::size_t i = drawn.next();
      const wait_case& one = cases_[i];
      if (one.at == nullptr) continue;
      if (one.at->rules->try_now(one.at->of, *one.me)) {
        one.me->set(wait_state::granted);
        return i;
      }
      if (join(one)) return i;
    }
    return no_case;
  }

  /// Returns a case that has ended, or no_case. Each ended case is equally likely.
  std::size_t look() noexcept {
    draw_ = base::random(draw_).next();
    base::drawn_order drawn(cases_.size(), draw_);
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      const std::size_t i = drawn.next();
      const wait_case& one = cases_[i];
      if (one.at == nullptr) continue;
      const wait_state now = one.me->state();
      if (now == wait_state::granted || now == wait_state::closed) return i;
      if (now == wait_state::called && join(one)) return i;
    }
    return no_case;
  }

  on_sleep sleep(base::time_point deadline, std::size_t& won) noexcept {
    const asleep section(told_);
    for (;;) {
      // acquire: pairs with the release in wake_by_ref(): what was told is seen.
      const std::uint32_t seen = told_.load(base::order::acquire);
      won = look();
      if (won != no_case) return on_sleep::ended;
      if (section.is_forced()) return on_sleep::forced;
      base::patience& mine = base::this_thread_locals().waits;
      if (mine.wait(told_, seen, deadline) == base::wait_result::timed_out) return on_sleep::timed_out;
    }
  }

  on_sleep wait_alone(scheduler& alone, base::time_point deadline, std::size_t& won) noexcept {
    for (;;) {
      won = look();
      if (won != no_case) return on_sleep::ended;
      if (!run_another(alone, deadline)) return on_sleep::timed_out;
    }
  }

  /// Gives up all cases. A case that was granted before counts; of several, the first.
  std::size_t give_up_all() noexcept {
    std::size_t won = no_case;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].at == nullptr) continue;
      const if_granted then = won == no_case ? if_granted::keep : if_granted::pass_on;
      if (core::give_up(*cases_[i].at, *cases_[i].me, then) == on_give_up::ended && is_over(i)) won = i;
    }
    return won;
  }
  [[nodiscard]] bool is_over(std::size_t i) const noexcept {
    const wait_state now = cases_[i].me->state();
    return now == wait_state::granted || now == wait_state::closed;
  }

  std::size_t end(std::size_t won) noexcept {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i == won || cases_[i].at == nullptr) continue;
      static_cast<void>(core::give_up(*cases_[i].at, *cases_[i].me, if_granted::pass_on));
    }
    return won;
  }

  std::span<const wait_case> cases_;
  std::uint64_t draw_;
  bool forced_ = false;
  base::atomic<std::uint32_t> told_{0};
  base::atomic<std::uint32_t> wakers_{0};
};

/// Returns true if the case has ended and no other thread knows of it. It joins and leaves within one
/// section, so no thread sees it.
bool ends_at_once(const wait_case& one) noexcept {
  if (one.at->rules->try_now(one.at->of, *one.me)) {
    one.me->set(wait_state::granted);
    return true;
  }
  waker unused;
  one.me->wake = noop_waker();
  wait_section section(*one.at->list);
  const bool ended = join_list(*one.at, section, *one.me) != on_join::linked;
  if (!ended) {
    section.unlink(*one.me);
    one.at->rules->leave(one.at->of, section, *one.me);
    one.me->set(wait_state::idle);
  }
  unused = std::move(one.me->wake);
  return ended;
}

}  // namespace

std::uint64_t draw_of_thread() noexcept {
  // Each from its own seed: consecutive numbers of one sequence favour one of two cases.
  base::random next(++base::this_thread_locals().draws);
  return next.next() + (base::chance() ? 1 : 0);
}

std::size_t try_any(std::span<const wait_case> cases, std::uint64_t draw) noexcept {
  base::drawn_order drawn(cases.size(), draw);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::size_t i = drawn.next();
    if (cases[i].at != nullptr && ends_at_once(cases[i])) return i;
  }
  return no_case;
}

std::size_t block_any(std::span<const wait_case> cases, std::uint64_t draw, base::time_point deadline) {
  bool forced = false;
  std::size_t won = no_case;
  {
    several me(cases, draw);
    won = me.wait(deadline);
    forced = me.was_forced();
  }
  if (forced) current_force_ports().throw_forced();
  return won;
}

}  // namespace rota::core
