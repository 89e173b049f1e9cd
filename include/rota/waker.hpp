// How a leaf tells its task that it may go on.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/unguarded.hpp>

namespace rota {

/// What a waker does with its pointer. All four are called from any thread and must not throw.
struct waker_vtable {
  void (*wake)(void* data) noexcept;         // wakes, and gives the reference up
  void (*wake_by_ref)(void* data) noexcept;  // wakes, and keeps it
  void* (*clone)(void* data) noexcept;       // one more reference; the pointer for the new waker
  void (*drop)(void* data) noexcept;         // gives the reference up
};

/// A reference to something that can be woken: a task, a thread, a callback. Two words.
///
/// Threads       Any thread may wake, clone and drop; one waker object is used by one thread at a time.
/// Ownership     Owns one reference: a task stays in memory, finished or not, while a waker for it lives.
/// Ordering      What the caller did before `wake`, redundant or not, happens before the task's next look at its leaf.
/// Failure       Never. Waking a task that has ended does nothing.
/// Cost          wake: one atomic read-modify-write, and one push if the task was idle. clone, drop: one each.
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

  /// False for a default-constructed or moved-from waker; waking that does nothing.
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
  /// True if waking either wakes the same thing.
  [[nodiscard]] bool will_wake(const waker& other) const noexcept {
    return vtable_ == other.vtable_ && (vtable_ == nullptr || data_ == other.data_);
  }

 private:
  void* data_ = nullptr;
  const waker_vtable* vtable_ = nullptr;
};

/// A waker that does nothing.
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
    // relaxed. The caller owns a reference already, so the count cannot fall to zero meanwhile.
    of(data)->references.fetch_add(1, base::order::relaxed);
    return data;
  }
  static void drop(void* data) noexcept {
    // acq_rel. release: my last use of the callback happens before its end.
    //          acquire: if I end it, every other owner's last use has happened.
    if (of(data)->references.fetch_sub(1, base::order::acq_rel) == 1) delete of(data);
  }
  static constexpr waker_vtable vtable{wake, wake_by_ref, clone, drop};
};

}  // namespace detail

/// A waker that calls `f`: on the waking thread, any number of times, possibly from several threads at once.
/// `f` must not throw. Allocates once; throws `std::bad_alloc`.
template <class F>
  requires std::is_nothrow_invocable_v<F&>
[[nodiscard]] waker callback_waker(F f) {
  return {new detail::callback_box<F>(std::move(f)), &detail::callback_box<F>::vtable};
}

}  // namespace rota
