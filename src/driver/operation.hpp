// What the kernel does for one task, and the desk at which it is given to it and taken back.
#pragma once

#include "base/mutex.hpp"
#include "base/sys/uring.hpp"

#include <rota/detail/config.hpp>
#include <rota/leaf.hpp>
#include <rota/waker.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

namespace rota::driver {

// PROTOCOL: operation
//   What the kernel does for one task: a read, a write, an open. It lies in a slot of the desk's table, not in the frame that awaits it:
//   recycled, never freed while the desk lives. What it points to, the caller's buffer or a path, must live until its completion was
//   seen: so the leaf that awaits it lets its frames go only after `done` (leaf::try_cancel says `pending`).
//
//   field       means                                                          set by                     cleared by
//   done        `result` is there, and the kernel touches nothing any more     complete(), cancel()       give_back()
//   place       free · taken by a leaf · in the line, since there was no room  take(), start(),           give_back()
//               · given to the kernel                                          complete()
//   cancelling  whoever awaits it wants to go                                  cancel()                   give_back()
//   owes_cancel the kernel has to be told so, and had no room                  cancel()                   complete(), flush()
//   generation  how often the slot was given back, 31 bits; a part of the key  give_back()                never
//   next        the free list, the line, or the list of owed cancels: by place
//   previous    the line, or the list of owed cancels: what is cancelled leaves from the middle, without a walk
//   request     its leaf, until start(); then whoever holds the desk's lock
//   waiting     its leaf, by start(); then whoever sets `done`, who moves it out before that
//   result      who sets `done`, before that; its leaf, after it has seen it
//   All under the desk's lock, but for `done`, which the leaf reads without it, and what is the leaf's.
//
//   start:     lock · nobody in the line, and the kernel has room: give it; else the end of the line · unlock
//   complete:  lock · another generation: drop it · -ECANCELED and not cancelling: the kernel dropped it, because the thread that had
//              submitted it has gone: give it again · else result, waker out, done: from here on it is the leaf's, and may be
//              somebody else's · those in the line take its room · unlock · wake
//   cancel:    lock · done: ended · in the line: out of it, -ECANCELED, done: ended · else cancelling, put a cancel: pending · unlock.
//              The next flush submits it, with all others that were put: no system call for each
//   give_back: lock · generation + 1 · free · unlock
//
//   I1  a buffer is given up, a frame destroyed, a slot used again only after `done`.
//   I2  each operation ends once: one completion for each time it was given, and it is given again only after that came.
//   I3  a stale completion or a late cancel meets another generation, and ends nobody.
//   I4  of {cancelling, given again} each sees the other: both under the lock. And the kernel takes what it is given in order, so a cancel
//       comes after what it cancels.
//   I5  what was given is flushed, operations and cancels alike: by its worker before that parks, lends its role or has looked 61 times,
//       at once by a thread that plays no role; by the poller before it waits; by the watchdog if its worker stays in one poll. What a
//       flush could not give stays, and has_unflushed() says so.
//   I6  nothing is lost without room: neither operations (the line, which moves on with each completion and each flush) nor cancels
//       (owed, and put by the next flush).
//   I7  no waker is woken or dropped under the lock.
//   Who frees: the desk, with its table, when nothing is in flight.
//   Orders: `done` is stored with release after the result, and loaded with acquire by the leaf: the result and the kernel's bytes come
//   before it. All else is ordered by the lock.
//   Checked: tests/model/operation_model.cpp
class operation {
 public:
  /// What the kernel is to do; by whoever has taken the slot, before start().
  base::sys::ring_request request{};

  [[nodiscard]] bool is_done() const noexcept {
    // acquire. Pairs with operation_desk::end(): the result, and what the kernel has written.
    return done_.load(base::order::acquire);
  }
  /// Of one that is done: what the call would return, or -errno.
  [[nodiscard]] std::int32_t result() const noexcept { return result_.get(); }

 private:
  template <class Kernel>
  friend class operation_desk;

  enum class place : std::uint8_t { free, taken, in_line, given };

  base::atomic<bool> done_{false};
  place place_ = place::free;
  bool cancelling_ = false;
  bool owes_cancel_ = false;
  std::uint32_t generation_ = 0;
  std::uint32_t slot_ = 0;
  operation* next_ = nullptr;
  operation* previous_ = nullptr;
  waker waiting_;
  base::cell<std::int32_t> result_;
};

/// First in, first out, through operation::next_; under the desk's lock.
struct operation_list {
  operation* first = nullptr;
  operation* last = nullptr;
};

struct operation_counts {
  std::uint64_t started = 0;
  std::uint64_t cancelled = 0;    // while the kernel had it
  std::uint64_t resubmitted = 0;  // the thread that had submitted it has gone
  std::uint64_t refused = 0;      // flushes that the kernel had no room for
};

/// Gives operations to a Kernel:
///   bool put(const ring_request&, std::uint64_t key)   false: its queue is full
///   bool put_cancel(std::uint64_t key)                 the same
///   bool submit()                                      everything that was put; false: refused, and still there
/// which are called under the lock. All members: any thread.
template <class Kernel>
class operation_desk {
 public:
  static constexpr std::uint64_t is_operation = std::uint64_t{1} << 63U;
  static constexpr std::uint32_t chunk = ROTA_MODEL ? 2 : 256;
  static constexpr std::uint32_t chunks = ROTA_MODEL ? 2 : 256;

  operation_desk(Kernel& kernel, std::uint32_t most_given) noexcept
      : kernel_(kernel), most_given_(most_given) {}
  operation_desk(const operation_desk&) = delete;
  operation_desk& operator=(const operation_desk&) = delete;
  ~operation_desk() {
    for (operations* each : table_) delete each;
  }

  /// Null: there is no memory, or 65,536 are taken.
  [[nodiscard]] operation* take() noexcept {
    const base::lock_guard lock(mutex_);
    if (free_ == nullptr && !grow()) return nullptr;
    operation* const op = std::exchange(free_, free_->next_);
    op->next_ = nullptr;
    op->place_ = operation::place::taken;
    return op;
  }

  /// After it is done, or instead of start().
  void give_back(operation& op) noexcept {
    const base::lock_guard lock(mutex_);
    op.generation_ = (op.generation_ + 1) & most_generations;
    op.cancelling_ = false;
    // relaxed. Nobody else knows it, and whoever takes it next does so under the lock.
    op.done_.store(false, base::order::relaxed);
    op.place_ = operation::place::free;
    op.next_ = free_;
    free_ = &op;
  }

  /// `w` is woken once it is done.
  void start(operation& op, waker w) noexcept {
    // relaxed, both. in_flight(): who asks wants to know of what has ended, and of what was started before something it knows of.
    in_flight_.fetch_add(1, base::order::relaxed);
    started_.fetch_add(1, base::order::relaxed);
    op.waiting_ = std::move(w);
    const base::lock_guard lock(mutex_);
    if (line_.first != nullptr || !give(op)) stand_in_line(op);
  }

  /// What becomes of it. `pending`: its waker will be woken, after a flush.
  cancel_progress cancel(operation& op) noexcept {
    waker dropped;
    {
      const base::lock_guard lock(mutex_);
      // relaxed. Under the lock; what came before it is asked for by is_done().
      if (op.done_.load(base::order::relaxed)) return cancel_progress::ended;
      if (op.place_ != operation::place::in_line) {
        tell_of_cancel(op);
        return cancel_progress::pending;
      }
      unlink(line_, op);
      dropped = end(op, -ECANCELED);
    }
    note_ended();
    return cancel_progress::ended;
  }

  /// A completion. True: it has ended an operation, whose waker was woken.
  bool complete(std::uint64_t key, std::int32_t result) noexcept {
    waker woken;
    {
      const base::lock_guard lock(mutex_);
      operation* const op = find(key);
      if (op == nullptr) return false;
      --given_;
      if (result == -ECANCELED && !op->cancelling_) {
        give_again(*op);
        return false;
      }
      if (op->owes_cancel_) unlink(owed_, *op);
      op->owes_cancel_ = false;
      woken = end(*op, result);
      refill();
    }
    woken.wake();
    note_ended();
    return true;
  }

  /// Everything that was given goes to the kernel. False: it has refused, and must be asked again.
  bool flush() noexcept {
    if (!has_unflushed()) return true;
    const base::lock_guard lock(mutex_);
    if (!submit()) return false;
    refill();
    return !has_unflushed() || submit();
  }
  /// A guess for other threads; a thread sees what it has given itself.
  [[nodiscard]] bool has_unflushed() const noexcept {
    // relaxed. Whoever gave something sees it; others ask again.
    return unflushed_.load(base::order::relaxed);
  }

  /// Operations that have not ended.
  [[nodiscard]] std::uint32_t in_flight() const noexcept {
    // acquire. Pairs with note_ended(): all that was done for those that have ended.
    return in_flight_.load(base::order::acquire);
  }
  [[nodiscard]] operation_counts counts() const noexcept {
    // relaxed, all. A report.
    return {started_.load(base::order::relaxed),
            cancelled_.load(base::order::relaxed),
            resubmitted_.load(base::order::relaxed),
            refused_.load(base::order::relaxed)};
  }

 private:
  static constexpr std::uint32_t most_generations = 0x7FFF'FFFF;
  using operations = std::array<operation, chunk>;

  [[nodiscard]] static std::uint64_t key_of(const operation& op) noexcept {
    return is_operation | std::uint64_t{op.generation_} << 32U | op.slot_;
  }

  [[nodiscard]] bool grow() noexcept {
    if (used_ == chunks) return false;  // NOT IN A MODEL: a limit
    auto* const made = new (std::nothrow) operations;
    if (made == nullptr) return false;  // NOT IN A MODEL: no memory
    for (std::uint32_t i = chunk; i-- != 0;) {
      operation& each = (*made)[i];
      each.slot_ = used_ * chunk + i;
      each.next_ = std::exchange(free_, &each);
    }
    table_[used_++] = made;
    return true;
  }

  /// The operation that the kernel has under this key; null: another generation.
  [[nodiscard]] operation* find(std::uint64_t key) noexcept {
    const auto slot = static_cast<std::uint32_t>(key);
    if (slot / chunk >= used_) return nullptr;  // NOT IN A MODEL: the key of a cancel
    operation& op = (*table_[slot / chunk])[slot % chunk];
    return key_of(op) == key && op.place_ == operation::place::given ? &op : nullptr;
  }

  [[nodiscard]] bool give(operation& op) noexcept {
    if (given_ == most_given_) return false;
    const std::uint64_t key = key_of(op);
    if (!kernel_.put(op.request, key) && (!submit() || !kernel_.put(op.request, key))) return false;
    op.place_ = operation::place::given;
    ++given_;
    note_unflushed();
    return true;
  }

  void stand_in_line(operation& op) noexcept {
    op.place_ = operation::place::in_line;
    append(line_, op);
    note_unflushed();  // if it was not for room in the kernel's queue that it stands there, the next completion will do
  }

  /// It was dropped before it had begun. Those in the line wait for longer than it does.
  void give_again(operation& op) noexcept {
    // relaxed. A count.
    resubmitted_.fetch_add(1, base::order::relaxed);
    if (give(op)) return;
    op.place_ = operation::place::in_line;
    op.next_ = line_.first;
    op.previous_ = nullptr;
    (line_.first == nullptr ? line_.last : line_.first->previous_) = &op;
    line_.first = &op;
    note_unflushed();
  }

  void refill() noexcept {
    while (operation* const op = line_.first) {
      if (!give(*op)) return;
      unlink(line_, *op);
    }
  }

  void tell_of_cancel(operation& op) noexcept {
    if (op.cancelling_) return;
    op.cancelling_ = true;
    // relaxed. A count.
    cancelled_.fetch_add(1, base::order::relaxed);
    const std::uint64_t key = key_of(op);
    if (!kernel_.put_cancel(key) && (!submit() || !kernel_.put_cancel(key))) {
      op.owes_cancel_ = true;
      append(owed_, op);
    }
    note_unflushed();  // last: submit() takes the note back
  }

  /// What could not be put before is put now; then all goes.
  bool submit() noexcept {
    for (;;) {
      if (!kernel_.submit()) {
        // relaxed. A count.
        refused_.fetch_add(1, base::order::relaxed);
        return false;
      }
      if (owed_.first == nullptr) break;
      while (owed_.first != nullptr && kernel_.put_cancel(key_of(*owed_.first))) {
        operation& op = *owed_.first;
        unlink(owed_, op);
        op.owes_cancel_ = false;
      }
    }
    // relaxed. See has_unflushed().
    unflushed_.store(false, base::order::relaxed);
    return true;
  }

  [[nodiscard]] waker end(operation& op, std::int32_t result) noexcept {
    op.result_.set(result);
    waker woken = std::move(op.waiting_);
    op.place_ = operation::place::taken;
    // release. Pairs with is_done(). Its leaf may go on, and give it back, from here on.
    op.done_.store(true, base::order::release);
    return woken;
  }

  void note_ended() noexcept {
    // release. Pairs with in_flight().
    in_flight_.fetch_sub(1, base::order::release);
  }
  void note_unflushed() noexcept {
    // relaxed. See has_unflushed().
    unflushed_.store(true, base::order::relaxed);
  }

  static void append(operation_list& list, operation& op) noexcept {
    op.next_ = nullptr;
    op.previous_ = list.last;
    (list.last == nullptr ? list.first : list.last->next_) = &op;
    list.last = &op;
  }
  static void unlink(operation_list& list, operation& op) noexcept {
    (op.previous_ == nullptr ? list.first : op.previous_->next_) = op.next_;
    (op.next_ == nullptr ? list.last : op.next_->previous_) = op.previous_;
    op.next_ = nullptr;
    op.previous_ = nullptr;
  }

  Kernel& kernel_;
  const std::uint32_t most_given_;
  base::atomic<std::uint32_t> in_flight_{0};
  base::atomic<bool> unflushed_{false};
  base::atomic<std::uint64_t> started_{0};
  base::atomic<std::uint64_t> cancelled_{0};
  base::atomic<std::uint64_t> resubmitted_{0};
  base::atomic<std::uint64_t> refused_{0};

  base::mutex mutex_;  // guards everything below, and the kernel's queue
  operation_list line_;
  operation_list owed_;
  std::uint32_t given_ = 0;
  operation* free_ = nullptr;
  std::uint32_t used_ = 0;
  std::array<operations*, chunks> table_{};
};

}  // namespace rota::driver
