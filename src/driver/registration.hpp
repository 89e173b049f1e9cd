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
  lasts,  // the end, an error, urgent data: whoever comes tries before he waits
};

// PROTOCOL: registration
//   One descriptor that the driver watches, in two directions. Registrations are recycled and never freed while their driver lives,
//   so an event that comes late finds one that is alive, perhaps of another descriptor: `generation` tells. All fields are guarded
//   by `mutex`.
//
//   field       means                                                                set by              cleared by
//   generation  how often the slot was given back (31 bits); a part of the key       close()             never
//   ended       somebody closed what lies here: nobody waits for it any more         end()               open()
//   ready[d]    an event has come in this direction, and nobody has consumed it      event()             arm(), arm_untried(), take_ready()
//   sticky[d]   an event said that the other side has finished, or that something is event()             open()
//               broken, or urgent: nobody may wait before he has tried
//   waiting[d]  the waker of the one task that waits in this direction               arm(),              event(), disarm(), end(),
//                                                                                    arm_untried()       close()
//
//   open:    both directions as new; the key is {0, generation:31, slot:32}
//   event:   lock · another generation: drop it · ready, and sticky if it lasts · move the wakers out · unlock · wake
//   arm:     after a try that would block: lock · ended or ready: consume ready, try again · else leave the waker · unlock
//   arm_untried: the same before a try: sticky says no, too
//   disarm:  lock · take the waker back · unlock. `ready` stays for the next who waits
//   end:     lock · ended · move both wakers out · unlock · wake. From any task; the descriptor is shut down after it, and closed when
//            its last owner goes: a thread in the middle of a try must not meet another descriptor of that number
//   close:   lock · generation + 1 · move the wakers out · unlock · drop. Before the descriptor is closed; nobody waits any more
//
//   Who may wait before it tries: who has read less than it asked for, from what says by an event that more has come, as TCP does; and
//   nothing sticky has come. What comes after that read is an event of its own; what came before was in it, or is in the event that
//   brought it: the kernel asks the file when it hands the event out. Not Unix sockets: a read stops where the sender's credentials
//   change. Not after urgent data: a read stops at the mark.
//   Who has tried must not be refused for what is sticky: an error may be gone with the try that told it, and the next one would block.
//
//   I1  a stale event wakes nobody and marks nothing: its generation has gone, compared under the lock that guards what it would change.
//   I2  of {event remembered, waker left} at least one side sees the other: both under one lock.
//   I3  no waker is woken or dropped under the lock.
//   I4  after end() no task waits: of {ended, waker left} at least one side sees the other, as in I2. Who is told to try again asks
//       has_ended() first.
//   I5  what lasts is never consumed: who comes later tries at once, and hears it from the kernel.
//   I6  a cancelled wait consumes nothing.
//   I7  a slot is opened again only after close(): its generation has moved, under the mutex that orders the two owners.
//   Checked: tests/model/registration_model.cpp; two waiters of one direction: ROTA_FATAL.
//   Orders: none. The mutex orders everything.
class registration {
 public:
  registration() = default;
  explicit registration(std::uint32_t generation) noexcept : generation_(generation) {}

  /// What the kernel hands back with every event: slot and generation. Its highest bit is 0.
  [[nodiscard]] std::uint64_t open(std::uint32_t slot) noexcept {
    const base::lock_guard lock(mutex_);
    ended_ = false;
    read_ = {};
    write_ = {};
    return std::uint64_t{generation_} << 32U | slot;
  }

  /// From now on no event of the old descriptor counts. Nobody waits any more.
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

  /// After a try that would block. True: there is a reason to try again, if it has not ended; `w` was not kept.
  [[nodiscard]] bool arm(direction d, waker& w) noexcept { return arm(d, w, false); }
  /// The same without a try, for those who may: see above.
  [[nodiscard]] bool arm_untried(direction d, waker& w) noexcept { return arm(d, w, true); }

  /// Consumes an event, if one has come; or nobody waits here any more.
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

  /// Nobody waits any more: who does is woken, and finds has_ended(). Any thread that keeps the slot from being given back.
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
    // One task at a time in each direction. The first would never hear of its event: better an end than a hang.
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
