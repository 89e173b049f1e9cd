// A queue that a pool watches: each item that comes in is run as a work of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/pool_source.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/task.hpp>

namespace rota::pool {

class thread_pool;

/// A queue of items for watch_source(). First in, first out; what comes back from a work goes to its end.
///
///   pool::source<job> jobs(1000);
///   const pool::watch w = pool::watch_source(p, jobs, [](job& j) { j.run(); });
///   if (jobs.try_push(next) == pool::push_status::full) return "try again later";
///
/// Threads       Any, all members.
/// Ownership     Owns its items, but those that are in works. It may go before the watch: that closes it, and what is in it is run all the
///               same; what nobody watches any more is destroyed.
/// Ordering      What was done before a push happens before the work's first line, or before the return of the try_take().
/// Failure       The constructor: std::invalid_argument for a capacity of 0, std::bad_alloc. try_push(): std::bad_alloc, or what the
///               item's move throws; then nothing was pushed. An item that is refused stays with the caller. Who wants to wait for a
///               place takes a channel.
/// Cost          A node an item, from the frames that threads keep; a short lock twice for a push, once for a take.
/// Example       examples/pool_watch.cpp
template <class T>
class source : public detail::source_base {
  static_assert(std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>>,
                "an item is an object, and not const");
  static_assert(alignof(T) <= 16, "aligned to more than 16: keep it by pointer");
  using item = detail::source_item<T>;

 public:
  /// At most `capacity` items wait in it: at least 1, or `source<T>::unbounded`.
  explicit source(std::size_t capacity) : source_base(capacity, &item::destroy) {}

  /// Never waits. Moves from the item only if it is pushed.
  push_status try_push(T&& given) {
    const push_status can = admit();
    if (can != push_status::pushed) return can;
    item* made = nullptr;
    try {
      made = new item(std::move(given));
    } catch (...) {
      withdraw();
      throw;
    }
    publish(*made);
    return can;
  }
  push_status try_push(const T& given)
    requires std::is_copy_constructible_v<T>
  {
    return try_push(T(given));
  }
  /// The first that waits: nobody runs it then. Empty: there is none.
  [[nodiscard]] std::optional<T> try_take() { return moved_out(take_first(), &source::put_front); }
  /// The first of those that came back too often.
  [[nodiscard]] std::optional<T> try_take_given_up() {
    return moved_out(take_first_given_up(), &source::put_front_given_up);
  }

 private:
  std::optional<T> moved_out(detail::source_node* node, void (source::*back)(detail::source_node&) noexcept) {
    if (node == nullptr) return std::nullopt;
    auto* const taken = static_cast<item*>(node);
    try {
      std::optional<T> out(std::in_place, std::move(taken->value));
      delete taken;
      return out;
    } catch (...) {
      (this->*back)(*node);
      throw;
    }
  }
};

/// Every field has an initialiser.
struct watch_options {
  static constexpr unsigned unlimited = 0xFFFF'FFFFU;

  unsigned most =
      0;  // items in works at once, the queued ones, too; 0: as many as the pool may have threads at that moment
  bool put_back_failed = true;  // the item of a work that failed in its last attempt comes back
  bool put_back_stopped =
      true;  // stopped or force stopped; that of an abandoned work never does: its thread still has it
  bool put_back_cancelled =
      true;  // taken back before it began. What watch::stop() and the pool's end take back does in any case
  // So often an item comes back by itself: since its work failed, ran out of time, or stopped without having been asked. Then it is
  // given up: source::try_take_given_up(). What somebody else cancels or stops is not counted. With `unlimited`, and without a pause in
  // `works.retry`, one that always fails keeps a thread busy.
  unsigned returns = 3;
  work_options works{};  // of each; `name`, `id` and `after` must be empty
};

/// Of one moment: taken = in_works + succeeded + put_back + given_up + dropped + abandoned.
struct watch_stats {
  std::uint64_t in_works = 0;  // now
  std::uint64_t taken = 0;     // totals; of an item that comes back each time
  std::uint64_t succeeded = 0;
  std::uint64_t put_back = 0;
  std::uint64_t given_up = 0;   // came back too often, and lies aside in the source
  std::uint64_t dropped = 0;    // destroyed, since its options say so
  std::uint64_t abandoned = 0;  // destroyed when its thread comes back from it
};

namespace detail {

/// What is called for each item, by several threads at once.
class ROTA_API watch_body {
 public:
  watch_body() = default;
  watch_body(const watch_body&) = delete;
  watch_body& operator=(const watch_body&) = delete;
  virtual ~watch_body();
  [[nodiscard]] virtual bool gives_task() const noexcept = 0;
  /// Of the two that which is right.
  virtual void run(source_node& item);
  virtual task<void> begin(source_node& item);
};

template <class F, class T>
concept for_items = std::is_invocable_v<F&, T&> || std::is_invocable_v<F&, T&, unsigned>;

template <class F, class T>
struct result_for_item : std::invoke_result<F&, T&, unsigned> {};
template <class F, class T>
  requires std::is_invocable_v<F&, T&>
struct result_for_item<F, T> : std::invoke_result<F&, T&> {};

template <class T>
inline constexpr bool is_some_task = false;
template <class T>
inline constexpr bool is_some_task<task<T>> = true;

template <class T, class F>
class item_body final : public watch_body {
  using result = typename result_for_item<F, T>::type;
  static constexpr bool is_coroutine = is_some_task<std::remove_cvref_t<result>>;
  static_assert(!is_coroutine || std::is_same_v<result, task<void>>, "the task of an item yields nothing");

 public:
  explicit item_body(F&& function) : function_(std::move(function)) {}
  [[nodiscard]] bool gives_task() const noexcept override { return is_coroutine; }
  void run(source_node& item) override {
    if constexpr (!is_coroutine) static_cast<void>(call(item));
  }
  ROTA_DETAIL_WRAPPER task<void> begin(source_node& item) override {
    if constexpr (is_coroutine) {
      return call(item);
    } else {
      return watch_body::begin(item);
    }
  }

 private:
  result call(source_node& item) {
    T& value = static_cast<source_item<T>&>(item).value;
    if constexpr (std::is_invocable_v<F&, T&>) {
      return function_(value);
    } else {
      return function_(value, item.returned);
    }
  }

  F function_;
};

}  // namespace detail

/// A source that is being watched.
///
/// Threads       Any; one handle one thread at a time for a move, a wait may be beside all others. stop() and those below it may be called
///               inside of its works, wait() and the end may not: errc::would_deadlock, and a sentence that ends the program.
/// Ownership     Keeps the body, and what it needs of the source and of the pool. Its end is stop() and wait(): then nothing of it runs
///               but what was abandoned, and the body is destroyed there, unless an abandoned work is inside of it: then that of the two
///               which is later destroys it. What the body refers to must live until then.
/// Ordering      What the bodies did happens before the return of a wait.
/// Failure       As each says. The pool's end is the end of the watch; what was not run stays in the source.
/// Cost          For each item a work with options, and no more threads than the pool has.
/// Example       examples/pool_watch.cpp
class ROTA_API [[nodiscard]] watch {
 public:
  watch() noexcept = default;
  watch(watch&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  watch& operator=(watch&& other) noexcept {
    watch old(std::move(*this));
    core_ = std::exchange(other.core_, nullptr);
    return *this;
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  ~watch();

  /// Takes no more. Its works that have not begun are cancelled, and their items come back; what runs goes on. From now on the source
  /// may be watched by another one.
  void stop() const noexcept;
  /// The same, and what runs is asked to stop; or by force.
  void stop_running() const noexcept;
  void force_stop() const noexcept;
  /// It takes what comes in: neither was it stopped, nor has its pool ended.
  [[nodiscard]] bool is_watching() const noexcept;

  /// Blocks until nothing of it is in a work, and, as long as it watches, the source is empty. A work that waits here leaves its place
  /// to another thread meanwhile; a force stop gets it out with force_stopped.
  void wait() const { static_cast<void>(wait_within(std::chrono::nanoseconds::max())); }
  /// False: the time was over first.
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_for(Span limit) const {
    return wait_within(rota::detail::saturating_span(limit));
  }
  [[nodiscard]] watch_stats stats() const noexcept;

 private:
  template <class T, class F>
    requires detail::for_items<F, T>
  friend watch watch_source(thread_pool& pool, source<T>& from, F body, const watch_options& options);

  /// `body` is its own, also if this throws.
  watch(thread_pool& pool, detail::source_core& from, detail::watch_body* body, const watch_options& options);
  bool wait_within(std::chrono::nanoseconds limit) const;

  detail::watch_core* core_ = nullptr;
};

/// From now on each item that is in the source, or comes in, is taken out and run as a work of the pool: `body(item)`, or
/// `body(item, returned)` with the number of times that it has come back by itself. The body may return a task<void>. It is called by
/// several threads at once, if `most` is not 1.
///
/// Such a work has an id of its own, and is seen, stopped and counted like any other; but a full queue never refuses it, and never loses it
/// to another one: `most` is its limit. As long as an item waits or is in a work the watch itself is outstanding, and in the group of its
/// works: wait_idle() and wait(group) return when the source is empty.
///
/// Failure       Throws std::invalid_argument if the source is watched already, or for an option out of range; errc::shut_down;
///               errc::too_many_works; std::bad_alloc. Then nothing has begun. Where there is no memory or no place for a work the item goes back to the front, and it is
///               tried again after 20 ms.
template <class T, class F>
  requires detail::for_items<F, T>
[[nodiscard]] watch watch_source(thread_pool& pool, source<T>& from, F body, const watch_options& options) {
  return watch(pool, from.core(), new detail::item_body<T, F>(std::move(body)), options);
}
template <class T, class F>
  requires detail::for_items<F, T>
[[nodiscard]] watch watch_source(thread_pool& pool, source<T>& from, F body) {
  const watch_options plain{};
  return watch_source(pool, from, std::move(body), plain);
}

}  // namespace rota::pool
