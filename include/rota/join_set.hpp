// A set of tasks with one result type. Their results are taken in the order in which they end.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>

#include <rota/abort_handle.hpp>
#include <rota/detail/completion_queue.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/join_handle.hpp>
#include <rota/outcome.hpp>

namespace rota {

/// A set of running tasks; `next` gives their outcomes in the order in which they end.
///
///   rota::join_set<page> set;
///   for (const url& u : urls) set.spawn(fetch, u);
///   for (;;) {
///     auto done = co_await set.next();
///     if (!done) break;
///     if (done->has_value()) show(done->value());
///   }
///
/// A set is no block: a task may outlive it. If it is destroyed before it is empty, it cancels the tasks that
/// still run and detaches them. They must not use anything then that is destroyed with the set. `co_await
/// set.close()` cancels them and waits for their ends. If they use locals of the caller, use with_scope.
///
/// Threads       One task at a time. `cancel_all`, `size`, and the handles that `spawn` returns may be used
///               by others meanwhile.
/// Ownership     Owns the handles of its tasks. Movable while no task awaits it. A moved-from set may be
///               destroyed and assigned to.
/// Ordering      A task's last line happens before `next` gives its outcome.
/// Failure       An exception of a task is in its outcome, and does not affect the other tasks. Exceptions in
///               outcomes that were not taken when the set is closed or destroyed are counted, not reported.
///               A cancelled `next` loses nothing. The constructor and `spawn` throw `std::bad_alloc`, and
///               `spawn` throws `errc::no_runtime` outside of a task; nothing was started then. A second
///               `next` at the same time throws `errc::already_joined`. Calling a member of a moved-from set,
///               also `size` and `empty`, ends the program with a sentence, in every build.
/// Cost          One allocation for the set. A task: as rota::spawn, two short critical sections, and two
///               read-modify-writes for its abort_handle.
/// Example       examples/join_set.cpp
template <class T>
class join_set {
 public:
  join_set() = default;

  class ROTA_DETAIL_AWAIT_IT next_awaiter final : public core::next_leaf {
   public:
    explicit next_awaiter(core::completion_queue& queue) noexcept : next_leaf(queue) {}
    std::optional<outcome<T>> await_resume() {
      core::header* const ended = take();
      if (ended == nullptr) return std::nullopt;
      struct dropper {
        core::header* task;
        ~dropper() { core::drop(task); }
      } const last{ended};
      return core::take_outcome<T>(*ended);
    }
  };

  /// Starts a task. It inherits the deadline of this place. The returned handle cancels this task alone, and
  /// may be dropped; `next` gives the outcome as before.
  abort_handle spawn(task<T> work, std::source_location site = std::source_location::current()) {
    task<T> bound = core::inherit_deadline(std::move(work));
    return abort_handle::adopt(tasks_.launch(*bound.release(), core::result_vtable_of<T>, site));
  }
  /// Starts `function(args...)`, which returns a task. The function and the arguments live in the task.
  template <class F>
    requires core::makes_task<F>
  abort_handle spawn(F&& function, std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function)), site);
  }
  template <class F, class A>
    requires core::makes_task<F, A>
  abort_handle spawn(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first)), site);
  }
  template <class F, class A, class B>
    requires core::makes_task<F, A, B>
  abort_handle spawn(F&& function,
                     A&& first,
                     B&& second,
                     std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)),
                 site);
  }
  /// Reports do not show the spawn site of a task with this many arguments.
  template <class F, class... Args>
    requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
  abort_handle spawn(F&& function, Args&&... args) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }

  /// co_await it: the outcome of the next task that ends, or has ended. Nothing if the set is empty.
  next_awaiter next() noexcept { return next_awaiter(tasks_.queue()); }

  /// Requests cancellation of all tasks. `next` gives their outcomes as before.
  void cancel_all() noexcept { tasks_.cancel_all(); }

  /// Cancels all tasks, waits until they have ended, and forgets their outcomes. The set is empty then. Spawn
  /// nothing between close() and its co_await: such a task is cancelled only if this one is.
  core::drain_leaf close() noexcept {
    cancel_all();
    return core::drain_leaf(tasks_.queue());
  }

  /// Returns the number of tasks with outcomes that were not taken, running or not.
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

 private:
  core::completion_queue_owner tasks_;
};

}  // namespace rota
