// One descriptor that the driver watches, in two directions.
#pragma once

#include "base/mutex.hpp"

#include <rota/waker.hpp>

#include <cstdint>
#include <utility>

namespace rota::driver {

enum class direction : std::uint8_t { read, write };

// PROTOCOL: registration
//   Registrations are recycled and never freed while their driver lives, so an event that comes late finds one that is
//   alive, perhaps of another descriptor: `generation` tells. All fields are guarded by `mutex`.
//   ready    an event has come in this direction, and nobody has consumed it: edge-triggered, so it is remembered
//   waiting  the waker of the one task that waits in this direction
//   Event: set ready, move the waker out, unlock, wake. Arm: ready: consume it and do not wait; else leave the waker.
//   Cancel: take the waker back. An event that was not consumed stays for the next who waits.
//   I1  a stale event (its generation has gone) wakes nobody and marks nothing.
//   I2  of {event remembered, waker left} at least one side sees the other: both under one lock.
//   I3  no waker is woken or dropped under the lock.
class registration {
 public:
  /// What the kernel hands back with every event: slot and generation.
  [[nodiscard]] std::uint64_t open(std::uint32_t slot) noexcept {
    const base::lock_guard lock(mutex_);
    read_ = {};
    write_ = {};
    return std::uint64_t{generation_} << 32U | slot;
  }

  /// From now on no event of the old descriptor counts. Nobody waits any more.
  void close() noexcept {
    waker first;
    waker second;
    const base::lock_guard lock(mutex_);
    ++generation_;
    first = std::move(read_.waiting);
    second = std::move(write_.waiting);
  }

  void event(std::uint32_t generation, bool readable, bool writable) noexcept {
    waker reader;
    waker writer;
    {
      const base::lock_guard lock(mutex_);
      if (generation != generation_) return;
      if (readable) reader = read_.arrive();
      if (writable) writer = write_.arrive();
    }
    reader.wake();
    writer.wake();
  }

  /// True: an event was there; it is consumed, and `w` was not kept.
  [[nodiscard]] bool arm(direction d, waker& w) noexcept {
    const base::lock_guard lock(mutex_);
    side& s = of(d);
    if (std::exchange(s.ready, false)) return true;
    // One task at a time in each direction. The first would never hear of its event: better an end than a hang.
    if (s.waiting) ROTA_FATAL("two tasks wait for the same direction of one socket", 0);
    s.waiting = std::move(w);
    return false;
  }

  /// Consumes an event, if one has come.
  [[nodiscard]] bool take_ready(direction d) noexcept {
    const base::lock_guard lock(mutex_);
    return std::exchange(of(d).ready, false);
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

  std::uint32_t next_free = 0;  // the driver's, under its lock

 private:
  struct side {
    waker waiting;
    bool ready = false;

    [[nodiscard]] waker arrive() noexcept {
      ready = true;
      return std::move(waiting);
    }
  };
  [[nodiscard]] side& of(direction d) noexcept { return d == direction::read ? read_ : write_; }

  base::mutex mutex_;
  std::uint32_t generation_ = 0;
  side read_;
  side write_;
};

}  // namespace rota::driver
