// Threads that come and go, for work that may block and that somebody wants to be in control of.
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
/// A busy_guard, as its pool knows it.
struct busy_note {
  std::uint64_t thread = 0;  // that has made it
  busy_note* next = nullptr;
  busy_note* previous = nullptr;
};

/// Memory for a work. Throws std::bad_alloc, errc::too_many_works, errc::shut_down, errc::forked.
[[nodiscard]] ROTA_API draft draw(pool_core& pool, const body_type& type, const work_options* options);
/// The body was not made.
ROTA_API void give_back(const draft& place) noexcept;
/// The body is made: hands the work to its pool. Throws what submit() does; the body is destroyed then.
[[nodiscard]] ROTA_API work_core& enter(const draft& place, const work_options* options);
/// The same with default options, and nobody keeps it.
ROTA_API void enter_and_let_go(const draft& place);
[[noreturn]] ROTA_API void throw_empty_function();
/// Looks for it by id; null: it is over, and not stored. The caller owns a reference. Throws errc::forked.
[[nodiscard]] ROTA_API work_core* find(pool_core& pool, work_id id);
/// Throws std::invalid_argument for a work of another pool.
[[nodiscard]] ROTA_API work_id id_within(const pool_core& pool, const work_core& work);

}  // namespace detail

/// A pool of threads for works.
///
/// Threads       All members may be called by any thread, also inside of works, callbacks and events; the destructor and shutdown() by
///               none of the pool's own: that ends the program with a sentence.
/// Ownership     Owns its threads and its works. ~thread_pool is shutdown(shutdown_grace).
/// Ordering      What a thread did before submit() happens before the work's first line. Works of one queue begin by priority, and in
///               the order of queue_order among equals.
/// Failure       The constructor: std::invalid_argument for an option out of range, std::bad_alloc. submit(): std::invalid_argument for
///               an empty function or an option out of range, a name that is in use or an id that is unknown; cycle_error for one that
///               would wait for itself, with the ids; errc::queue_full; errc::shut_down; errc::too_many_works; std::bad_alloc. Then nothing has changed. errc::too_many_works: a pool has at
///               most 2^24 - 64 (16,777,152) works at once. A work counts until it has ended and its handle is gone; a reserved id, a
///               busy_guard and a watch count, too. Each thread may keep up to 96 places free for its own next works, so the error may
///               come that much earlier. It is no matter of memory: pool_options::queue_limit keeps a pool far below it. A thread that the system does not give is tried for again; the pool goes on with those it has. Timeouts and
///               back-offs, and what tries for threads again, need one thread more, which the first of them starts: if the system
///               refuses it they are late until it gives it to a later timer, to a thread of the pool that has run out of work, or to
///               one that blocks until something of the pool is over. That one tries for the others, too, every 20 ms: so what is
///               waited for runs as soon as there is a thread for it. A task that awaits a work does not block, and does not try.
///               In a forked child: submit, reserve, watch_source, fetch, shutdown, the constructor of a busy_guard and every wait
///               throw errc::forked, except the wait by a handle whose work was over at the fork. cancel, stop, force_stop,
///               pause and resume of a work or of several do nothing, and return false, 0 or all ids. Destructors wait for no work.
///               Call no other member there: a lock of the pool may have been held at the fork.
/// Cost          A work is memory of the pool's own that is used again: no other allocation for functions and results of up to 128
///               bytes and default options. After a peak that memory is given back to the system, but for 6 MB and 24 KB for
///               each 64 works of which one is kept by a handle. Idle threads sleep without a timeout, but the keep-alive of those above `min_threads`.
/// Example       examples/pool.cpp
class ROTA_API thread_pool {
 public:
  /// While it lives the pool is not idle, and does not end: for who submits many works one by one. A shutdown() waits for those of other
  /// threads; one of the thread that has made it would wait for itself, and ends the program with a sentence.
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

  /// A function, or one that gives a task: then the work ends with the task, and each of its segments is run by the pool. It may take
  /// a std::stop_token, as the last parameter of all: include <rota/stop_token.hpp>. Dropping the handle does not stop the work.
  /// In a task: one that gives a task inherits the task locals and the deadline, which ends it. docs/pool.md, "In a coroutine job".
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
  /// With arguments, which are copied or moved into the work.
  template <class F, class... Args>
  auto submit_with(const work_options& options, F&& function, Args&&... args) {
    return make<detail::call_body<std::decay_t<F>, std::decay_t<Args>...>>(
        &options, std::forward<F>(function), std::forward<Args>(args)...);
  }
  /// A function of what other works return: starts when they have ended well, with a `const T&` for each that returns something. Their
  /// results must stay where they are until it has ended: do not fetch them. Works of another pool: std::invalid_argument.
  template <class F, class... T>
  auto submit_when(const work_options& options, F&& function, const work<T>&... after) {
    work_options wanted = options;
    (wanted.after.push_back(detail::id_within(*core_, after.demand())), ...);
    return submit(detail::joined<std::decay_t<F>, T...>(std::forward<F>(function), after.demand()...),
                  wanted);
  }
  /// `count` works, of `function(i)` each. The pool is not idle in between. If one of them is refused, those before it run all the same.
  template <class F>
  auto submit_bulk(std::size_t count, const F& function, const work_options& options) {
    std::vector<work<std::invoke_result_t<const F&, std::size_t>>> all;
    all.reserve(count);
    const busy_guard busy(*this);
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(submit([function, i] { return function(i); }, options));
    return all;
  }
  /// Submits, and lets go.
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

  /// An id for a work that is yet to come: others may name it in `after`, and then it is submitted with work_options::id. Throws
  /// std::bad_alloc, errc::too_many_works, errc::shut_down.
  [[nodiscard]] work_id reserve();
  /// Lets the works go that a pool with start_mode::suspended holds, one after the other, in the order in which they came: the first
  /// may begin before a more important one is let go. Without effect on one that has started.
  void start();

  // ---- control. By id: false if there is no such work, or not in a state to be told. A list: the ids for which it was false. A
  // group: those of its relations, too; how many works it was true for. Without arguments: all of the pool.

  /// Takes back what has not begun.
  bool cancel(work_id id) noexcept;
  std::vector<work_id> cancel(std::span<const work_id> ids);
  std::size_t cancel(std::string_view group);
  std::size_t cancel_all();
  /// Takes back what has not begun, and asks what runs to stop: a coroutine is cancelled, a function finds out by stop_requested(),
  /// stop_if_requested(), its std::stop_token, and by a sleep or a pause. It ends no wait for another work: see docs/pool.md.
  bool stop(work_id id) noexcept;
  std::vector<work_id> stop(std::span<const work_id> ids);
  std::size_t stop(std::string_view group);
  std::size_t stop_all();
  /// The same; every blocking point of the library throws force_stopped, and what has not ended after `force_grace` is abandoned: it
  /// ends as `abandoned`, its thread is no longer the pool's, and another one takes its place. There is no way to end a thread that does
  /// not end: what it refers to must live on.
  bool force_stop(work_id id) noexcept;
  std::vector<work_id> force_stop(std::span<const work_id> ids);
  std::size_t force_stop(std::string_view group);
  std::size_t force_stop_all();
  bool pause(work_id id) noexcept;
  std::vector<work_id> pause(std::span<const work_id> ids);
  /// Also those that join the group later.
  void pause(std::string_view group);
  void pause_all();
  bool resume(work_id id) noexcept;
  std::vector<work_id> resume(std::span<const work_id> ids);
  /// Not those that were paused one by one.
  void resume(std::string_view group);
  void resume_all();

  /// Blocks until the work is over; false: there is none.
  bool wait(work_id id);
  std::vector<work_id> wait(std::span<const work_id> ids);
  /// Until nothing of the group is outstanding, what joins it meanwhile included. Throws errc::would_deadlock inside of a job that is in the group,
  /// or that join_group() or relate() puts into it meanwhile.
  void wait(std::string_view group);
  /// The same, for so long, or until then. False: the time was over first; of an id also if there is none, which status() tells apart. Of a
  /// list the time is one for all.
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
  /// The first of them that is over, and which. With a limit: an empty id if the time was over first.
  [[nodiscard]] work_id wait_any(std::span<const work_id> ids);
  template <core::span_of_time Span>
  [[nodiscard]] work_id wait_any_for(std::span<const work_id> ids, Span limit) {
    return wait_any_by(ids, detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  template <class Duration>
  [[nodiscard]] work_id wait_any_until(std::span<const work_id> ids, detail::steady_time<Duration> time) {
    return wait_any_by(ids, rota::detail::saturating_deadline(time));
  }
  /// Blocks until nothing is outstanding. Inside of a work of the pool: errc::would_deadlock.
  void wait_idle() { static_cast<void>(wait_idle_until(std::chrono::steady_clock::time_point::max())); }
  template <core::span_of_time Span>
  [[nodiscard]] bool wait_idle(Span limit) {
    return wait_idle_until(detail::deadline_after(rota::detail::saturating_span(limit)));
  }
  /// wait_idle(rota::help) runs works on this thread until nothing is outstanding.
  void wait_idle(help_t how);

  /// The outcome of a work that is stored, or not over: waits for it. Empty: there is none. Throws std::invalid_argument if its
  /// result is no T. The pool then keeps it no longer. Several at once, by what they are: <rota/pool/fetch_if.hpp>.
  template <class T>
  [[nodiscard]] std::optional<outcome<T>> fetch(work_id id);
  /// Of several: waits for all, and then takes their outcomes, in the order of the ids. If one is no T none is taken.
  template <class T>
  [[nodiscard]] std::vector<std::optional<outcome<T>>> fetch(std::span<const work_id> ids);
  /// Those of a group that are stored, or not over at this moment, and whose result is a T, in the order in which they were submitted.
  template <class T>
  [[nodiscard]] std::vector<std::pair<work_id, outcome<T>>> fetch(std::string_view group);
  // ---- the same for tasks, of any runtime and of a pool: to be awaited. An id, a list and a group own no work: so a wait that is
  // cancelled, that is late (rota::timeout, a deadline), or that loses in a channel::select leaves the works alone, and takes no
  // outcome; co_await of a handle stops its work. What is waited for is found by the call, and kept: the co_await may come after the
  // end of the pool. Failure: std::bad_alloc, here or at the co_await; errc::too_many_works for a group and for idleness; errc::forked in a forked child; at the co_await
  // errc::would_deadlock where a coroutine job would wait for itself. Cost: two or three allocations for each wait.

  /// As wait(id): the co_await gives false if there is no such work.
  detail::work_wait async_wait(work_id id) { return {*core_, id}; }
  /// As wait(ids): gives the ids of which there is none.
  detail::work_list_wait async_wait(std::span<const work_id> ids) { return {*core_, ids}; }
  /// As wait(group). A name that no work has had yet is an empty group for this wait, also if works get it before the co_await.
  detail::rest_wait async_wait(std::string_view group) { return {*core_, group}; }
  /// As wait_any(ids): gives the id of one that is over, or that is unknown. Throws std::invalid_argument if there are no ids.
  detail::any_work_wait async_wait_any(std::span<const work_id> ids) { return {*core_, ids}; }
  /// As wait_idle(). A moment of idleness that has passed before the task has looked is not seen.
  detail::rest_wait async_wait_idle() { return detail::rest_wait(*core_); }
  /// As fetch<T>(id): gives a std::optional<outcome<T>>.
  template <class T>
  detail::fetch_wait<T> async_fetch(work_id id) {
    return {*core_, id};
  }
  /// As fetch<T>(ids).
  template <class T>
  detail::fetch_list_wait<T> async_fetch(std::span<const work_id> ids) {
    return {*core_, ids};
  }
  /// As fetch<T>(group): of the works that the group has when this is called.
  template <class T>
  detail::fetch_group_wait<T> async_fetch(std::string_view group) {
    return {*core_, group};
  }
  /// Works that are over and stored: forgets their results. How many.
  std::size_t clear_results() noexcept;

  // ---- groups

  /// At most `limit` works of the group run at once; 0: as many as will. Throws std::bad_alloc.
  void limit_group(std::string_view group, unsigned limit);
  /// What is done to `parent` is done to `child`, too. Throws errc::cycle.
  void relate(std::string_view parent, std::string_view child);
  void unrelate(std::string_view parent, std::string_view child) noexcept;
  [[nodiscard]] std::vector<work_id> members(std::string_view group) const;
  /// Puts a job that was submitted and has not ended into the group, beside the groups that it is in. All calls on the group include it from then
  /// on: a paused group holds it as its other members, and a wait that has begun waits for it, too. An earlier cancel(group) or stop(group) has no
  /// effect on it. It has no part in limit_group(). It leaves the group right after it is over. Returns true if the job is
  /// in the group, also if it was before. Returns false if there is no such job, if it has ended, or if its id is only reserved: status() tells
  /// which. Throws std::invalid_argument for an empty name, std::bad_alloc, errc::forked.
  bool join_group(work_id id, std::string_view group);
  /// Returns the ids for which it was false.
  std::vector<work_id> join_group(std::span<const work_id> ids, std::string_view group);
  /// Takes a job that has not ended out of a group, whether it named the group when it was submitted or joined it later. Waits for the group go
  /// on without it. What the group's limit or pause held goes on. Returns false if the job is not in that very group, has ended, or does not exist.
  /// Throws errc::forked.
  bool leave_group(work_id id, std::string_view group);
  /// Returns the ids for which it was false.
  std::vector<work_id> leave_group(std::span<const work_id> ids, std::string_view group);

  // ---- threads

  /// At once. Throws std::invalid_argument.
  void resize(unsigned min_threads, unsigned max_threads);
  /// Cancels what has not begun, stops what runs, and after `grace` force stops it. Blocks until all threads have ended, but those of
  /// abandoned works. Idempotent. Throws std::bad_alloc if there is no memory for the report: the pool has ended all the same, and who
  /// asks again gets it.
  template <core::span_of_time Span>
  pool_report shutdown(Span grace) {
    return shutdown_within(rota::detail::saturating_span(grace));
  }

  [[nodiscard]] unsigned min_threads() const noexcept;
  [[nodiscard]] unsigned max_threads() const noexcept;

  // ---- to be looked at

  /// See <rota/pool/events.hpp>.
  [[nodiscard]] subscription subscribe(observer& whom);
  [[nodiscard]] pool_stats stats() const;
  /// The last works that have failed, the oldest first: those whose status is `failed`, fetched or not. A work is there before
  /// a wait for it ends, and after its own callback has returned. At most failed_work::most_kept; stats().failed counts all. Each costs the memory of its three texts. A work for
  /// which there was no memory is not there. Throws std::bad_alloc.
  [[nodiscard]] std::vector<failed_work> failed_works() const;
  /// Forgets one of them. Returns false if it is not there. Nothing else changes: works in whose `after` it stands fail all the same.
  bool clear_failed_work(work_id id) noexcept;
  /// Forgets all of them. Returns how many.
  std::size_t clear_failed_works() noexcept;
  [[nodiscard]] work_status status(work_id id) const noexcept;  // created: there is none, or it is forgotten
  [[nodiscard]] work_id find(std::string_view name) const noexcept;
  /// Those that are accepted, and have not begun.
  [[nodiscard]] std::vector<work_id> waiting() const;

 private:
  template <class Body, class F, class... Args>
  auto make(const work_options* options, F&& function, Args&&... args) -> work<typename Body::value_type> {
    const detail::draft place = fill<Body>(options, std::forward<F>(function), std::forward<Args>(args)...);
    return work<typename Body::value_type>(detail::enter(place, options));
  }
  template <class Body, class F, class... Args>
  detail::draft fill(const work_options* options, F&& function, Args&&... args) {
    // A function itself is never empty, and g++ warns where one is compared.
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
