// A value that is made once, by the first task or thread that needs it.
#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/task.hpp>
#include <rota/time.hpp>

namespace rota::sync {

/// Why set() left the cell as it is.
enum class set_refusal : unsigned char {
  full,  // it has a value
  busy,  // another task or thread is making it
};

[[nodiscard]] constexpr const char* to_string(set_refusal refusal) noexcept {
  switch (refusal) {
    case set_refusal::full: return "full";
    case set_refusal::busy: return "busy";
  }
  return "unknown";
}

}  // namespace rota::sync

namespace rota::core {

// PROTOCOL: once cell
//   word_    bits 0-1: empty 0 · busy 1 · full 2; bit 2: waiting
//
//   claim    empty -> busy, by compare-exchange: the caller makes the value. If the cell is busy: under the
//            list's lock a compare-exchange that has seen it busy sets `waiting`, and the caller joins the
//            list.
//   look     the same for a caller that waits for a value and does not make it. It also waits in an empty
//            cell.
//   fill     busy -> full, by compare-exchange while there is no waiter. Otherwise the same under the list's
//            lock, and all waiters are granted.
//   abandon  busy -> empty, by compare-exchange while there is no waiter. Otherwise, under the list's lock:
//            the first waiter that claims (`wanted` of its node) is granted the claim (`kind`), and the cell
//            stays busy. If none claims, the cell is empty, and the lookers wait on.
//
//   O1  Under the lock, the list has waiters exactly while `waiting` is set. Only the lock's holder changes
//       that bit. While the cell is empty, no waiter in the list claims.
//   O2  While the cell is busy, the storage of the value belongs to the owner of the claim. Once it is full,
//       every thread may read it, for good.
//   O3  A claim that was granted and is given up is abandoned: the next waiter makes the value.
//   O4  With waiters the cell becomes full only under the list's lock: see W5 of the wait list.
class ROTA_API once_core {
 public:
  once_core() noexcept = default;
  once_core(const once_core&) = delete;
  once_core& operator=(const once_core&) = delete;
  ~once_core() {
    list_.end("a sync::once_cell was destroyed while a task or a thread waits for it");
    // relaxed: the destroying thread has made sure that all others are done.
    if ((word_.load(base::order::relaxed) & mask) == busy) [[unlikely]]
      end_in_use();
  }

  [[nodiscard]] bool is_full() const noexcept {
    // acquire: pairs with the release in fill(). The value is there.
    return (word_.load(base::order::acquire) & mask) == full;
  }
  /// Claims an empty cell. On success the caller has the claim.
  [[nodiscard]] std::expected<void, sync::set_refusal> try_claim() noexcept;
  /// Called by the owner of the claim.
  void fill() noexcept;
  void abandon() noexcept;

  [[nodiscard]] wait_target looking() noexcept { return {&list_, this, &look_rules}; }
  [[nodiscard]] wait_target claiming() noexcept { return {&list_, this, &claim_rules}; }
  /// Returns true if the wait of this node ended with the claim. False: the cell is full.
  [[nodiscard]] static bool has_claim(const wait_node& me) noexcept { return me.kind == claimed; }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t busy = 1;
  static constexpr std::uint32_t full = 2;
  static constexpr std::uint32_t mask = 3;
  static constexpr std::uint32_t waiting = 4;
  static constexpr unsigned char claimed = 1;  // `kind` of a node
  static const wait_rules look_rules;
  static const wait_rules claim_rules;

  bool claim_now(wait_node& me) noexcept;
  on_join join(wait_section& section, wait_node& me, bool claims) noexcept;
  void leave(const wait_section& section) noexcept;
  void fill_slowly() noexcept;
  void abandon_slowly() noexcept;
  [[noreturn]] static void end_in_use() noexcept;

  base::atomic<std::uint32_t> word_{empty};
  wait_list list_;
};

/// Holds the claim, and abandons it unless fill() was called.
class once_claim {
 public:
  explicit once_claim(once_core& of) noexcept : of_(&of) {}
  once_claim(const once_claim&) = delete;
  once_claim& operator=(const once_claim&) = delete;
  ~once_claim() {
    if (of_ != nullptr) of_->abandon();
  }
  void fill() noexcept { std::exchange(of_, nullptr)->fill(); }

 private:
  once_core* of_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API claim_leaf final : public wait_leaf {
 public:
  explicit claim_leaf(once_core& of) noexcept : wait_leaf(of.claiming()) {}
  /// Returns true if the caller has the claim, false if the cell is full.
  [[nodiscard]] bool await_resume() noexcept { return once_core::has_claim(node()); }
};

}  // namespace rota::core

namespace rota::sync {

/// Empty until a value is set or made. Then it keeps that value until it is destroyed.
///
///   rota::sync::once_cell<config> settings;
///   const config& c = co_await settings.get_or_init(load);   // called once at most; may return a task
///   if (const config* c = settings.get()) ...                // nullptr: not yet
///
/// Threads       Any.
/// Ownership     The value lies in the cell, and ends with it. Destroying a cell that has waiters, or while
///               its value is being made, ends the program with a sentence.
/// Ordering      What was done while the value was made happens before the return of each call that finds it.
/// Failure       An exception of `make` goes to the caller that ran it, and the cell stays empty. The next
///               waiter in get_or_init then makes the value, by its own function. The same happens if the
///               task that made it is cancelled. If `make` itself asks the cell for its value, it waits for
///               ever, or until its limit.
/// Cost          get(): one load. set(): two read-modify-writes. No allocation, except for the frame of
///               get_or_init, which is a task: call get() first where that counts. A wait: one wake, and the
///               list's lock twice.
/// Example       examples/once_cell.cpp
template <class T>
class once_cell {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "a once_cell keeps a value");

 public:
  class look_leaf;

  once_cell() noexcept {}  // NOLINT(modernize-use-equals-default): the value is not there yet
  once_cell(const once_cell&) = delete;
  once_cell& operator=(const once_cell&) = delete;
  ~once_cell() {
    core::demand_unguarded();
    if (core_.is_full()) value_.~T();
  }

  /// Returns a pointer to the value, or null if it is not there yet. Never waits.
  [[nodiscard]] T* get() noexcept { return core_.is_full() ? &value_ : nullptr; }
  [[nodiscard]] const T* get() const noexcept { return core_.is_full() ? &value_ : nullptr; }

  /// Makes the value from `value`, which is not touched unless this succeeds. Never waits. An exception of
  /// the constructor is passed on.
  template <class U = T>
    requires std::constructible_from<T, U>
  std::expected<void, set_refusal> set(U&& value) {
    if (const auto got = core_.try_claim(); !got.has_value()) return got;
    core::once_claim mine(core_);
    core::demand_unguarded();
    ::new (static_cast<void*>(&value_)) T(std::forward<U>(value));
    mine.fill();
    return {};
  }

  /// co_await it: the value. `make` makes it, unless it is there, or another task or thread makes it. `make`
  /// returns a T, or a task<T>.
  template <class F>
  task<T&> get_or_init(F make);
  /// The same with a limit. They yield a pointer to the value, or timed_out. The limit also cancels a `make`
  /// that this call runs.
  template <core::span_of_time Span, class F>
  task<std::expected<T*, timed_out>> get_or_init_for(Span span, F make) {
    auto within = get_or_init(std::move(make));
    auto got = co_await timeout(span, std::move(within));
    co_return got;
  }
  template <class Duration, class F>
  task<std::expected<T*, timed_out>> get_or_init_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, F make) {
    auto within = get_or_init(std::move(make));
    auto got = co_await with_deadline(time, std::move(within));
    co_return got;
  }
  /// Blocks the thread while another one makes the value, as mutex::blocking_lock. `make` returns a T.
  template <class F>
  T& blocking_get_or_init(F&& make);
  /// Returns a pointer to the value, or timed_out if another task or thread was making it for so long. The
  /// limit does not end a `make` that has begun.
  template <core::span_of_time Span, class F>
  std::expected<T*, timed_out> blocking_get_or_init_for(Span span, F&& make) {
    core::wait_node me;
    return made_in_time(core::block_for(core_.claiming(), me, detail::saturating_span(span)), me, make);
  }
  template <class Duration, class F>
  std::expected<T*, timed_out> blocking_get_or_init_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, F&& make) {
    core::wait_node me;
    return made_in_time(core::block_until(core_.claiming(), me, detail::saturating_deadline(time)), me, make);
  }

  /// co_await it: the value, once it is there. Does not make it.
  look_leaf wait() noexcept { return look_leaf(*this); }
  /// The same with a limit. They yield a pointer to the value, or timed_out.
  template <core::span_of_time Span>
  core::limited<look_leaf> wait_for(Span span) noexcept {
    return core::limited<look_leaf>(detail::saturating_span(span), *this);
  }
  template <class Duration>
  core::limited<look_leaf> wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return core::limited<look_leaf>(detail::saturating_deadline(time), *this);
  }

  /// Block the thread, as mutex::blocking_lock.
  T& blocking_wait() {
    core::wait_node me;
    static_cast<void>(core::block(core_.looking(), me));
    return value_;
  }
  template <core::span_of_time Span>
  std::expected<T*, timed_out> blocking_wait_for(Span span) {
    core::wait_node me;
    return in_time(core::block_for(core_.looking(), me, detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<T*, timed_out> blocking_wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    return in_time(core::block_until(core_.looking(), me, detail::saturating_deadline(time)));
  }

 private:
  std::expected<T*, timed_out> in_time(core::wait_end how) noexcept {
    if (how == core::wait_end::timed_out) return std::unexpected(timed_out{});
    return &value_;
  }
  template <class F>
  std::expected<T*, timed_out> made_in_time(core::wait_end how, const core::wait_node& me, F& make) {
    static_assert(!core::is_task<std::remove_cvref_t<std::invoke_result_t<F&>>>,
                  "a task cannot be awaited here: a plain function makes the value");
    if (how != core::wait_end::timed_out && core::once_core::has_claim(me)) make_now(make);
    return in_time(how);
  }
  template <class F>
  void make_now(F& make) {
    core::once_claim mine(core_);
    core::demand_unguarded();
    ::new (static_cast<void*>(&value_)) T(make());
    mine.fill();
  }

  core::once_core core_;
  union {
    T value_;
  };
};

template <class T>
class ROTA_DETAIL_AWAIT_IT once_cell<T>::look_leaf final : public core::wait_leaf {
 public:
  explicit look_leaf(once_cell& of) noexcept : wait_leaf(of.core_.looking()), of_(&of) {}
  [[nodiscard]] T& await_resume() noexcept { return of_->value_; }

 private:
  once_cell* of_;
};

template <class T>
template <class F>
task<T&> once_cell<T>::get_or_init(F make) {
  if (core_.is_full()) co_return value_;
  const bool is_mine = co_await core::claim_leaf(core_);
  if (!is_mine) co_return value_;
  if constexpr (core::is_task<std::remove_cvref_t<std::invoke_result_t<F&>>>) {
    core::once_claim mine(core_);
    core::demand_unguarded();
    auto work = make();
    T made = co_await std::move(work);
    ::new (static_cast<void*>(&value_)) T(std::move(made));
    mine.fill();
  } else {
    make_now(make);
  }
  co_return value_;
}

template <class T>
template <class F>
T& once_cell<T>::blocking_get_or_init(F&& make) {
  static_assert(!core::is_task<std::remove_cvref_t<std::invoke_result_t<F&>>>,
                "a task cannot be awaited here: a plain function makes the value");
  if (core_.is_full()) return value_;
  core::wait_node me;
  static_cast<void>(core::block(core_.claiming(), me));
  if (core::once_core::has_claim(me)) make_now(make);
  return value_;
}

}  // namespace rota::sync
