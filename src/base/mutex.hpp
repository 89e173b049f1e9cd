// A four-byte lock for short critical sections: no user code, no wake and no allocation under it.
#pragma once

#include "base/atomic.hpp"

#include <rota/detail/base_mutex.hpp>

namespace rota::base {

class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(mutex& m) noexcept : mutex_(m) { mutex_.lock(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;
  ~lock_guard() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

}  // namespace rota::base
