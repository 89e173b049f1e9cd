// An operation that the kernel performs for one task, and the table that passes operations to the kernel.
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
//   An operation that the kernel performs for one task: a read, a write, an open. It is in a slot of the
//   table of operation_desk, not in the frame that awaits it. Slots are recycled, and not freed while the
//   operation_desk lives. The memory that it points to, the caller's buffer or a path, must live until its
//   completion was seen. So the awaiting leaf lets its frames go only after `done` (leaf::try_cancel returns
//   `pending`).
//
//   field       means                                             set by                cleared by
//   done        `result` is set; the kernel touches nothing more  complete(), cancel()  give_back()
//   place       free, taken by a leaf, in the line (no space), or take(), start(),      give_back()
//               given to the kernel                               complete()
//   cancelling  the awaiting task is cancelled                    cancel()              give_back()
//   owes_cancel a cancel is still to be put: the queue was full   cancel()              complete(), flush()
//   generation  how often it was given back (31 bits); in the key give_back()           never
//
//   field       owned by
//   next        the list that the operation is in: the free list, the line, or the list of owed cancels
//   previous    the line, or the list of owed cancels: a cancelled operation leaves the middle of a list
//               without a walk
//   request     its leaf, until start(); then the holder of the lock
//   waiting     its leaf, in start(); then the thread that sets `done`, which moves it out before that
//   result      the thread that sets `done`, before that; its leaf, after it has seen `done`
//   All fields are guarded by the lock of operation_desk, except `done`, which the leaf reads without it, and
//   the fields while the leaf owns them.
//
//   start:     lock · line empty, and the kernel has space: give the operation to the kernel; else append it
//              to the line · unlock
//   complete:  lock · another generation: drop it · -ECANCELED and not cancelling: the thread that had
//              submitted it has ended, and so the kernel dropped it: give it again · else set result, move
//              the waker out, set done: from here on the leaf owns it, and another task may get the slot ·
//              give operations of the line to the kernel · unlock · wake
//   cancel:    lock · done: return ended · in the line: remove it, -ECANCELED, done: return ended · else set
//              cancelling, put a cancel: return pending · unlock. The next flush submits the cancel, with all
//              others that were put: no system call for each
//   give_back: lock · generation + 1 · free · unlock
//
//   I1  A buffer is released, a frame destroyed, a slot reused only after `done`.
//   I2  Each operation ends once: there is one completion for each time it was given, and it is given again
//       only after that completion.
//   I3  A stale completion or a late cancel finds another generation, and has no effect.
//   I4  Of {cancelling, given again} each sees the other: both are under the lock. The kernel takes its queue
//       in order, so a cancel comes after the operation that it cancels.
//   I5  Given operations and cancels are flushed: by their worker before it parks, before it lends its role,
//       and when it polls the driver (after at most 61 task polls); at once by a thread without a role; by
//       the poller before it waits; by the watchdog if the worker stays in one poll. What a flush could not
//       submit stays, and has_unflushed() returns true.
//   I6  Without space nothing is lost: operations wait in the line, which moves on with each completion and
//       each flush; owed cancels are put by the next flush.
//   I7  No waker is woken or dropped under the lock.
//   Freed by: operation_desk, with its table, when nothing is in flight.
//   Orders: `done` is stored with release after the result, and loaded with acquire by the leaf: the result
//   and the kernel's bytes come before it. The lock orders all else.
//   Checked: tests/model/operation_model.cpp
class operation {
 public:
  /// What the kernel is to do. The leaf that has taken the slot fills it in before start().
  base::sys::ring_request request{};

  [[nodiscard]] bool is_done() const noexcept {
    // acquire: pairs with the release in operation_desk::end(): the result, and the bytes that the kernel has
    // written.
    return done_.load(base::order::acquire);
  }
  /// Returns what the system call would return, or -errno. Valid when is_done().
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

/// A FIFO through operation::next_, guarded by the lock of operation_desk.
struct operation_list {
  operation* first = nullptr;
  operation* last = nullptr;
};

struct operation_counts {
  std::uint64_t started = 0;
  std::uint64_t cancelled = 0;    // cancelled while the kernel had them
  std::uint64_t resubmitted = 0;  // given again, since the submitting thread had ended
  std::uint64_t refused = 0;      // flushes that the kernel had no space for
};

/// Passes operations to a Kernel:
///   bool put(const ring_request&, std::uint64_t key)   returns false if its queue is full
///   bool put_cancel(std::uint64_t key)                 returns false if its queue is full
///   bool submit()                                      submits the whole queue; returns false if the
///                                                      kernel refused it: then it stays queued
/// These are called under the lock. All members may be called by any thread.
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

  /// Returns a free operation, or null if there is no memory, or if 65,536 are taken.
  [[nodiscard]] operation* take() noexcept {
    const base::lock_guard lock(mutex_);
    if (free_ == nullptr && !grow()) return nullptr;
    operation* const op = std::exchange(free_, free_->next_);
    op->next_ = nullptr;
    op->place_ = operation::place::taken;
    return op;
  }

  /// Frees the operation after it is done, or instead of start().
  void give_back(operation& op) noexcept {
    const base::lock_guard lock(mutex_);
    op.generation_ = (op.generation_ + 1) & most_generations;
    op.cancelling_ = false;
    // relaxed: no other thread uses it, and the next leaf takes it under the lock.
    op.done_.store(false, base::order::relaxed);
    op.place_ = operation::place::free;
    op.next_ = free_;
    free_ = &op;
  }

  /// Starts the operation. `w` is woken when it is done.
  void start(operation& op, waker w) noexcept {
    // relaxed, both: a reader of in_flight() needs only the operations that have ended, and those that were
    // started before an event that it knows of.
    in_flight_.fetch_add(1, base::order::relaxed);
    started_.fetch_add(1, base::order::relaxed);
    op.waiting_ = std::move(w);
    const base::lock_guard lock(mutex_);
    if (line_.first != nullptr || !give(op)) stand_in_line(op);
  }

  /// Cancels the operation. Returns `ended` or `pending`. If `pending`, its waker will be woken, after a
  /// flush.
  cancel_progress cancel(operation& op) noexcept {
    waker dropped;
    {
      const base::lock_guard lock(mutex_);
      // relaxed: under the lock; the leaf orders itself after the completion by is_done().
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

  /// Handles a completion. Returns true if it has ended an operation and woken its waker.
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

  /// Submits all queued operations to the kernel. Returns false if the kernel has refused: the flush must be
  /// repeated.
  bool flush() noexcept {
    if (!has_unflushed()) return true;
    const base::lock_guard lock(mutex_);
    if (!submit()) return false;
    refill();
    return !has_unflushed() || submit();
  }
  /// Returns whether there may be something to flush. Exact for the operations of the calling thread, a hint
  /// for those of others.
  [[nodiscard]] bool has_unflushed() const noexcept {
    // relaxed: a thread sees the operations that it has given itself; other threads ask again.
    return unflushed_.load(base::order::relaxed);
  }

  /// Returns the number of operations that have not ended.
  [[nodiscard]] std::uint32_t in_flight() const noexcept {
    // acquire: pairs with the release in note_ended(): all work for the operations that have ended.
    return in_flight_.load(base::order::acquire);
  }
  [[nodiscard]] operation_counts counts() const noexcept {
    // relaxed, all: counters for reports.
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

  /// Returns the operation that the kernel has under this key, or null if the generation differs.
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
    // If it waits for another reason than a full queue of the kernel, the next completion moves the line on
    // anyway.
    note_unflushed();
  }

  /// Gives an operation again that the kernel dropped before it had begun. It goes to the front of the line:
  /// the others have come later.
  void give_again(operation& op) noexcept {
    // relaxed: a counter.
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
    // relaxed: a counter.
    cancelled_.fetch_add(1, base::order::relaxed);
    const std::uint64_t key = key_of(op);
    if (!kernel_.put_cancel(key) && (!submit() || !kernel_.put_cancel(key))) {
      op.owes_cancel_ = true;
      append(owed_, op);
    }
    note_unflushed();  // last, since submit() clears it
  }

  /// Puts owed cancels, and submits the whole queue.
  bool submit() noexcept {
    for (;;) {
      if (!kernel_.submit()) {
        // relaxed: a counter.
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
    // relaxed: same reason as in has_unflushed().
    unflushed_.store(false, base::order::relaxed);
    return true;
  }

  [[nodiscard]] waker end(operation& op, std::int32_t result) noexcept {
    op.result_.set(result);
    waker woken = std::move(op.waiting_);
    op.place_ = operation::place::taken;
    // release: pairs with the acquire in is_done(). From here on its leaf may go on and give it back.
    op.done_.store(true, base::order::release);
    return woken;
  }

  void note_ended() noexcept {
    // release: pairs with the acquire in in_flight().
    in_flight_.fetch_sub(1, base::order::release);
  }
  void note_unflushed() noexcept {
    // relaxed: same reason as in has_unflushed().
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
