#include "time/wheel.hpp"

#include <algorithm>

#include "base/bits.hpp"

namespace rota::timing {

/// Time before the clock's zero counts as its first millisecond: it is past, and the heap compares exact
/// deadlines.
std::uint64_t wheel::tick_of(base::time_point time) noexcept {
  constexpr std::uint64_t nanoseconds_per_tick = 1'000'000;
  const std::int64_t since_zero = time.time_since_epoch().count();
  return since_zero <= 0 ? 0 : static_cast<std::uint64_t>(since_zero) / nanoseconds_per_tick;
}

void wheel::insert(timer_node& node, base::time_point deadline) noexcept {
  base::note_write(this);
  base::note_write(&node);
  node.deadline_ = deadline;
  node.sequence_ = sequence_++;
  if (deadline <= polled_) return link(node, overdue_);
  place(node);
}

void wheel::remove(timer_node& node) noexcept {
  base::note_write(this);
  base::note_write(&node);
  if (node.place_ == in_heap) return near_.remove(node);
  slot& list = lists_[node.place_];
  const base::time_point bound = list.bound;
  unlink(node);
  if (list.first == nullptr) {
    emptied(node.place_);
  } else if (node.deadline_ == bound) {
    tighten(list);
  }
  if (bound == far_ && list.bound != bound) far_ = lists_[earliest_list()].bound;
}

void wheel::begin_poll(base::time_point now) noexcept {
  base::note_write(this);
  polled_ = std::max(polled_, before_never(now));
  if (lists_[overdue_ ^ 1U].first == nullptr) overdue_ ^= 1U;
  far_ = std::min(far_, lists_[overdue_ ^ 1U].bound);
}

timer_node* wheel::pop(unsigned& effort) noexcept {
  base::note_write(this);
  while (effort > 0) {
    timer_node* const first = near_.top();
    if (first != nullptr && first->deadline_ < far_ && first->deadline_ <= polled_) {
      base::note_write(first);
      near_.remove(*first);
      --effort;
      return first;
    }
    if (far_ > polled_) {
      current_ = std::max(current_, tick_of(polled_));
      return nullptr;
    }
    open(earliest_list(), effort);
  }
  return nullptr;
}

base::time_point wheel::next_deadline() const noexcept {
  const timer_node* const first = near_.top();
  const auto in_lists = std::min(far_, lists_[overdue_].bound);
  return first != nullptr ? std::min(first->deadline_, in_lists) : in_lists;
}

void wheel::place(timer_node& node) noexcept {
  const std::uint64_t tick = tick_of(node.deadline_);
  if (tick <= current_) {
    node.place_ = in_heap;
    return near_.insert(node);
  }
  const unsigned level = level_for(current_, tick);
  if (level >= levels) {
    link(node, overflow_);
  } else {
    const auto index = static_cast<unsigned>(slot_number(tick, level) % slots_per_level);
    occupied_[level] |= base::bit(index);
    link(node, level * slots_per_level + index);
  }
  far_ = std::min(far_, node.deadline_);
}

void wheel::link(timer_node& node, unsigned where) noexcept {
  slot& list = lists_[where];
  node.place_ = static_cast<std::uint16_t>(where);
  node.prev_ = nullptr;
  node.next_ = list.first;
  if (node.next_ != nullptr) node.next_->prev_ = &node;
  list.first = &node;
  list.bound = std::min(list.bound, node.deadline_);
}

void wheel::unlink(timer_node& node) noexcept {
  (node.prev_ == nullptr ? lists_[node.place_].first : node.prev_->next_) = node.next_;
  if (node.next_ != nullptr) node.next_->prev_ = node.prev_;
  node.next_ = node.prev_ = nullptr;
}

void wheel::emptied(unsigned where) noexcept {
  lists_[where].bound = base::never;
  if (where < overflow_a) occupied_[where / slots_per_level] &= ~base::bit(where % slots_per_level);
}

/// Called when the timer that the bound stood for is gone. Finds the new bound if few timers are left.
/// Otherwise the old bound stays, too early, until it comes and the slot is opened, or until the slot is
/// empty.
void wheel::tighten(slot& list) noexcept {
  base::time_point least = base::never;
  unsigned seen = 0;
  for (const timer_node* node = list.first; node != nullptr; node = node->next_) {
    if (++seen > sparse) return;
    least = std::min(least, node->deadline_);
  }
  list.bound = least;
}

/// Moves on the timers of the list with the least bound, as many as `effort` allows. A list that keeps some
/// keeps its bound, and remains the earliest one.
void wheel::open(unsigned where, unsigned& effort) noexcept {
  slot& list = lists_[where];
  current_ = std::max(current_, tick_of(list.bound));
  if (where == overflow_) overflow_ ^= 1U;
  while (effort > 0 && list.first != nullptr) {
    timer_node& node = *list.first;
    unlink(node);
    place(node);
    --effort;
  }
  if (list.first != nullptr) return;
  emptied(where);
  far_ = lists_[earliest_list()].bound;
}

/// Returns the list with the least bound. On one level the spans follow each other from current_ on, so the
/// first occupied slot has the least bound of the level. The levels overlap.
unsigned wheel::earliest_list() const noexcept {
  unsigned best = overdue_ ^ 1U;
  const auto consider = [&](unsigned where) {
    if (lists_[where].bound < lists_[best].bound) best = where;
  };
  consider(overflow_a);
  consider(overflow_a + 1);
  for (unsigned level = 0; level < levels; ++level) {
    if (occupied_[level] == 0) continue;
    const auto here = static_cast<unsigned>(slot_number(current_, level) % slots_per_level);
    const unsigned ahead = base::lowest_bit(std::rotr(occupied_[level], static_cast<int>(here)));
    consider(level * slots_per_level + (here + ahead) % slots_per_level);
  }
  return best;
}

}  // namespace rota::timing
