// task<T>: a coroutine of rota.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <rota/detail/fork_group.hpp>
#include <rota/detail/promise.hpp>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// g++ 12 miscompiles some co_await expressions silently. docs/compilers.md has the rules;
// tools/check_coroutines.py finds them.
#define ROTA_DETAIL_FRAGILE_TEMPORARIES 1
#else
#define ROTA_DETAIL_FRAGILE_TEMPORARIES 0
#endif

// A task is one pointer. trivial_abi: it is passed in a register, so it takes no memory in the caller's
// frame.
#if defined(__clang__)
#define ROTA_DETAIL_IN_A_REGISTER [[clang::trivial_abi]]
#else
#define ROTA_DETAIL_IN_A_REGISTER
#endif

namespace rota {

namespace core {

/// Owns the frame of a coroutine that has not been spawned.
class ROTA_DETAIL_IN_A_REGISTER task_base {
 public:
  task_base(task_base&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task_base& operator=(task_base&& other) noexcept {
    task_base old(std::move(*this));
    frame_ = std::exchange(other.frame_, nullptr);
    return *this;
  }
  task_base(const task_base&) = delete;
  task_base& operator=(const task_base&) = delete;

  /// Returns false after the task was moved from, awaited to its end or spawned. There is no conversion to
  /// bool: a condition that forgets the co_await does not compile.
  [[nodiscard]] bool valid() const noexcept { return frame_ != nullptr; }

 protected:
  explicit task_base(promise_base& frame) noexcept : frame_(&frame) {}
  ~task_base() {
    if (frame_ != nullptr) destroy(*frame_);
  }

  /// Destroys a task that is not to run, if there is one, without a report.
  ROTA_API static void drop(promise_base*& frame) noexcept;

  promise_base* frame_;

 private:
  friend void demand_begin(task_base& work) noexcept;
  ROTA_API static void destroy(promise_base& frame) noexcept;
};

inline void demand_work(const task_base& work) noexcept { demand_work(work.valid()); }

/// Marks a child of a group: it begins even if it was cancelled before. The task was handed something that
/// already runs. Its first co_await asks that to stop, and waits for it.
inline void demand_begin(task_base& work) noexcept { tag_of(work.frame_->handle().address()).must_begin = 1; }

}  // namespace core

/// A unit of asynchronous work: a coroutine that has not started. It starts when it is awaited or spawned.
///
/// Threads       Not shared: one owner at a time. Once it runs, it may move between the runtime's workers at
///               each co_await.
/// Ownership     Owns the coroutine's frame, and with it its parameters and locals; not the captures of a
///               lambda that made it: `[t]() -> task<> {...}()` reads a destroyed lambda. Await a named
///               lambda, or pass it to `spawn` uncalled. Reference parameters stay references:
///               docs/compilers.md says how clang finds those that dangle.
/// Ordering      The caller's code up to the co_await happens before the task's first line; its last line
///               happens before the co_await returns.
/// Failure       The co_await rethrows an exception of the task. If the awaiting task is cancelled, this one
///               is unwound first: its destructors run, and no catch block sees the cancellation. A
///               destructor that throws during the unwinding, or when a result is dropped, ends the program.
///               Resuming or destroying the frame by hand is undefined behaviour; builds with asserts detect
///               a resumption at the next co_await. Awaiting or spawning an empty task (moved from, awaited
///               or spawned before) ends the program with a message. A task that is destroyed before it was
///               awaited or spawned never ran. It is reported on stderr with the place of its coroutine, if
///               that file is compiled without NDEBUG; not while an exception or a cancellation unwinds.
///               discard() states that the destruction is intended.
/// Cost          One allocation, recycled per thread. Awaiting: no atomic operation, and constant stack at
///               any depth.
/// Example       examples/task.cpp
template <class T = void>
class [[gnu::warn_unused, nodiscard("a task does nothing without co_await or spawn()")]]
ROTA_DETAIL_IN_A_REGISTER ROTA_DETAIL_CHECKED task : public core::task_base {
 public:
  using value_type = T;
  using promise_type = core::promise<T>;

  task(task&&) noexcept = default;
  task& operator=(task&&) noexcept = default;
  ~task() = default;

  class awaiter {
   public:
    explicit awaiter(core::promise_base*& frame) noexcept : frame_(frame) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    ~awaiter() = default;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> parent) noexcept {
      core::demand_work(frame_ != nullptr);
      ROTA_ASSERT(frame_->root == nullptr);
      core::promise_base& outer = parent.promise();
      frame_->root = outer.root;
      frame_->parent = &outer;
      frame_->owner = &frame_;
      return core::transfer(*outer.root, *frame_);
    }
    /// Destroys the child's frame together with its result: a chain of tasks that were handed down is
    /// destroyed link by link.
    [[gnu::always_inline]] T await_resume() {
      const ended child(frame_);
      base::note_read(&typed().result());
      return std::move(typed().result()).value();
    }

   private:
    /// Destroys the child's frame. At its end only the parameters are left. Tasks nested in them limit their
    /// own depth.
    struct ended {
      explicit ended(core::promise_base*& owner) noexcept : frame(owner) {}
      ended(const ended&) = delete;
      ended& operator=(const ended&) = delete;
      ~ended() {
        auto& last = static_cast<promise_type&>(*frame);
        std::coroutine_handle<promise_type>::from_promise(last).destroy();
        frame = nullptr;
      }
      core::promise_base*& frame;
    };
    [[nodiscard]] promise_type& typed() const noexcept { return static_cast<promise_type&>(*frame_); }
    core::promise_base*& frame_;
  };

  /// Runs the task as part of the awaiting task. Call it once.
  awaiter operator co_await() && noexcept { return awaiter(frame_); }

  /// Destroys a task that is not to run, with what its parameters keep. This is not reported. An empty task
  /// stays empty.
  void discard() && noexcept { this->drop(frame_); }

  /// Gives the frame up to a caller that starts it in another way.
  [[nodiscard]] core::promise_base* release() noexcept {
    core::demand_work(*this);
    return std::exchange(frame_, nullptr);
  }

 private:
  friend core::typed_promise<T>;
  explicit task(core::promise_base& frame) noexcept : task_base(frame) {}
};

namespace core {

template <class T>
[[gnu::always_inline]] inline task<T> typed_promise<T>::get_return_object(await_site coroutine) noexcept {
  // For the report of a task that never starts. NDEBUG in the file of the coroutine decides, not in the
  // library: no layout depends on NDEBUG.
#if !defined(NDEBUG) && !ROTA_MODEL
  this->keep_site(coroutine);
#else
  static_cast<void>(coroutine);
#endif
  return task<T>(*this);
}

}  // namespace core
}  // namespace rota
