// A value that is made once, by whoever needs it first.
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
  busy,  // somebody is making one
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
//   claim    empty -> busy, by compare-exchange: the value is the caller's to make. Busy: under the lock of the list `waiting` is set by a
//            compare-exchange that has seen it busy, and the caller joins the list.
//   look     the same for who waits for a value and would not make it: also in an empty one.
//   fill     busy -> full, by compare-exchange while nobody waits. Else the same under the lock of the list, and all who wait are granted.
//   abandon  busy -> empty, by compare-exchange while nobody waits. Else, under the lock of the list, the first that has claimed (`wanted` of
//            its node) is granted the claim (`kind`), and it stays busy; is there none, it is empty, and who looks waits on.
//
//   O1  Under the lock, somebody is in the list exactly while `waiting` is set. Only the lock's holder changes that bit. Nobody who
//       claims is in the list of a cell that is empty.
//   O2  The room for the value is that of who has the claim, while it is busy; once it is full everybody's to read, for good.
//   O3  A claim that was granted and is given up is abandoned: the next one makes the value.
//   O4  With waiters it becomes full only under the list's lock: see W5 of the wait list.
class ROTA_API once_core {
 public:
  once_core() noexcept = default;
  once_core(const once_core&) = delete;
  once_core& operator=(const once_core&) = delete;
  ~once_core() {
    list_.end("a sync::once_cell was destroyed while somebody waits for it");
    // relaxed. Who destroys it has seen to it that all others are done.
    if ((word_.load(base::order::relaxed) & mask) == busy) [[unlikely]]
      end_in_use();
  }

  [[nodiscard]] bool is_full() const noexcept {
    // acquire. Pairs with fill(): the value is there.
    return (word_.load(base::order::acquire) & mask) == full;
  }
  /// Nothing: the claim is the caller's.
  [[nodiscard]] std::expected<void, sync::set_refusal> try_claim() noexcept;
  /// Those of who has the claim.
  void fill() noexcept;
  void abandon() noexcept;

  [[nodiscard]] wait_target looking() noexcept { return {&list_, this, &look_rules}; }
  [[nodiscard]] wait_target claiming() noexcept { return {&list_, this, &claim_rules}; }
  /// After a wait for it: the claim is the caller's.
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

/// Has the claim, and abandons it unless it was filled.
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
  /// True: the claim is the caller's. False: it is full.
  [[nodiscard]] bool await_resume() noexcept { return once_core::has_claim(node()); }
};

}  // namespace rota::core

namespace rota::sync {

/// Empty, until a value is set or made; then that, until its end.
///
///   rota::sync::once_cell<config> settings;
///   const config& c = co_await settings.get_or_init(load);   // load: returns a config, or a task of one; called once at most
///   if (const config* c = settings.get()) ...                // nullptr: not yet
///
/// Threads       Any.
/// Ownership     The value lies in the cell, and ends with it. Destroying a cell for which somebody waits, or while its value is being made,
///               ends the program with a sentence.
/// Ordering      What was done while the value was made happens before the return of each call that finds it.
/// Failure       What making the value throws, is thrown to who made it, and the cell stays empty: the next that waits in get_or_init makes
///               it then, from its own function; so it does if the task that made it is cancelled. A cell that is asked for its value by
///               what makes it waits for ever, or until its limit.
/// Cost          get(): one load. set(): two read-modify-writes. No allocation, but for the frame of get_or_init, which is a task: ask get()
///               first where that counts. A wait: one wake, and the list's lock twice.
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

  /// Null: not yet. Never waits.
  [[nodiscard]] T* get() noexcept { return core_.is_full() ? &value_ : nullptr; }
  [[nodiscard]] const T* get() const noexcept { return core_.is_full() ? &value_ : nullptr; }

  /// Makes it from `value`, which is not touched unless this succeeds. Never waits. What the constructor throws is thrown on.
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

  /// co_await it: the value, which is made by `make`, unless it is there, or somebody else makes it. `make` returns a T, or a task<T>.
  template <class F>
  task<T&> get_or_init(F make);
  /// co_await them: a pointer to it, or timed_out: also if it is this one that makes it, which is cancelled then, as by a cancellation.
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
  /// Blocks the thread while somebody else makes the value; as mutex::blocking_lock. `make` returns a T.
  template <class F>
  T& blocking_get_or_init(F&& make);
  /// A pointer to it, or timed_out: somebody else was making it for so long. The limit does not end a `make` that has begun.
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
  /// co_await them: a pointer to it, or timed_out.
  template <core::span_of_time Span>
  core::limited<look_leaf> wait_for(Span span) noexcept {
    return core::limited<look_leaf>(detail::saturating_span(span), *this);
  }
  template <class Duration>
  core::limited<look_leaf> wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return core::limited<look_leaf>(detail::saturating_deadline(time), *this);
  }

  /// Block the thread; as mutex::blocking_lock.
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
                  "nobody can await a task here: a plain function makes the value");
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
                "nobody can await a task here: a plain function makes the value");
  if (core_.is_full()) return value_;
  core::wait_node me;
  static_cast<void>(core::block(core_.claiming(), me));
  if (core::once_core::has_claim(me)) make_now(make);
  return value_;
}

}  // namespace rota::sync
