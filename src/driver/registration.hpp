// One descriptor that the driver watches, in two directions.
#pragma once

#include "base/mutex.hpp"

#include <rota/waker.hpp>

#include <cstdint>
#include <utility>

namespace rota::driver {

enum class direction : std::uint8_t { read, write };

/// What an event says of one direction.
enum class news : std::uint8_t {
  none,
  once,   // try, until the kernel says that it would block: then another event comes
  lasts,  // the end, an error, urgent data: a task must try before it waits
};

// PROTOCOL: registration
//   One descriptor that the driver watches, in two directions. Registrations are recycled, and not freed
//   while their driver lives. So a late event finds a live registration, perhaps of another descriptor:
//   `generation` tells. `mutex` guards all fields.
//
//   field       means                                                     set by        cleared by
//   generation  how often the slot was given back (31 bits); in the key   close()       never
//   ended       the descriptor was closed: no task waits for it any more  end()         open()
//   ready[d]    an event has come in this direction, and was not consumed event()       arm(), arm_untried(),
//                                                                                       take_ready()
//   sticky[d]   a lasting event has come (end, error or urgent data):     event()       open()
//               a task must try before it waits
//   waiting[d]  the waker of the one task that waits in this direction    arm(),        event(), disarm(),
//                                                                         arm_untried() end(), close()
//
//   open:    both directions as new; the key is {0, generation:31, slot:32}
//   event:   lock · another generation: drop it · set ready, and sticky if it lasts · move the wakers out ·
//            unlock · wake
//   arm:     after a try that would block: lock · ended or ready: consume ready, try again · else leave the
//            waker · unlock
//   arm_untried: the same before a try: sticky refuses, too
//   disarm:  lock · take the waker back · unlock. `ready` stays for the next task that waits
//   end:     lock · set ended · move both wakers out · unlock · wake. Called by any task. The descriptor is
//            shut down after it, and closed when its last owner goes: a thread in the middle of a try must
//            not use another descriptor of that number
//   close:   lock · generation + 1 · move the wakers out · unlock · drop. Called before the descriptor is
//            closed; no task waits any more
//
//   When a task may wait before it tries: its last read got less than it asked for, nothing sticky has come,
//   and the descriptor reports by an event that more bytes have come, as TCP does. Bytes that come after that
//   read have their own event. Bytes that came before were in the read, or are covered by the event that
//   brought it: the kernel asks the file when it hands the event out. Not for Unix sockets: a read stops
//   where the sender's credentials change. Not after urgent data: a read stops at the mark.
//   After a try a sticky event must not refuse the wait: an error may be cleared by the try that returned it,
//   and the next try would block.
//
//   I1  A stale event wakes no task and marks nothing: its generation has passed. It is compared under the
//       lock that guards what it would change.
//   I2  Of {event remembered, waker left} at least one side sees the other: both are under one lock.
//   I3  No waker is woken or dropped under the lock.
//   I4  After end() no task waits: of {ended, waker left} at least one side sees the other, as in I2. A task
//       that is told to try again asks has_ended() first.
//   I5  A lasting event is never consumed: a later task tries at once, and the kernel returns it.
//   I6  A cancelled wait consumes nothing.
//   I7  A slot is opened again only after close(): its generation has changed, under the mutex that orders
//       the two owners.
//   Checked: tests/model/registration_model.cpp; two waiters of one direction: ROTA_FATAL.
//   Orders: none. The mutex orders everything.
class registration {
 public:
  registration() = default;
  explicit registration(std::uint32_t generation) noexcept : generation_(generation) {}

  /// Begins to use the slot, and returns the key, slot and generation, which the kernel returns with every
  /// event. Its highest bit is 0.
  [[nodiscard]] std::uint64_t open(std::uint32_t slot) noexcept {
    const base::lock_guard lock(mutex_);
    ended_ = false;
    read_ = {};
    write_ = {};
    return std::uint64_t{generation_} << 32U | slot;
  }

  /// Ends the use of the slot: events of the old descriptor are dropped from now on. No task waits any more.
  void close() noexcept {
    waker first;
    waker second;
    const base::lock_guard lock(mutex_);
    generation_ = (generation_ + 1) & most_generations;
    first = std::move(read_.waiting);
    second = std::move(write_.waiting);
  }

  void event(std::uint32_t generation, news reading, news writing) noexcept {
    waker reader;
    waker writer;
    {
      const base::lock_guard lock(mutex_);
      if (generation != generation_) return;
      reader = read_.arrive(reading);
      writer = write_.arrive(writing);
    }
    reader.wake();
    writer.wake();
  }

  /// Leaves the waker after a try that would block. Returns true, and does not keep `w`, if an event has come
  /// (then the task must try again), or if the registration has ended.
  [[nodiscard]] bool arm(direction d, waker& w) noexcept { return arm(d, w, false); }
  /// The same without a try before it. For the conditions see the protocol.
  [[nodiscard]] bool arm_untried(direction d, waker& w) noexcept { return arm(d, w, true); }

  /// Consumes an event, if one has come. Returns true if one had come, or if it has ended.
  [[nodiscard]] bool take_ready(direction d) noexcept {
    const base::lock_guard lock(mutex_);
    return std::exchange(of(d).ready, false) || ended_;
  }
  [[nodiscard]] bool is_ready(direction d) noexcept {
    const base::lock_guard lock(mutex_);
    return of(d).ready;
  }

  void disarm(direction d) noexcept {
    waker dropped;
    const base::lock_guard lock(mutex_);
    dropped = std::move(of(d).waiting);
  }

  /// Wakes the waiting tasks; they find has_ended(). No task waits afterwards. Any thread that keeps the slot
  /// from being given back.
  void end() noexcept {
    waker reader;
    waker writer;
    {
      const base::lock_guard lock(mutex_);
      ended_ = true;
      reader = std::move(read_.waiting);
      writer = std::move(write_.waiting);
    }
    reader.wake();
    writer.wake();
  }
  [[nodiscard]] bool has_ended() noexcept {
    const base::lock_guard lock(mutex_);
    return ended_;
  }

  std::uint32_t next_free = 0;  // the driver's, under its lock

 private:
  static constexpr std::uint32_t most_generations = 0x7FFF'FFFF;

  struct side {
    waker waiting;
    bool ready = false;
    bool sticky = false;

    [[nodiscard]] waker arrive(news what) noexcept {
      if (what == news::none) return {};
      ready = true;
      if (what == news::lasts) sticky = true;
      return std::move(waiting);
    }
  };
  [[nodiscard]] side& of(direction d) noexcept { return d == direction::read ? read_ : write_; }

  [[nodiscard]] bool arm(direction d, waker& w, bool untried) noexcept {
    const base::lock_guard lock(mutex_);
    side& s = of(d);
    if (std::exchange(s.ready, false)) return true;
    if (ended_) return true;
    if (untried && s.sticky) return true;
    // One task at a time in each direction. Otherwise the first one would never be woken: better to end the
    // program than to hang.
    if (s.waiting) ROTA_FATAL("two tasks wait for the same direction of one socket", 0);
    s.waiting = std::move(w);
    return false;
  }

  base::mutex mutex_;
  std::uint32_t generation_ = 0;
  bool ended_ = false;
  side read_;
  side write_;
};

}  // namespace rota::driver
