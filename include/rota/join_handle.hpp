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

/// Names a task, for reports. Never used twice within a process.
struct task_id {
  std::uint64_t value = 0;
  friend bool operator==(task_id, task_id) = default;
};

/// join(rota::help): run other tasks while waiting.
struct help_t {
  explicit help_t() = default;
};
inline constexpr help_t help{};

namespace core {

struct header;

/// Whether the awaited task outlives a cancelled awaiter.
enum class join_kind : unsigned char { structured, detached };

/// Waits for a task. Cancelled, it cancels that task and waits for its end; `detached`: it just leaves.
class ROTA_API join_leaf : public leaf {
 public:
  /// As a case of a select: who loses stops waiting, and the awaited task goes on, whatever its kind.
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
/// Blocks the thread. False: the deadline passed first.
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

/// The one handle of a spawned task: awaits it, cancels it, or lets it go.
///
/// Threads       One thread at a time, `cancel` included: once the thread that waits has the outcome, the task may be gone.
///               To cancel from another thread: `abort_handle`.
/// Ownership     Keeps the task's memory. Dropping the handle detaches the task; it does not stop it.
/// Ordering      The task's last line happens before whatever follows the join.
/// Failure       Awaiting rethrows what the task threw; `cancelled_error` if it was cancelled; `errc::already_joined` for
///               an empty handle; `errc::would_deadlock` for a task that awaits itself, or that runs in place of a co_await of the
///               task that it awaits. Tasks that await each other otherwise wait for ever: dump() names them. A cancelled awaiter
///               cancels the awaited task and unwinds when that has ended.
/// Cost          If the task has not started and would run here, awaiting it runs it at once: no queue, no sleep.
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

  /// The value, or what the task threw, or `cancelled_error`. `errc::forked` in a child of the process that made the runtime, as join().
  value_awaiter operator co_await() & noexcept { return value_awaiter(task_, core::join_kind::structured); }
  template <class Self = join_handle>
  value_awaiter operator co_await() && noexcept {
    static_assert(!ROTA_DETAIL_FRAGILE_TEMPORARIES || !std::is_same_v<Self, join_handle>,
                  "g++ 12 destroys a temporary handle twice: name the handle first, then co_await it");
    return value_awaiter(task_, core::join_kind::structured);
  }
  /// The outcome; throws only `errc::already_joined`, `errc::would_deadlock` and `errc::forked`.
  outcome_awaiter result() noexcept { return outcome_awaiter(task_); }
  /// As co_await, but a cancelled awaiter leaves the task running.
  value_awaiter detached_wait() noexcept { return value_awaiter(task_, core::join_kind::detached); }

  /// Blocks this thread until the task has ended. On a worker it runs the task itself if it has not started, and
  /// otherwise lends its role to a spare thread meanwhile. Throws `errc::forked` in a child of the process that made the runtime, unless the
  /// task had ended before the fork; so does wait_for().
  T join() {
    core::wait_blocking(task_, std::chrono::steady_clock::time_point::max());
    return take(task_).value();
  }
  /// Runs other tasks until this one has ended. Beware: they run on top of the caller's stack and under the caller's
  /// locks. At most 16 deep; deeper it blocks.
  ///
  /// Threads       On a worker: tasks of that worker, of the injector, and of other workers. On a thread that plays no
  ///               worker's role: tasks of the injector of this task's runtime, so it ends even if no worker is free. Those are
  ///               tasks from outside and those that woke outside; what lies in the ring of a worker is left to the workers. While
  ///               there are none the thread sleeps; a task that comes, or the end of this one, wakes it. On a thread
  ///               of a pool: none; the pool starts another thread meanwhile.
  /// Failure       As join(); `errc::forked` in a child of the process that made the runtime.
  T join(help_t) {
    core::wait_helping(task_);
    return take(task_).value();
  }
  /// Blocks for at most `limit`. Empty: not ended yet, and the handle stays as it was.
  template <core::span_of_time Span>
  [[nodiscard]] std::optional<outcome<T>> wait_for(Span limit) {
    if (!core::wait_blocking(task_, detail::saturating_deadline(core::clock_now(), limit))) {
      return std::nullopt;
    }
    return take(task_);
  }

  /// Asks the task to stop; without a reason, or with `none`, for `user`. False if it had ended, or the handle is empty.
  bool cancel(cancel_reason reason = cancel_reason::user) noexcept {
    return task_ != nullptr && core::cancel_task(*task_, reason);
  }
  /// Cancels the task from any thread while this one joins it. Empty for an empty handle. Needs <rota/abort_handle.hpp>.
  [[nodiscard]] rota::abort_handle abort_handle() const noexcept;
  /// Lets the task go on alone. An exception of its own then goes to `runtime_options::on_unhandled`.
  void detach() noexcept {
    if (task_ != nullptr) core::drop(std::exchange(task_, nullptr));
  }
  [[nodiscard]] bool is_done() const noexcept { return task_ != nullptr && core::is_complete(*task_); }
  [[nodiscard]] task_id id() const noexcept { return {task_ == nullptr ? 0 : core::id_of(*task_)}; }
  /// Returns false for an empty handle: default-constructed, moved from, joined or detached. There is no conversion to bool: a condition
  /// that forgets the co_await does not compile.
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
