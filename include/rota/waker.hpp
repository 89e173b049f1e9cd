// Wakers: how a leaf tells its task that the task may go on.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/unguarded.hpp>

namespace rota {

/// The operations of a waker on its pointer. Any thread may call them; they must not throw.
struct waker_vtable {
  void (*wake)(void* data) noexcept;         // wakes, and gives up the reference
  void (*wake_by_ref)(void* data) noexcept;  // wakes, and keeps the reference
  void* (*clone)(void* data) noexcept;       // adds a reference; returns the pointer for the new waker
  void (*drop)(void* data) noexcept;         // gives up the reference
};

/// A reference to something that can be woken: a task, a thread, a callback. Two words.
///
/// Threads       Any thread may wake, clone and drop; one waker object is used by one thread at a time.
/// Ownership     Owns one reference: a task stays in memory, finished or not, while a waker for it lives.
/// Ordering      What the caller did before `wake`, redundant or not, happens before the task next checks its
///               leaf.
/// Failure       Never. Waking a task that has ended does nothing.
/// Cost          wake: one atomic read-modify-write, and one push if the task was idle. clone, drop: one
///               each.
/// Example       examples/custom_leaf.cpp
class waker {
 public:
  waker() noexcept = default;
  waker(void* data, const waker_vtable* vtable) noexcept : data_(data), vtable_(vtable) {}
  waker(waker&& other) noexcept : data_(other.data_), vtable_(std::exchange(other.vtable_, nullptr)) {}
  waker& operator=(waker&& other) noexcept {
    waker old(std::move(*this));
    data_ = other.data_;
    vtable_ = std::exchange(other.vtable_, nullptr);
    return *this;
  }
  waker(const waker&) = delete;
  waker& operator=(const waker&) = delete;
  ~waker() {
    if (vtable_ == nullptr) return;
    core::demand_unguarded();
    vtable_->drop(data_);
  }

  /// Returns false for a default-constructed or moved-from waker; waking such a waker does nothing.
  [[nodiscard]] explicit operator bool() const noexcept { return vtable_ != nullptr; }

  /// Wakes and becomes empty.
  void wake() noexcept {
    if (const auto* vtable = std::exchange(vtable_, nullptr)) {
      core::demand_unguarded();
      vtable->wake(data_);
    }
  }
  /// Wakes and stays usable.
  void wake_by_ref() const noexcept {
    if (vtable_ == nullptr) return;
    core::demand_unguarded();
    vtable_->wake_by_ref(data_);
  }
  [[nodiscard]] waker clone() const noexcept {
    return vtable_ == nullptr ? waker() : waker(vtable_->clone(data_), vtable_);
  }
  /// Returns true if waking either wakes the same thing.
  [[nodiscard]] bool will_wake(const waker& other) const noexcept {
    return vtable_ == other.vtable_ && (vtable_ == nullptr || data_ == other.data_);
  }

 private:
  void* data_ = nullptr;
  const waker_vtable* vtable_ = nullptr;
};

/// Returns a waker that does nothing.
[[nodiscard]] ROTA_API waker noop_waker() noexcept;

namespace detail {

template <class F>
struct callback_box {
  base::atomic<std::uint32_t> references{1};
  F call;

  explicit callback_box(F f) : call(std::move(f)) {}

  static callback_box* of(void* data) noexcept { return static_cast<callback_box*>(data); }
  static void wake_by_ref(void* data) noexcept { of(data)->call(); }
  static void wake(void* data) noexcept {
    of(data)->call();
    drop(data);
  }
  static void* clone(void* data) noexcept {
    // relaxed: the caller owns a reference already, so the count cannot fall to zero meanwhile.
    of(data)->references.fetch_add(1, base::order::relaxed);
    return data;
  }
  static void drop(void* data) noexcept {
    // acq_rel: release: this owner's last use of the callback happens before its destruction. acquire: the
    // thread that destroys it sees the last use of every other owner.
    if (of(data)->references.fetch_sub(1, base::order::acq_rel) == 1) delete of(data);
  }
  static constexpr waker_vtable vtable{wake, wake_by_ref, clone, drop};
};

}  // namespace detail

/// Returns a waker that calls `f` on the waking thread, any number of times, possibly from several threads at
/// once. `f` must not throw. Allocates once; throws `std::bad_alloc`.
template <class F>
  requires std::is_nothrow_invocable_v<F&>
[[nodiscard]] waker callback_waker(F f) {
  return {new detail::callback_box<F>(std::move(f)), &detail::callback_box<F>::vtable};
}

}  // namespace rota
