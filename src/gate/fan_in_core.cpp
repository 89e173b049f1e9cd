#include <rota/detail/fan_in_core.hpp>

#include "base/bits.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace rota::gate::detail {

namespace {

constexpr std::size_t most_producers = std::size_t{signal_waker::words} * signal_word::bits;
constexpr std::size_t most_items = std::size_t{1} << 24U;
constexpr std::uint32_t most_fan_in_budget = 65'536;

void check(const char* field, std::size_t found, std::size_t most) {
  if (found != 0 && found <= most) return;
  throw std::invalid_argument(std::string("rota::gate: fan_in_options::") + field + " is " +
                              std::to_string(found) + ", and must be 1 to " + std::to_string(most));
}

}  // namespace

void throw_no_producer() {
  throw std::logic_error("rota::gate: an empty producer: moved from, or made by default");
}

struct fan_in_core::parts {
  explicit parts(std::size_t most) : segments(std::make_unique<fan_in_segment*[]>(most)), capacity(most) {
    const auto count = static_cast<unsigned>((most - 1) / signal_word::bits + 1);
    for (unsigned i = 0; i < count; ++i) words.emplace_back(i);
  }

  const std::uint64_t process = base::this_process_id();
  std::deque<signal_word> words;
  const std::unique_ptr<fan_in_segment*[]> segments;  // by number; a segment stays once it is made
  const std::size_t capacity;

  base::mutex lock;
  std::size_t made = 0;            // under the lock
  fan_in_segment* free = nullptr;  // under the lock
};

std::uint64_t fan_in_core::checked(const fan_in_options& options) {
  check("producers", options.producers, most_producers);
  check("segment", options.segment, most_items);
  check("budget", options.budget, most_fan_in_budget);
  return std::bit_ceil(options.segment) - 1;
}

fan_in_core::fan_in_core(const fan_in_options& options, const fan_in_layout& layout)
    : mask_(checked(options)),
      chunk_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>((mask_ + 1) / 2, 1, 16))),
      budget_(options.budget),
      layout_(layout),
      parts_(new parts(options.producers)) {}

fan_in_core::~fan_in_core() {
  for (std::size_t i = 0; i < parts_->made; ++i) {
    parts_->segments[i]->~fan_in_segment();
    free_segment(parts_->segments[i]);
  }
  delete parts_;
}

void fan_in_core::drop_reference() noexcept {
  // acq_rel: the last drop frees, and sees what all others did.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

bool fan_in_core::is_own_process() const noexcept { return base::is_this_process(parts_->process); }

// ---- segments

void* fan_in_core::allocate_segment() const {
  return ::operator new(layout_.first_item + (mask_ + 1) * layout_.bytes_of_item,
                        std::align_val_t(layout_.alignment));
}

void fan_in_core::free_segment(void* memory) const noexcept {
  base::note_free(memory, layout_.first_item + (mask_ + 1) * layout_.bytes_of_item);
  ::operator delete(memory, std::align_val_t(layout_.alignment));
}

/// Under the lock. Returns a segment that was given back, or else one made in the memory `spare`; null if
/// there is neither.
fan_in_segment* fan_in_core::try_open(void*& spare) noexcept {
  parts& all = *parts_;
  fan_in_segment* s = all.free;
  if (s != nullptr) {
    all.free = s->next_free_;
    const std::uint64_t from = s->taken_.get();
    s->next_.set(from);
    s->limit_.set(from + mask_ + 1);
    // relaxed: a push releases what it pushed; until then the word says, as before, that there is no item.
    s->tail_.store(from, base::order::relaxed);
  } else if (spare != nullptr && all.made != all.capacity) {
    const auto bit = static_cast<unsigned>(all.made % signal_word::bits);
    s = ::new (spare) fan_in_segment(bit, all.words[all.made / signal_word::bits], waker_);
    s->limit_.set(mask_ + 1);
    spare = nullptr;
    all.segments[all.made++] = s;
  }
  // relaxed: under the lock; a thread that sees the fan-in closed acquires that from closed_.
  if (s != nullptr) open_.fetch_add(1, base::order::relaxed);
  return s;
}

fan_in_segment* fan_in_core::open_segment() {
  void* spare = nullptr;
  for (;;) {  // twice at most: the second time there is a spare
    fan_in_segment* opened = nullptr;
    bool closed = false;
    bool full = false;
    {
      const base::lock_guard guard(parts_->lock);
      closed = is_closed();
      if (!closed) opened = try_open(spare);
      full = opened == nullptr && parts_->made == parts_->capacity;
    }
    if (opened == nullptr && !closed && !full) {
      spare = allocate_segment();
      continue;
    }
    if (spare != nullptr) free_segment(spare);
    if (full && !closed)
      throw std::length_error("rota::gate: a fan_in has as many producers as it may: " +
                              std::to_string(parts_->capacity));
    return opened;
  }
}

/// Called by the consumer when everything was taken, and the producer has left or the fan-in is closed.
void fan_in_core::give_back(fan_in_segment& s, bool to_others) noexcept {
  const base::lock_guard guard(parts_->lock);
  // relaxed: under the lock.
  open_.fetch_sub(1, base::order::relaxed);
  if (!to_others) return;
  s.next_free_ = parts_->free;
  parts_->free = &s;
}

// ---- the producer

bool fan_in_core::was_taken_back(fan_in_segment& s, std::size_t count) noexcept {
  std::uint64_t end = s.next_.get() + count;
  // relaxed: the result depends on the modification order of this word alone: no other thread reads it after
  // the first last look. failure: relaxed: a last look has seen these items, and the consumer takes them.
  return s.tail_.compare_exchange_strong(end, end - count, base::order::relaxed, base::order::relaxed);
}

bool fan_in_core::has_consumer_elsewhere() const noexcept {
  // relaxed: a forked child has one thread until it starts others, and the consumer has noted this before the
  // fork.
  const std::uint64_t process = consumed_in_.load(base::order::relaxed);
  return process != 0 && !base::is_this_process(process);
}

send_status fan_in_core::wait_for_room(fan_in_segment& s) noexcept {
  const base::thread_locals& here = base::this_thread_locals();
  // A task would block its worker; a handler might block the only consumer of its executor.
  if (here.task != nullptr || here.mailbox != nullptr) return send_status::full;
  if (has_consumer_elsewhere()) return send_status::forked;
  // acquire: pairs with make_room() and close(): whichever came before is seen. A later one sees that this
  // producer waits.
  std::uint64_t seen = s.head_.fetch_or(fan_in_segment::waiting, base::order::acquire);
  if (is_closed() || s.next_.get() - (seen & fan_in_segment::positions) <= mask_) return send_status::sent;
  seen |= fan_in_segment::waiting;
  while ((seen & fan_in_segment::waiting) != 0) {
    static_cast<void>(base::futex_wait_upper(s.head_, static_cast<std::uint32_t>(seen >> 32U), base::never));
    // relaxed: only the bit matters; the caller's next read of the head acquires.
    seen = s.head_.load(base::order::relaxed);
  }
  return send_status::sent;
}

void fan_in_core::leave(fan_in_segment& s) noexcept {
  // release: pairs with look(): the next producer's use of the slots happens after this producer's. The tail
  // is one position further, where no item is.
  s.tail_.store((s.next_.get() + 1) | fan_in_segment::left, base::order::release);
  s.gate_.schedule();
}

// ---- the consumer

void fan_in_core::wake(fan_in_segment& s) noexcept { base::futex_wake_upper(&s.head_, 1); }

void fan_in_core::make_room(fan_in_segment& s) noexcept {
  s.given_.set(s.taken_.get());
  // release: pairs with room_for() and wait_for_room(): items were taken out before the producer sees the
  // space.
  const std::uint64_t before = s.head_.exchange(s.taken_.get(), base::order::release);
  if ((before & fan_in_segment::waiting) != 0) wake(s);
}

bool fan_in_core::has_ended() const noexcept {
  const bool last_ones = is_closed() || had_.get();
  // relaxed: once it is closed the count only goes down, and only by the consumer. Otherwise a producer that
  // is opened meanwhile comes after the end.
  return last_ones && open_.load(base::order::relaxed) == 0;
}

/// Reads the tail, and sets up to where there are items. After the last look there is nothing more to read.
void fan_in_core::look(fan_in_segment& s) noexcept {
  // relaxed: written by the consumer itself.
  if (s.closing_.load(base::order::relaxed) != 0) return;
  if (is_closed()) {
    look_for_the_last_time(s);
  } else {
    // acquire: pairs with push() and leave().
    s.seen_.set(s.tail_.load(base::order::acquire));
  }
  const std::uint64_t position = s.seen_.get() & fan_in_segment::positions;
  const bool leaves = (s.seen_.get() & fan_in_segment::left) != 0 && position != s.taken_.get();
  s.end_.set(leaves ? position - 1 : position);
}

void fan_in_core::look_for_the_last_time(fan_in_segment& s) noexcept {
  // relaxed: only makes the producer's CAS fail, in the modification order of this word.
  s.tail_.fetch_or(fan_in_segment::last_look, base::order::relaxed);
  // release: pairs with push(): a producer that sees this knows that the first step is over.
  s.closing_.store(1, base::order::release);
  s.gate_.schedule();
  // acquire: pairs with push() and leave().
  s.seen_.set(s.tail_.fetch_or(fan_in_segment::last_look, base::order::acquire));
}

/// Ends the round after every item that was seen has been taken. Returns true if a push came meanwhile; then
/// the round goes on.
bool fan_in_core::end_round(fan_in_segment& s) noexcept {
  const bool has_left = (s.seen_.get() & fan_in_segment::left) != 0;
  const bool is_free = has_left && (s.seen_.get() & fan_in_segment::positions) == s.taken_.get();
  current_.set(nullptr);
  // relaxed: written by the consumer itself.
  if (s.closing_.load(base::order::relaxed) != 0) {
    if (!is_free) give_back(s, false);
    return false;  // and the gate stays EXECUTING for ever
  }
  if (has_left && !is_free) {
    s.taken_.set(s.taken_.get() + 1);
    make_room(s);
    had_.set(true);
    give_back(s, true);
  }
  if (left_.get() == 0) {
    s.gate_.finish();
    return false;
  }
  if (!s.gate_.finish_or_continue()) return false;
  current_.set(&s);
  return true;
}

/// Continues the round. Returns true if the segment has an item and there is budget left. Returns false if
/// the round has ended; then the consumer has to search elsewhere.
bool fan_in_core::goes_on(fan_in_segment& s) noexcept {
  do {  // again for each push meanwhile, within the budget
    look(s);
    const bool more = s.taken_.get() != s.end_.get();
    if (more && left_.get() != 0) return true;
    make_room();
    if (more) {
      current_.set(nullptr);
      s.gate_.finish_and_schedule();
      return false;
    }
  } while (end_round(s));
  return false;
}

/// Notes the consumer's process, so that a producer that would wait for a consumer in another process is
/// refused.
void fan_in_core::note_consumer() noexcept {
  // 0 names no process, but if forks are not counted it would pass for this one.
  if (noted_.get() != 0 && base::is_this_process(noted_.get())) [[likely]]
    return;
  noted_.set(base::this_process_id());
  // relaxed: same reason as in has_consumer_elsewhere().
  consumed_in_.store(noted_.get(), base::order::relaxed);
}

bool fan_in_core::begin_next(std::chrono::steady_clock::time_point deadline) noexcept {
  note_consumer();
  while (ready_.get() == 0) {  // a marked word may be empty; its mark is then cleared
    std::optional<unsigned> marked = waker_.try_take();
    if (!marked.has_value()) {
      found_end_.set(has_ended());
      if (deadline == at_once || found_end_.get()) return false;
      marked = waker_.wait_until(deadline);
      if (!marked.has_value()) return false;  // the deadline
    }
    word_.set(*marked);
    ready_.set(parts_->words[*marked].take());
  }
  const unsigned bit = base::lowest_bit(ready_.get());
  ready_.set(ready_.get() & (ready_.get() - 1));
  fan_in_segment& s = *parts_->segments[std::size_t{word_.get()} * signal_word::bits + bit];
  s.gate_.begin();
  current_.set(&s);
  left_.set(budget_);
  return true;
}

fan_in_segment* fan_in_core::search(std::chrono::steady_clock::time_point deadline) noexcept {
  for (;;) {  // until there is an item, or no scheduled gate
    fan_in_segment* const s = current_.get();
    if (s != nullptr && goes_on(*s)) return s;
    if (!begin_next(deadline)) return nullptr;
  }
}

// ---- the end

void fan_in_core::close() noexcept {
  // A thread that sees the end may destroy the fan-in.
  add_reference();
  std::size_t made = 0;
  {
    const base::lock_guard guard(parts_->lock);
    if (!is_closed()) made = parts_->made;
    // release: pairs with is_closed().
    closed_.store(1, base::order::release);
  }
  for (std::size_t i = 0; i < made; ++i) {
    fan_in_segment& s = *parts_->segments[i];
    // release: pairs with wait_for_room(): a producer that waits later sees that the fan-in is closed.
    const std::uint64_t before = s.head_.fetch_and(~fan_in_segment::waiting, base::order::release);
    if ((before & fan_in_segment::waiting) != 0) wake(s);
    s.gate_.schedule();
  }
  // Wakes the consumer also if there is no gate.
  waker_.mark_active(0);
  drop_reference();
}

}  // namespace rota::gate::detail
