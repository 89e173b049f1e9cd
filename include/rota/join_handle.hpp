// The handle of a spawned task.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/promise.hpp>
#include <rota/task.hpp>

namespace rota {

/// Names a task, for reports. Unique within a process.
struct task_id {
  std::uint64_t value = 0;
  friend bool operator==(task_id, task_id) = default;
};

/// Tag of join(rota::help): the thread runs other tasks while it waits.
struct help_t {
  explicit help_t() = default;
};
inline constexpr help_t help{};

namespace core {

struct header;

/// Says whether the awaited task outlives a cancelled awaiter.
enum class join_kind : unsigned char { structured, detached };

/// Waits for a task. If the wait is cancelled, it cancels that task and waits for its end. A `detached` wait
/// only stops waiting.
class ROTA_API join_leaf : public leaf {
 public:
  /// A case of a select that loses stops waiting, and the awaited task goes on. This holds for both kinds.
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;
  [[nodiscard]] bool cancel_ended() noexcept override;
  [[nodiscard]] bool is_discardable() noexcept override;
  [[nodiscard]] const char* what() const noexcept override { return "join"; }

 protected:
  join_leaf(header*& target, join_kind kind) noexcept : target_(target), kind_(kind) {}
  ~join_leaf() = default;
  bool start() override;
  bool start_beside() override;
  const void* check_beside() override;
  void lose() noexcept override;
  void announce_cancel() noexcept override;
  bool begin_cancel(cancel_reason reason) noexcept override;
  [[nodiscard]] header*& target() const noexcept { return target_; }

 private:
  bool claim() noexcept;
  bool register_here() noexcept;
  [[nodiscard]] bool must_be_cancelled() const noexcept;

  header*& target_;
  join_kind kind_;
  bool registered_ = false;
};

ROTA_API void drop(header* task) noexcept;
ROTA_API void retain_task(header& task) noexcept;
ROTA_API void release_task(header& task) noexcept;
[[nodiscard]] ROTA_API bool is_complete(const header& task) noexcept;
[[nodiscard]] ROTA_API std::uint64_t id_of(const header& task) noexcept;
ROTA_API bool cancel_task(header& task, cancel_reason reason) noexcept;
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point clock_now() noexcept;
/// Blocks the thread until the task has ended. Returns false if the deadline passed first.
ROTA_API bool wait_blocking(header* task, std::chrono::steady_clock::time_point deadline);
ROTA_API void wait_helping(header* task);

/// Moves the outcome out of a complete task.
template <class T>
outcome<T> take_outcome(header& task) noexcept(std::is_nothrow_move_constructible_v<outcome<T>>) {
  outcome<T>& stored = *result_at<T>(&task);
  base::note_write(&stored);
  outcome<T> taken(std::move(stored));
  stored = outcome<T>();
  return taken;
}

}  // namespace core

class abort_handle;

/// The only handle of a spawned task: awaits it, cancels it, or detaches it.
///
/// Threads       One thread at a time, `cancel` included: when the waiting thread has the outcome, the task
///               may be destroyed already. To cancel from another thread: `abort_handle`.
/// Ownership     Keeps the task's memory alive. Dropping the handle detaches the task; it does not stop it.
/// Ordering      The task's last line happens before whatever follows the join.
/// Failure       Awaiting rethrows the task's exception. It throws `cancelled_error` if the task was
///               cancelled, `errc::already_joined` for an empty handle, and `errc::would_deadlock` for a task
///               that awaits itself, or that runs in place of a co_await of the task that it awaits. Other
///               tasks that await each other deadlock: dump() names them. A cancelled awaiter cancels the
///               awaited task, and unwinds when that task has ended.
/// Cost          If the task has not started and would run on this worker, awaiting it runs it at once,
///               without a queue or a sleep.
/// Example       examples/spawn.cpp
template <class T>
class join_handle {
 public:
  using value_type = T;

  join_handle() noexcept = default;
  explicit join_handle(core::header& task) noexcept : task_(&task) {}
  join_handle(join_handle&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  join_handle& operator=(join_handle&& other) noexcept {
    join_handle old(std::move(*this));
    task_ = std::exchange(other.task_, nullptr);
    return *this;
  }
  join_handle(const join_handle&) = delete;
  join_handle& operator=(const join_handle&) = delete;
  ~join_handle() { detach(); }

  class ROTA_DETAIL_AWAIT_IT value_awaiter final : public core::join_leaf {
   public:
    value_awaiter(core::header*& task, core::join_kind kind) noexcept : join_leaf(task, kind) {}
    T await_resume() { return take(target()).value(); }
  };
  class ROTA_DETAIL_AWAIT_IT outcome_awaiter final : public core::join_leaf {
   public:
    explicit outcome_awaiter(core::header*& task) noexcept : join_leaf(task, core::join_kind::structured) {}
    outcome<T> await_resume() { return take(target()); }
  };

  /// Yields the value, or throws the task's exception or `cancelled_error`. Throws `errc::forked` in a child
  /// of the process that made the runtime, as join() does.
  value_awaiter operator co_await() & noexcept { return value_awaiter(task_, core::join_kind::structured); }
  template <class Self = join_handle>
  value_awaiter operator co_await() && noexcept {
    static_assert(!ROTA_DETAIL_FRAGILE_TEMPORARIES || !std::is_same_v<Self, join_handle>,
                  "g++ 12 destroys a temporary handle twice: name the handle first, then co_await it");
    return value_awaiter(task_, core::join_kind::structured);
  }
  /// Yields the outcome. Throws only `errc::already_joined`, `errc::would_deadlock` and `errc::forked`.
  outcome_awaiter result() noexcept { return outcome_awaiter(task_); }
  /// Waits as co_await does, but a cancelled awaiter leaves the task running.
  value_awaiter detached_wait() noexcept { return value_awaiter(task_, core::join_kind::detached); }

  /// Blocks this thread until the task has ended. A worker runs the task itself if the task has not started.
  /// Otherwise the worker lends its role to a spare thread during the wait. Throws `errc::forked` in a child
  /// of the process that made the runtime, unless the task had ended before the fork; so does wait_for().
  T join() {
    core::wait_blocking(task_, std::chrono::steady_clock::time_point::max());
    return take(task_).value();
  }
  /// Runs other tasks until this one has ended. Beware: these tasks run on top of the caller's stack and
  /// under the caller's locks. Such calls nest at most 16 deep; a deeper call blocks.
  ///
  /// Threads       On a worker: tasks of that worker, of the injector, and of other workers. On a thread that
  ///               plays no worker's role: tasks of the injector of this task's runtime, so the wait ends
  ///               even if no worker is free. The injector holds tasks spawned from outside and tasks woken
  ///               from outside; tasks in the ring of a worker are left to the workers. While the injector is
  ///               empty the thread sleeps. A task that arrives there, or the end of this task, wakes it. On
  ///               a thread of a pool: none; the pool starts another thread meanwhile.
  /// Failure       As join(); `errc::forked` in a child of the process that made the runtime.
  T join(help_t) {
    core::wait_helping(task_);
    return take(task_).value();
  }
  /// Blocks for at most `limit`. Returns nothing if the task has not ended by then; the handle is unchanged.
  template <core::span_of_time Span>
  [[nodiscard]] std::optional<outcome<T>> wait_for(Span limit) {
    if (!core::wait_blocking(task_, detail::saturating_deadline(core::clock_now(), limit))) {
      return std::nullopt;
    }
    return take(task_);
  }

  /// Requests cancellation of the task. Without a reason, or with `none`, the reason is `user`. Returns false
  /// if the task had ended, or if the handle is empty.
  bool cancel(cancel_reason reason = cancel_reason::user) noexcept {
    return task_ != nullptr && core::cancel_task(*task_, reason);
  }
  /// Returns a handle that cancels the task from any thread while this one joins it. Empty for an empty
  /// handle. Needs <rota/abort_handle.hpp>.
  [[nodiscard]] rota::abort_handle abort_handle() const noexcept;
  /// Gives up the handle; the task goes on. Its exception then goes to `runtime_options::on_unhandled`.
  void detach() noexcept {
    if (task_ != nullptr) core::drop(std::exchange(task_, nullptr));
  }
  [[nodiscard]] bool is_done() const noexcept { return task_ != nullptr && core::is_complete(*task_); }
  [[nodiscard]] task_id id() const noexcept { return {task_ == nullptr ? 0 : core::id_of(*task_)}; }
  /// Returns false for an empty handle: default-constructed, moved from, joined or detached. There is no
  /// conversion to bool: a condition that forgets the co_await does not compile.
  [[nodiscard]] bool valid() const noexcept { return task_ != nullptr; }

 private:
  static outcome<T> take(core::header*& task) {
    struct dropper {
      core::header*& task;
      ~dropper() { core::drop(std::exchange(task, nullptr)); }
    } const last{task};
    return core::take_outcome<T>(*task);
  }

  core::header* task_ = nullptr;
};

}  // namespace rota
