// Chooses the next thread. Every choice is the choice of one operation: a chosen thread performs its next
// operation before another choice.
//
// PROTOCOL: fairness among spinners
//   yielded_  threads in cpu_relax(). Such a thread is not chosen until another thread has stepped: before
//             that, the word that it spins on cannot change.
//   behind    of a thread that spun twice in a row: the threads that were ready all the time between, and did
//             not run. It is not chosen until these have stepped. Without this, two spinners that wait for
//             each other starve a third thread for ever, and every spin loop is a livelock (Musuvathi and
//             Qadeer, "Fair stateless model checking", PLDI 2008).
// Both only postpone reads that would find nothing changed. If no other thread can run, the clock moves. If
// there is no deadline, the spinner goes on, because it may give up spinning and sleep.
#include "testing/machine.hpp"

#include "base/bits.hpp"

#include <algorithm>
#include <bit>

namespace rota::testing::detail {

namespace {

constexpr std::uint64_t mixer = 0x9E37'79B9'7F4A'7C15U;

}  // namespace

void machine::point(place where) {
  count_step();
  if (!me().chosen) reschedule();
  me().chosen = false;
  stepped(where);
}

void machine::count_step() {
  if (++steps_ <= options_.steps) return;
  fail("livelock: more than " + std::to_string(options_.steps) + " steps");
}

void machine::stepped(place where) noexcept {
  fibre& f = me();
  f.where = where.line() != 0 ? where : f.where;
  f.last_run = steps_;
  progress_ += f.watches ? 0 : 1;
  yielded_ = 0;
  signature_ = (signature_ ^ (std::uint64_t{where.line()} << 32U) ^ (current_ << 20U) ^ ready_) * mixer;
  if (behind_ == 0) return;
  for (unsigned i = 0; i < fibre_count_; ++i) {
    fibres_[i].behind &= ~bit(current_);
    if (fibres_[i].behind == 0) behind_ &= ~bit(i);
  }
}

// The fast path of nearly every step: no other thread is ready, or the bound forbids a change.
bool machine::stays() {
  const fibre_mask mine = bit(current_);
  if ((ready_ & ~yielded_ & ~behind_ & mine) == 0) return false;
  if (ready_ == mine && !may_advance_early()) return true;
  if (!search_->bound_reached()) return false;
  search_->cut_off();
  return true;
}

void machine::reschedule() {
  while (!stays()) {
    const fibre_mask ready = candidates();
    const bool can_stay = (ready & bit(current_)) != 0;
    const unsigned count = static_cast<unsigned>(std::popcount(ready)) + (may_advance_early() ? 1 : 0);
    const alternatives a{ready, current_, count, can_stay, steps_};
    const unsigned next = a.fibre(count == 1 ? 0 : search_->next_thread(a));
    if (search_->misfit()) fail_misfit();
    if (next == max_fibres) {
      --early_timeouts_.left;
      (void)advance_clock();
      continue;
    }
    if (next == current_) return;
    if (can_stay) record(event_kind::preempted, nullptr, 0);
    return switch_to(next);
  }
}

fibre_mask machine::candidates() {
  for (;;) {
    if (const fibre_mask ready = fair(ready_ & ~yielded_); ready != 0) return ready;
    if (ready_ == 0 && unfinished_ == 0 && fibres_[0].why == waiting::quiet) {
      make_ready(fibres_[0], 0);
    } else if (!advance_clock()) {
      if (ready_ == 0) fail_deadlock();
      yielded_ = 0;
    }
  }
}

fibre_mask machine::fair(fibre_mask ready) const noexcept {
  fibre_mask fair = ready;
  for (fibre_mask rest = ready & behind_; rest != 0; rest &= rest - 1) {
    const unsigned index = base::lowest_bit(rest);
    if ((fibres_[index].behind & ready_) != 0) fair &= ~bit(index);
  }
  return fair != 0 ? fair : ready;
}

bool machine::may_advance_early() const noexcept { return early_timeouts_.left != 0 && timed() != 0; }

/// Returns the threads that time may move for. A thread that watches others and has done so often in vain is
/// left out until another thread has stepped.
fibre_mask machine::timed() const noexcept {
  fibre_mask counted = timed_;
  for (fibre_mask rest = vain_; rest != 0; rest &= rest - 1) {
    const unsigned index = base::lowest_bit(rest);
    if (fibres_[index].progress_seen == progress_) counted &= ~bit(index);
  }
  return counted;
}

bool machine::advance_clock() {
  const fibre_mask counted = timed();
  if (counted == 0) return false;
  base::time_point earliest = base::never;
  for (fibre_mask rest = counted; rest != 0; rest &= rest - 1) {
    earliest = std::min(earliest, fibres_[base::lowest_bit(rest)].deadline);
  }
  drain_all();
  time_ = std::max(time_, earliest);
  record(event_kind::clock_advance, nullptr, static_cast<std::uint64_t>(time_.time_since_epoch().count()));
  for (fibre_mask rest = timed_; rest != 0; rest &= rest - 1) {
    const unsigned index = base::lowest_bit(rest);
    if (fibres_[index].deadline > time_) continue;
    fibres_[index].timed_out = true;
    make_ready(fibres_[index], index);
  }
  return true;
}

void machine::make_ready(fibre& f, unsigned index) noexcept {
  f.why = waiting::nothing;
  f.ready_since = steps_;
  ready_ |= bit(index);
  sleepers_ &= ~bit(index);
  timed_ &= ~bit(index);
  vain_ &= ~bit(index);
}

// The wait is over when the thread is chosen again; it then also performs its next operation.
void machine::block(waiting why, const void* wants) {
  fibre& f = me();
  f.why = why;
  f.wants = wants;
  f.chosen = true;
  ready_ &= ~bit(current_);
  reschedule();
}

void machine::relax(place where) {
  count_step();
  record(event_kind::relax, nullptr, 0, 0, base::order::relaxed, where);
  if (me().last_yield != 0) drain_all();
  fall_behind();
  yielded_ |= bit(current_);
  reschedule();
  me().chosen = true;
}

void machine::fall_behind() noexcept {
  fibre& f = me();
  for (fibre_mask rest = ready_ & ~bit(current_); f.last_yield != 0 && rest != 0; rest &= rest - 1) {
    const fibre& other = fibres_[base::lowest_bit(rest)];
    if (other.ready_since <= f.last_yield && other.last_run <= f.last_yield) f.behind |= rest & ~(rest - 1);
  }
  if (f.behind != 0) behind_ |= bit(current_);
  f.last_yield = steps_;
}

void machine::switch_to(unsigned next) {
  fibre& from = me();
  from.exceptions = *exceptions_;
  current_ = next;
  *exceptions_ = me().exceptions;
  context::switch_between(from.stack, me().stack);
}

bool machine::fault(fault_budget& budget) {
  if (budget.left == 0 || decide(2, value_kind::fault) == 0) return false;
  --budget.left;
  return true;
}

unsigned machine::choose(unsigned count) {
  if (count == 0 || count > 255) fail("choose() takes 1 to 255 alternatives");
  return decide(count, value_kind::free);
}

unsigned machine::decide(unsigned count, value_kind kind) {
  if (count == 1) return 0;
  const unsigned taken = search_->value(count, kind);
  if (search_->misfit()) fail_misfit();
  return taken;
}

void machine::fail_misfit() {
  fail("nondeterminism: the recorded choices do not fit what the program does now");
}

}  // namespace rota::testing::detail
