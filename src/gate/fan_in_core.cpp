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
  const std::unique_ptr<fan_in_segment*[]> segments;  // by number; one that is there stays
  const std::size_t capacity;

  base::mutex lock;
  std::size_t made = 0;            // under the lock
  fan_in_segment* free = nullptr;  // the same
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
  // acq_rel. The last one frees, and sees what all others did.
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

/// One that was given back, or else one in the memory that the caller has in `spare`; null if there is neither.
fan_in_segment* fan_in_core::try_open(void*& spare) noexcept {
  parts& all = *parts_;
  fan_in_segment* s = all.free;
  if (s != nullptr) {
    all.free = s->next_free_;
    const std::uint64_t from = s->taken_.get();
    s->next_.set(from);
    s->limit_.set(from + mask_ + 1);
    // relaxed. What is pushed is released by its push; until then this says what it said before, that there is nothing.
    s->tail_.store(from, base::order::relaxed);
  } else if (spare != nullptr && all.made != all.capacity) {
    const auto bit = static_cast<unsigned>(all.made % signal_word::bits);
    s = ::new (spare) fan_in_segment(bit, all.words[all.made / signal_word::bits], waker_);
    s->limit_.set(mask_ + 1);
    spare = nullptr;
    all.segments[all.made++] = s;
  }
  // relaxed. Under the lock; who sees it closed acquires that from there.
  if (s != nullptr) open_.fetch_add(1, base::order::relaxed);
  return s;
}

fan_in_segment* fan_in_core::open_segment() {
  void* spare = nullptr;
  for (;;) {  // twice at most: then there is a spare
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

/// The consumer's. Its producer has left, or it is closed, and everything was taken.
void fan_in_core::give_back(fan_in_segment& s, bool to_others) noexcept {
  const base::lock_guard guard(parts_->lock);
  // relaxed. Under the lock.
  open_.fetch_sub(1, base::order::relaxed);
  if (!to_others) return;
  s.next_free_ = parts_->free;
  parts_->free = &s;
}

// ---- the producer's

bool fan_in_core::was_taken_back(fan_in_segment& s, std::size_t count) noexcept {
  std::uint64_t end = s.next_.get() + count;
  // relaxed. Decided in this word's one order: nobody else reads it after the first last look. failure: relaxed. A last look has seen
  // these items, and the consumer takes them.
  return s.tail_.compare_exchange_strong(end, end - count, base::order::relaxed, base::order::relaxed);
}

bool fan_in_core::has_consumer_elsewhere() const noexcept {
  // relaxed. In a forked child, which has one thread until it starts others, the consumer has noted this before the fork.
  const std::uint64_t process = consumed_in_.load(base::order::relaxed);
  return process != 0 && !base::is_this_process(process);
}

send_status fan_in_core::wait_for_room(fan_in_segment& s) noexcept {
  const base::thread_locals& here = base::this_thread_locals();
  // A task would block its worker; a handler perhaps the only consumer.
  if (here.task != nullptr || here.mailbox != nullptr) return send_status::full;
  if (has_consumer_elsewhere()) return send_status::forked;
  // acquire. Pairs with make_room() and close(): whichever came before is seen. Who comes later sees that we wait.
  std::uint64_t seen = s.head_.fetch_or(fan_in_segment::waiting, base::order::acquire);
  if (is_closed() || s.next_.get() - (seen & fan_in_segment::positions) <= mask_) return send_status::sent;
  seen |= fan_in_segment::waiting;
  while ((seen & fan_in_segment::waiting) != 0) {
    static_cast<void>(base::futex_wait_upper(s.head_, static_cast<std::uint32_t>(seen >> 32U), base::never));
    // relaxed. Whoever took it away; what the caller looks at next acquires that.
    seen = s.head_.load(base::order::relaxed);
  }
  return send_status::sent;
}

void fan_in_core::leave(fan_in_segment& s) noexcept {
  // release. Pairs with look(): the next producer's slots come after ours. One position further, where no item is.
  s.tail_.store((s.next_.get() + 1) | fan_in_segment::left, base::order::release);
  s.gate_.schedule();
}

// ---- the consumer's

void fan_in_core::wake(fan_in_segment& s) noexcept { base::futex_wake_upper(&s.head_, 1); }

void fan_in_core::make_room(fan_in_segment& s) noexcept {
  s.given_.set(s.taken_.get());
  // release. Pairs with room_for() and wait_for_room(): items were taken out before they see the room.
  const std::uint64_t before = s.head_.exchange(s.taken_.get(), base::order::release);
  if ((before & fan_in_segment::waiting) != 0) wake(s);
}

bool fan_in_core::has_ended() const noexcept {
  const bool last_ones = is_closed() || had_.get();
  // relaxed. Closed, it only goes down, by the consumer's hand. Else a producer that is opened meanwhile comes after the end.
  return last_ones && open_.load(base::order::relaxed) == 0;
}

/// The tail, and up to where there are items. Nothing more to see after the last time.
void fan_in_core::look(fan_in_segment& s) noexcept {
  // relaxed. The consumer's own.
  if (s.closing_.load(base::order::relaxed) != 0) return;
  if (is_closed()) {
    look_for_the_last_time(s);
  } else {
    // acquire. Pairs with push() and leave().
    s.seen_.set(s.tail_.load(base::order::acquire));
  }
  const std::uint64_t position = s.seen_.get() & fan_in_segment::positions;
  const bool leaves = (s.seen_.get() & fan_in_segment::left) != 0 && position != s.taken_.get();
  s.end_.set(leaves ? position - 1 : position);
}

void fan_in_core::look_for_the_last_time(fan_in_segment& s) noexcept {
  // relaxed. Only for the producer's CAS, in this word's one order.
  s.tail_.fetch_or(fan_in_segment::last_look, base::order::relaxed);
  // release. Pairs with push(): the step before is over where this is seen.
  s.closing_.store(1, base::order::release);
  s.gate_.schedule();
  // acquire. Pairs with push() and leave().
  s.seen_.set(s.tail_.fetch_or(fan_in_segment::last_look, base::order::acquire));
}

/// Everything was taken that was seen. True: the round goes on, for somebody has pushed meanwhile.
bool fan_in_core::end_round(fan_in_segment& s) noexcept {
  const bool has_left = (s.seen_.get() & fan_in_segment::left) != 0;
  const bool is_free = has_left && (s.seen_.get() & fan_in_segment::positions) == s.taken_.get();
  current_.set(nullptr);
  // relaxed. The consumer's own.
  if (s.closing_.load(base::order::relaxed) != 0) {
    if (!is_free) give_back(s, false);
    return false;  // and the gate is executing, for ever
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

/// True: it has an item, and it is its turn. False: look elsewhere, unless it is still the current one.
bool fan_in_core::goes_on(fan_in_segment& s) noexcept {
  do {  // as often as somebody pushes, and for so many items
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

/// A producer that would wait for a consumer in another process is told so.
void fan_in_core::note_consumer() noexcept {
  // 0 names no process, but where forks are not counted it would pass for this one.
  if (noted_.get() != 0 && base::is_this_process(noted_.get())) [[likely]]
    return;
  noted_.set(base::this_process_id());
  // relaxed. As in has_consumer_elsewhere().
  consumed_in_.store(noted_.get(), base::order::relaxed);
}

bool fan_in_core::begin_next(std::chrono::steady_clock::time_point deadline) noexcept {
  note_consumer();
  while (ready_.get() == 0) {  // a word that is marked may be empty; then it is marked no more
    std::optional<unsigned> marked = waker_.try_take();
    if (!marked.has_value()) {
      found_end_.set(has_ended());
      if (deadline == at_once || found_end_.get()) return false;
      marked = waker_.wait_until(deadline);
      if (!marked.has_value()) return false;  // the time has come
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
  for (;;) {  // until an item is found, or no gate
    fan_in_segment* const s = current_.get();
    if (s != nullptr && goes_on(*s)) return s;
    if (!begin_next(deadline)) return nullptr;
  }
}

// ---- the end

void fan_in_core::close() noexcept {
  // Who hears of the end may destroy the fan-in.
  add_reference();
  std::size_t made = 0;
  {
    const base::lock_guard guard(parts_->lock);
    if (!is_closed()) made = parts_->made;
    // release. Pairs with is_closed().
    closed_.store(1, base::order::release);
  }
  for (std::size_t i = 0; i < made; ++i) {
    fan_in_segment& s = *parts_->segments[i];
    // release. Pairs with wait_for_room(): who waits later sees that it is closed.
    const std::uint64_t before = s.head_.fetch_and(~fan_in_segment::waiting, base::order::release);
    if ((before & fan_in_segment::waiting) != 0) wake(s);
    s.gate_.schedule();
  }
  // There may be no gate.
  waker_.mark_active(0);
  drop_reference();
}

}  // namespace rota::gate::detail
