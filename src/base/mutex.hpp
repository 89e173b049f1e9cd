// A four-byte lock for short critical sections: no user code, no wake and no allocation under it.
#pragma once

#include "base/atomic.hpp"
#include "base/guarded.hpp"

#include <rota/detail/base_mutex.hpp>

namespace rota::base {

/// Holds the mutex while it lives. Counted as a lock: see base/guarded.hpp.
class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(mutex& m) noexcept : mutex_(m) {
    mutex_.lock();
    note_locked();
  }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;
  ~lock_guard() {
    note_unlocked();
    mutex_.unlock();
  }

 private:
  mutex& mutex_;
};

/// Holds the mutex for an operation that only one thread may do at a time. Everything is allowed inside, so
/// it is not counted as a lock.
class [[nodiscard]] turn_guard {
 public:
  explicit turn_guard(mutex& m) noexcept : mutex_(m) { mutex_.lock(); }
  turn_guard(const turn_guard&) = delete;
  turn_guard& operator=(const turn_guard&) = delete;
  ~turn_guard() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

}  // namespace rota::base
