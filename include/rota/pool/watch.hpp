// A queue that a pool watches: the pool runs each item as a work of its own.
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

/// A queue of items for watch_source(). First in, first out. An item that comes back from a work goes to the
/// end.
///
///   pool::source<job> jobs(1000);
///   const pool::watch w = pool::watch_source(p, jobs, [](job& j) { j.run(); });
///   if (jobs.try_push(next) == pool::push_status::full) return "try again later";
///
/// Threads       Any, all members.
/// Ownership     Owns its items, except those that are in works. The source may be destroyed before the
///               watch. That closes it: the watch still runs the items in it. Items that no watch takes any
///               more are destroyed.
/// Ordering      A push happens before the work's first line, or before the try_take() that returns the item.
/// Failure       The constructor: std::invalid_argument for a capacity of 0, std::bad_alloc. try_push():
///               std::bad_alloc, or an exception of the item's move; then nothing was pushed. The caller
///               keeps an item that is refused. To wait for a place, use a channel.
/// Cost          One node for each item, from the frames that threads keep. A push takes a lock twice, for a
///               short time. A take does so once.
/// Example       examples/pool_watch.cpp
template <class T>
class source : public detail::source_base {
  static_assert(std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>>,
                "an item is an object, and not const");
  static_assert(alignof(T) <= 16, "aligned to more than 16: keep it by pointer");
  using item = detail::source_item<T>;

 public:
  /// At most `capacity` items wait in the source. `capacity` is at least 1, or `source<T>::unbounded`.
  explicit source(std::size_t capacity) : source_base(capacity, &item::destroy) {}

  /// Adds an item. Never blocks. Moves from `given` only if the item is pushed.
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
  /// Removes the first waiting item, so that no work runs it. Returns nothing if no item waits.
  [[nodiscard]] std::optional<T> try_take() { return moved_out(take_first(), &source::put_front); }
  /// Removes the first of the items that were given up because they came back too often.
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

  // the number of items in works at once, queued works included; 0: as many as the pool may have threads at
  // that moment
  unsigned most = 0;
  bool put_back_failed = true;  // if the work failed in its last attempt, its item comes back
  // if the work was stopped or force stopped, its item comes back; the item of an abandoned work never does:
  // its thread still has it
  bool put_back_stopped = true;
  // if the work was cancelled before it began, its item comes back. Items of works that watch::stop() or the
  // pool's end cancels always come back
  bool put_back_cancelled = true;
  // How often an item may come back by itself: because its work failed, timed out, or stopped without a
  // request. After that it is given up: source::try_take_given_up(). A work that the program cancels or stops
  // does not count. With `unlimited`, and without a back-off in `works.retry`, an item that always fails
  // keeps a thread busy.
  unsigned returns = 3;
  work_options works{};  // the options of each work; `name`, `id` and `after` must be empty
};

/// Counts of one moment: taken = in_works + succeeded + put_back + given_up + dropped + abandoned.
struct watch_stats {
  std::uint64_t in_works = 0;  // now
  std::uint64_t taken = 0;     // totals from here on; an item that comes back counts each time
  std::uint64_t succeeded = 0;
  std::uint64_t put_back = 0;
  std::uint64_t given_up = 0;   // came back too often, and are set aside in the source
  std::uint64_t dropped = 0;    // destroyed, because the options say so
  std::uint64_t abandoned = 0;  // destroyed when the abandoned thread returns
};

namespace detail {

/// The function that is called for each item, by several threads at once.
class ROTA_API watch_body {
 public:
  watch_body() = default;
  watch_body(const watch_body&) = delete;
  watch_body& operator=(const watch_body&) = delete;
  virtual ~watch_body();
  [[nodiscard]] virtual bool gives_task() const noexcept = 0;
  /// gives_task() tells which of the two is called.
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

/// The handle of a watched source.
///
/// Threads       Any. Moves of one handle: one thread at a time. A wait may run at the same time as all other
///               members. stop() and the members below it may be called inside of the watch's works. wait()
///               throws errc::would_deadlock there, and the destructor ends the program with a message.
/// Ownership     Owns the body, and keeps what it needs of the source and of the pool. The destructor is
///               stop() and wait(). Afterwards nothing of the watch runs, except abandoned works. The
///               destructor destroys the body. But if an abandoned work is still inside of the body, the body
///               is destroyed when that work returns. Everything that the body refers to must live until
///               then.
/// Ordering      All calls of the body happen before the return of a wait.
/// Failure       As documented at each function. The end of the pool ends the watch. Items that were not run
///               stay in the source.
/// Cost          For each item one work with options. No threads beside those of the pool.
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

  /// Stops taking items. The watch's works that have not begun are cancelled, and their items come back.
  /// Running works continue. From now on another watch may watch the source.
  void stop() const noexcept;
  /// The same, and running works are asked to stop, or are force stopped.
  void stop_running() const noexcept;
  void force_stop() const noexcept;
  /// Returns true if the watch takes new items: it was not stopped, and its pool has not ended.
  [[nodiscard]] bool is_watching() const noexcept;

  /// Blocks until no item of the watch is in a work and, as long as it watches, the source is empty. If a
  /// work of the pool waits here, another thread takes its place meanwhile. A force stop ends such a wait
  /// with force_stopped.
  void wait() const { static_cast<void>(wait_within(std::chrono::nanoseconds::max())); }
  /// Returns false if the time was over first.
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_for(Span limit) const {
    return wait_within(rota::detail::saturating_span(limit));
  }
  [[nodiscard]] watch_stats stats() const noexcept;

 private:
  template <class T, class F>
    requires detail::for_items<F, T>
  friend watch watch_source(thread_pool& pool, source<T>& from, F body, const watch_options& options);

  /// Takes ownership of `body`, also if this throws.
  watch(thread_pool& pool, detail::source_core& from, detail::watch_body* body, const watch_options& options);
  bool wait_within(std::chrono::nanoseconds limit) const;

  detail::watch_core* core_ = nullptr;
};

/// Watches a source. From now on each item in the source is taken out and run as a work of the pool:
/// `body(item)`, or `body(item, returned)` with the number of times that the item has come back by itself.
/// The body may return a task<void>. Several threads call it at once, unless `most` is 1.
///
/// Such a work has an id of its own. It is seen, stopped and counted like any other. But a full queue never
/// refuses it, and never discards it for another work: `most` is its limit. As long as an item waits or is in
/// a work, the watch itself is outstanding, and is a member of the group of its works. So wait_idle() and
/// wait(group) return when the source is empty.
///
/// Failure       Throws std::invalid_argument if the source is watched already, or for an option out of
///               range; errc::shut_down; errc::too_many_works; std::bad_alloc. Then nothing has begun. If
///               there is no memory or no slot for a work, the item goes back to the front, and is tried
///               again after 20 ms.
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
