// A pool that adds and removes threads, for works that may block and that the program wants to control.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/detail/pool_batch.hpp>
#include <rota/detail/pool_waits.hpp>
#include <rota/detail/pool_work.hpp>
#include <rota/pool/errors.hpp>
#include <rota/pool/pool_options.hpp>
#include <rota/pool/pool_stats.hpp>
#include <rota/pool/work.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

class observer;
class subscription;
class watch;

namespace detail {

class stored_works;

struct draft {
  work_core* work;
  void* body;
};
/// The pool's record of a busy_guard.
struct busy_note {
  std::uint64_t thread = 0;  // the thread that made the guard
  busy_note* next = nullptr;
  busy_note* previous = nullptr;
};

/// Allocates memory for a work. Throws std::bad_alloc, errc::too_many_works, errc::shut_down, errc::forked.
[[nodiscard]] ROTA_API draft draw(pool_core& pool, const body_type& type, const work_options* options);
/// Returns the memory. The body was not made.
ROTA_API void give_back(const draft& place) noexcept;
/// Hands the work to its pool. The body has been made. Throws what submit() throws; then the body has been
/// destroyed.
[[nodiscard]] ROTA_API work_core& enter(const draft& place, const work_options* options);
/// The same with default options and without a handle.
ROTA_API void enter_and_let_go(const draft& place);
[[noreturn]] ROTA_API void throw_empty_function();
/// Finds a work by its id. Returns null if the work is over and not stored. The caller owns a reference.
/// Throws errc::forked.
[[nodiscard]] ROTA_API work_core* find(pool_core& pool, work_id id);
/// Returns the id of the work. Throws std::invalid_argument for a work of another pool.
[[nodiscard]] ROTA_API work_id id_within(const pool_core& pool, const work_core& work);

}  // namespace detail

/// A thread pool that runs works.
///
/// Threads       Any thread may call all members, also inside of works, callbacks and events. But a thread of
///               the pool must not call the destructor or shutdown(): that ends the program with a message.
/// Ownership     Owns its threads and its works. ~thread_pool is shutdown(shutdown_grace).
/// Ordering      Everything before submit() happens before the work's first line. The works of one queue
///               begin by priority, and within one priority in the order of queue_order.
/// Failure       The constructor throws std::invalid_argument for an option out of range, and std::bad_alloc.
///               submit() throws std::invalid_argument for an empty function, an option out of range, a name
///               that is in use or an unknown id; cycle_error, with the ids, if the work would wait for
///               itself; errc::queue_full; errc::shut_down; errc::too_many_works; std::bad_alloc. Then
///               nothing has changed.
///               errc::too_many_works: a pool has at most 2^24 - 64 (16,777,152) works at once. A work counts
///               until it has ended and its handle is gone. A reserved id, a busy_guard and a watch count,
///               too. Each thread may keep up to 96 free places for its own next works, so the error may come
///               that much earlier. The limit does not depend on memory: pool_options::queue_limit keeps a
///               pool far below it.
///               If the system refuses a thread, the pool tries again, and goes on with the threads that it
///               has. Timeouts, back-offs and these retries need one more thread, which the first of them
///               starts. If the system refuses that thread, they are late until a later attempt succeeds. The
///               attempts are made by a later timer, by a thread of the pool that has run out of work, and by
///               a thread that blocks until something of the pool is over. Such a blocked thread also tries
///               for the other threads, every 20 ms. So the work that it waits for runs as soon as there is a
///               thread for it. A task that awaits a work does not block, and makes no attempts.
///               In a forked child: submit, reserve, watch_source, fetch, shutdown, the constructor of a
///               busy_guard and every wait throw errc::forked, except a wait by a handle of a work that was
///               over at the fork. cancel, stop, force_stop, pause and resume of a work or of several do
///               nothing, and return false, 0 or all ids. Destructors wait for no work. Call no other member
///               there: a lock of the pool may have been held at the fork.
/// Cost          The memory of a work belongs to the pool, and is reused: there is no other allocation for
///               functions and results of up to 128 bytes with default options. After a peak the memory is
///               given back to the system, except 6 MB, and 24 KB for each 64 works of which at least one is
///               kept by a handle. Idle threads sleep without a timeout, except the keep-alive of those above
///               `min_threads`.
/// Example       examples/pool.cpp
class ROTA_API thread_pool {
 public:
  /// As long as it exists, the pool is not idle and does not end: for a caller that submits many works one by
  /// one. shutdown() waits for the guards of other threads. If a thread calls shutdown() while it holds a
  /// guard itself, that would be a deadlock: it ends the program with a message.
  class ROTA_API [[nodiscard]] busy_guard {
   public:
    /// Throws errc::shut_down, errc::too_many_works, errc::forked, std::bad_alloc.
    explicit busy_guard(thread_pool& pool);
    busy_guard(const busy_guard&) = delete;
    busy_guard& operator=(const busy_guard&) = delete;
    ~busy_guard();

   private:
    detail::busy_note note_;
    detail::work_core* holder_;
  };

  thread_pool();
  explicit thread_pool(pool_options options);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool();

  // ---- submit

  /// Submits a function. If the function returns a task, the work ends with the task, and the pool runs each
  /// segment of the task. The function may take a std::stop_token as its last parameter: include
  /// <rota/stop_token.hpp>. Dropping the handle does not stop the work. Inside of a task: a submitted
  /// function that returns a task inherits the task locals and the deadline of the submitting task. The
  /// deadline ends it. docs/pool.md, "In a coroutine job".
  template <class F>
    requires detail::callable<std::decay_t<F>>
  auto submit(F&& function) {
    return make<detail::call_body<std::decay_t<F>>>(nullptr, std::forward<F>(function));
  }
  template <class F>
    requires detail::callable<std::decay_t<F>>
  auto submit(F&& function, const work_options& options) {
    return make<detail::call_body<std::decay_t<F>>>(&options, std::forward<F>(function));
  }
  template <class T>
  work<T> submit(task<T> work) {
    return make<detail::call_body<detail::given_task<T>>>(nullptr, checked(std::move(work)));
  }
  template <class T>
  work<T> submit(task<T> work, const work_options& options) {
    return make<detail::call_body<detail::given_task<T>>>(&options, checked(std::move(work)));
  }
  /// Submits a function with arguments. They are copied or moved into the work.
  template <class F, class... Args>
  auto submit_with(const work_options& options, F&& function, Args&&... args) {
    return make<detail::call_body<std::decay_t<F>, std::decay_t<Args>...>>(
        &options, std::forward<F>(function), std::forward<Args>(args)...);
  }
  /// Submits a function of the results of other works. It starts when they have ended well. It gets a `const
  /// T&` for each work that returns something. Do not fetch these results before the new work has ended.
  /// Works of another pool: std::invalid_argument.
  template <class F, class... T>
  auto submit_when(const work_options& options, F&& function, const work<T>&... after) {
    work_options wanted = options;
    (wanted.after.push_back(detail::id_within(*core_, after.demand())), ...);
    return submit(detail::joined<std::decay_t<F>, T...>(std::forward<F>(function), after.demand()...),
                  wanted);
  }
  /// Submits `count` works, each of which calls `function(i)`. The pool is not idle in between. If one of
  /// them is refused, those before it run all the same.
  template <class F>
  auto submit_bulk(std::size_t count, const F& function, const work_options& options) {
    std::vector<work<std::invoke_result_t<const F&, std::size_t>>> all;
    all.reserve(count);
    const busy_guard busy(*this);
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(submit([function, i] { return function(i); }, options));
    return all;
  }
  /// Submits a function, and drops the handle.
  template <class F>
  thread_pool& operator|(F&& function) {
    if constexpr (detail::callable<std::decay_t<F>>) {
      detail::enter_and_let_go(fill<detail::call_body<std::decay_t<F>>>(nullptr, std::forward<F>(function)));
    } else {
      static_cast<void>(submit(std::forward<F>(function)));
    }
    return *this;
  }
  template <class F>
  work_id operator+(F&& function) {
    return submit(std::forward<F>(function)).id();
  }

  /// Reserves an id for a work that is submitted later with work_options::id. Other works may name the id in
  /// `after` before that. Throws std::bad_alloc, errc::too_many_works, errc::shut_down.
  [[nodiscard]] work_id reserve();
  /// Releases the works that a pool with start_mode::suspended holds, one after the other, in the order in
  /// which they were submitted. The first one may begin before a more important one is released. Without
  /// effect on a pool that has started.
  void start();

  // ---- control. By id: returns false if there is no such work, or if its state does not allow the call. By
  // list: returns the ids for which the result is false. By group: applies to all groups below it, too (see
  // relate()), and returns the number of works for which the result is true. Without arguments: applies to
  // all works of the pool.

  /// Cancels a work that has not begun.
  bool cancel(work_id id) noexcept;
  std::vector<work_id> cancel(std::span<const work_id> ids);
  std::size_t cancel(std::string_view group);
  std::size_t cancel_all();
  /// Cancels a work that has not begun, and asks a running one to stop. A coroutine is cancelled. A function
  /// finds the request by stop_requested(), stop_if_requested(), its std::stop_token, a sleep or a pause. The
  /// request ends no wait for another work: see docs/pool.md.
  bool stop(work_id id) noexcept;
  std::vector<work_id> stop(std::span<const work_id> ids);
  std::size_t stop(std::string_view group);
  std::size_t stop_all();
  /// The same, and every blocking point of the library throws force_stopped. A work that has not ended after
  /// `force_grace` is abandoned: its status becomes `abandoned`, its thread no longer belongs to the pool,
  /// and another thread takes its place. A thread that does not end cannot be ended: everything that the work
  /// refers to must stay valid.
  bool force_stop(work_id id) noexcept;
  std::vector<work_id> force_stop(std::span<const work_id> ids);
  std::size_t force_stop(std::string_view group);
  std::size_t force_stop_all();
  bool pause(work_id id) noexcept;
  std::vector<work_id> pause(std::span<const work_id> ids);
  /// Also pauses works that join the group later.
  void pause(std::string_view group);
  void pause_all();
  bool resume(work_id id) noexcept;
  std::vector<work_id> resume(std::span<const work_id> ids);
  /// Does not resume works that were paused one by one.
  void resume(std::string_view group);
  void resume_all();

  /// Blocks until the work is over. Returns false if there is none.
  bool wait(work_id id);
  std::vector<work_id> wait(std::span<const work_id> ids);
  /// Blocks until no work of the group is outstanding. Works that join the group meanwhile count, too. Throws
  /// errc::would_deadlock inside of a job that is in the group, or that join_group() or relate() puts into it
  /// meanwhile.
  void wait(std::string_view group);
  /// The same, for at most so long, or until a time. Returns false if the time was over first. By id: also
  /// returns false if there is no such work; status() tells the two apart. A list has one limit for all of
  /// its works.
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_for(work_id id, Span limit) {
    return wait_by(id, detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  template <core::span_of_time Span>
  [[nodiscard]] std::vector<work_id> wait_for(std::span<const work_id> ids, Span limit) {
    return wait_by(ids, detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_for(std::string_view group, Span limit) {
    return wait_by(group, detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  template <class Duration>
  [[nodiscard]] bool wait_until(work_id id, detail::steady_time<Duration> time) {
    return wait_by(id, rota::detail::saturating_deadline(time));
  }
  template <class Duration>
  [[nodiscard]] std::vector<work_id> wait_until(std::span<const work_id> ids,
                                                detail::steady_time<Duration> time) {
    return wait_by(ids, rota::detail::saturating_deadline(time));
  }
  template <class Duration>
  [[nodiscard]] bool wait_until(std::string_view group, detail::steady_time<Duration> time) {
    return wait_by(group, rota::detail::saturating_deadline(time));
  }
  /// Blocks until one of the works is over, and returns its id. With a limit: returns an empty id if the time
  /// was over first.
  [[nodiscard]] work_id wait_any(std::span<const work_id> ids);
  template <core::span_of_time Span>
  [[nodiscard]] work_id wait_any_for(std::span<const work_id> ids, Span limit) {
    return wait_any_by(ids, detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  template <class Duration>
  [[nodiscard]] work_id wait_any_until(std::span<const work_id> ids, detail::steady_time<Duration> time) {
    return wait_any_by(ids, rota::detail::saturating_deadline(time));
  }
  /// Blocks until no work is outstanding. Throws errc::would_deadlock inside of a work of the pool.
  void wait_idle() { static_cast<void>(wait_idle_until(std::chrono::steady_clock::time_point::max())); }
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_idle(Span limit) {
    return wait_idle_until(detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  /// The same, and meanwhile runs works on this thread. Called as wait_idle(rota::help).
  void wait_idle(help_t how);

  /// Waits for a work that is stored or not over, and returns its outcome. Returns nothing if there is no
  /// such work. Throws std::invalid_argument if its result is no T. Afterwards the pool no longer keeps the
  /// outcome. To fetch results by a predicate: <rota/pool/fetch_if.hpp>.
  template <class T>
  [[nodiscard]] std::optional<outcome<T>> fetch(work_id id);
  /// Waits for all of the works, and then takes their outcomes, in the order of the ids. If one result is no
  /// T, none is taken.
  template <class T>
  [[nodiscard]] std::vector<std::optional<outcome<T>>> fetch(std::span<const work_id> ids);
  /// Waits for the works of a group that are stored, or not over at the time of the call, and that have a
  /// result of type T. Returns their outcomes in the order in which the works were submitted.
  template <class T>
  [[nodiscard]] std::vector<std::pair<work_id, outcome<T>>> fetch(std::string_view group);
  // ---- the same for tasks of any runtime and of a pool: awaitables. A wait by id, by list or by group does
  // not own the works. A wait that is cancelled, times out (rota::timeout, a deadline) or loses in a
  // channel::select leaves the works alone and takes no outcome. (co_await of a handle stops its work.) The
  // call finds the works and keeps them: the co_await may come after the end of the pool. Failure:
  // std::bad_alloc, at the call or at the co_await; errc::too_many_works for a group and for idleness;
  // errc::forked in a forked child; errc::would_deadlock at the co_await if a coroutine job would wait for
  // itself. Cost: two or three allocations for each wait.

  /// As wait(id): the co_await returns false if there is no such work.
  detail::work_wait async_wait(work_id id) { return {*core_, id}; }
  /// As wait(ids): returns the ids for which there is no work.
  detail::work_list_wait async_wait(std::span<const work_id> ids) { return {*core_, ids}; }
  /// As wait(group). A group name that no work has had yet is an empty group for this wait, even if works get
  /// that name before the co_await.
  detail::rest_wait async_wait(std::string_view group) { return {*core_, group}; }
  /// As wait_any(ids): returns the id of a work that is over, or an id that is unknown. Throws
  /// std::invalid_argument if there are no ids.
  detail::any_work_wait async_wait_any(std::span<const work_id> ids) { return {*core_, ids}; }
  /// As wait_idle(). A moment of idleness before the task first checks is not noticed.
  detail::rest_wait async_wait_idle() { return detail::rest_wait(*core_); }
  /// As fetch<T>(id): returns a std::optional<outcome<T>>.
  template <class T>
  detail::fetch_wait<T> async_fetch(work_id id) {
    return {*core_, id};
  }
  /// As fetch<T>(ids).
  template <class T>
  detail::fetch_list_wait<T> async_fetch(std::span<const work_id> ids) {
    return {*core_, ids};
  }
  /// As fetch<T>(group), for the works that the group has when this is called.
  template <class T>
  detail::fetch_group_wait<T> async_fetch(std::string_view group) {
    return {*core_, group};
  }
  /// Drops the results of all works that are over and stored. Returns how many.
  std::size_t clear_results() noexcept;

  // ---- groups

  /// Limits how many works of the group run at once; 0: no limit. Throws std::bad_alloc.
  void limit_group(std::string_view group, unsigned limit);
  /// Puts `child` below `parent`: cancel, stop, force_stop, pause, resume, wait, fetch and members of
  /// `parent` include the works of `child`. A limit does not: limit_group() counts only the works that named
  /// its own group in their options. Throws errc::cycle.
  void relate(std::string_view parent, std::string_view child);
  void unrelate(std::string_view parent, std::string_view child) noexcept;
  [[nodiscard]] std::vector<work_id> members(std::string_view group) const;
  /// Adds a job that was submitted and has not ended to the group, beside the groups that it is in. From then
  /// on all calls on the group include it: a paused group holds it like its other members, and a wait that
  /// has begun waits for it, too. An earlier cancel(group) or stop(group) has no effect on it. It does not
  /// count for limit_group(). It leaves the group right after it is over. Returns true if the job is in the
  /// group, also if it already was. Returns false if there is no such job, if it has ended, or if its id is
  /// only reserved: status() tells which. Throws std::invalid_argument for an empty name, std::bad_alloc,
  /// errc::forked.
  bool join_group(work_id id, std::string_view group);
  /// Returns the ids for which the result is false.
  std::vector<work_id> join_group(std::span<const work_id> ids, std::string_view group);
  /// Removes a job that has not ended from a group, whether the job named the group when it was submitted or
  /// joined it later. Waits for the group continue without it. If the group's limit or pause held the job,
  /// the job continues. Returns false if the job is not in that very group, has ended, or does not exist.
  /// Throws errc::forked.
  bool leave_group(work_id id, std::string_view group);
  /// Returns the ids for which the result is false.
  std::vector<work_id> leave_group(std::span<const work_id> ids, std::string_view group);

  // ---- threads

  /// Changes the limits at once. Throws std::invalid_argument.
  void resize(unsigned min_threads, unsigned max_threads);
  /// Cancels the works that have not begun, stops those that run, and force stops them after `grace`. Blocks
  /// until all threads have ended, except those of abandoned works. Idempotent. Throws std::bad_alloc if
  /// there is no memory for the report. The pool has ended all the same, and a further call returns the
  /// report.
  template <core::span_of_time Span>
  pool_report shutdown(Span grace) {
    return shutdown_within(rota::detail::saturating_span(grace));
  }

  [[nodiscard]] unsigned min_threads() const noexcept;
  [[nodiscard]] unsigned max_threads() const noexcept;

  // ---- observation

  /// Adds an observer: see <rota/pool/events.hpp>.
  [[nodiscard]] subscription subscribe(observer& whom);
  [[nodiscard]] pool_stats stats() const;
  /// Returns the last works that have failed, the oldest first: works with the status `failed`, whether
  /// fetched or not. A work is added before a wait for it ends, and after its own callback has returned. The
  /// list has at most failed_work::most_kept works; stats().failed counts all. Each entry costs the memory of
  /// its three texts. A work for which there was no memory is missing. Throws std::bad_alloc.
  [[nodiscard]] std::vector<failed_work> failed_works() const;
  /// Removes a work from that list. Returns false if it is not there. Nothing else changes: works that have
  /// it in `after` fail all the same.
  bool clear_failed_work(work_id id) noexcept;
  /// Clears that list. Returns how many works it had.
  std::size_t clear_failed_works() noexcept;
  // created: there is none, or its record is gone
  [[nodiscard]] work_status status(work_id id) const noexcept;
  [[nodiscard]] work_id find(std::string_view name) const noexcept;
  /// Returns the works that are accepted and have not begun.
  [[nodiscard]] std::vector<work_id> waiting() const;

 private:
  template <class Body, class F, class... Args>
  auto make(const work_options* options, F&& function, Args&&... args) -> work<typename Body::value_type> {
    const detail::draft place = fill<Body>(options, std::forward<F>(function), std::forward<Args>(args)...);
    return work<typename Body::value_type>(detail::enter(place, options));
  }
  template <class Body, class F, class... Args>
  detail::draft fill(const work_options* options, F&& function, Args&&... args) {
    // A function (not a pointer) is never empty, and g++ warns about the comparison.
    if constexpr (!std::is_function_v<std::remove_reference_t<F>> &&
                  requires { static_cast<bool>(function == nullptr); }) {
      if (function == nullptr) detail::throw_empty_function();
    }
    static_assert(alignof(Body) <= 16, "aligned to more than 16: keep it by pointer");
    const detail::draft place = detail::draw(*core_, Body::type, options);
    try {
      ::new (place.body) Body(std::forward<F>(function), std::forward<Args>(args)...);
    } catch (...) {
      detail::give_back(place);
      throw;
    }
    return place;
  }
  template <class T>
  static detail::given_task<T> checked(task<T> work) {
    if (!work.valid()) detail::throw_empty_function();
    return detail::given_task<T>(std::move(work));
  }
  bool wait_idle_until(std::chrono::steady_clock::time_point deadline);
  bool wait_by(work_id id, std::chrono::steady_clock::time_point deadline);
  std::vector<work_id> wait_by(std::span<const work_id> ids, std::chrono::steady_clock::time_point deadline);
  bool wait_by(std::string_view group, std::chrono::steady_clock::time_point deadline);
  work_id wait_any_by(std::span<const work_id> ids, std::chrono::steady_clock::time_point deadline);
  pool_report shutdown_within(std::chrono::nanoseconds grace);

  friend class detail::stored_works;
  friend class watch;
  detail::pool_core* core_;
};

template <class T>
std::optional<outcome<T>> thread_pool::fetch(work_id id) {
  detail::work_core* const found = detail::find(*core_, id);
  if (found == nullptr) return std::nullopt;
  const work<T> kept(*found);
  kept.wait();
  return detail::take_and_forget<T>(*found);
}

template <class T>
std::vector<std::optional<outcome<T>>> thread_pool::fetch(std::span<const work_id> ids) {
  const detail::work_batch all(*core_, ids);
  all.wait(&detail::type_tag<std::remove_cv_t<T>>);
  return detail::taken_in_order<T>(all);
}

template <class T>
std::vector<std::pair<work_id, outcome<T>>> thread_pool::fetch(std::string_view group) {
  const void* const tag = &detail::type_tag<std::remove_cv_t<T>>;
  const detail::work_batch all(*core_, group, tag);
  all.wait(tag);
  return detail::taken_by_id<T>(all);
}

}  // namespace rota::pool
