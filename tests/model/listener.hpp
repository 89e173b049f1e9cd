// A waker's target, for models of code that wakes.
#pragma once

#include <rota/detail/base.hpp>
#include <rota/testing/explore.hpp>
#include <rota/waker.hpp>

namespace rota::model {

using testing::check;

/// Counts the ends of its wakers. The write before arm() is plain, so the wake must come after it.
struct listener {
  base::cell<int> written;
  base::atomic<unsigned> woken{0};
  base::atomic<unsigned> dropped{0};

  static listener& of(void* data) noexcept { return *static_cast<listener*>(data); }
  static void wake(void* data) noexcept {
    check(of(data).written.get() == 1, "a wake sees what was written before arm()");
    // relaxed. A count.
    of(data).woken.fetch_add(1, base::order::relaxed);
  }
  static void drop(void* data) noexcept {
    // relaxed. A count.
    of(data).dropped.fetch_add(1, base::order::relaxed);
  }
  static void* clone(void* data) noexcept { return data; }
  static constexpr waker_vtable vtable{wake, wake, clone, drop};

  waker listen() noexcept {
    written.set(1);
    return {this, &vtable};
  }
  // relaxed, both. The threads have ended.
  [[nodiscard]] unsigned wakes() const noexcept { return woken.load(base::order::relaxed); }
  [[nodiscard]] unsigned drops() const noexcept { return dropped.load(base::order::relaxed); }
};

}  // namespace rota::model
