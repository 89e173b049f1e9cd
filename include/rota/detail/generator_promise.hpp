// The promise of an async_generator, and what its next() awaits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/locals.hpp>
#include <rota/detail/promise.hpp>

namespace rota {

template <class T>
class async_generator;

namespace core {

// PROTOCOL: generator
//   Only the thread that runs the consumer's task touches any of it; there is no atomic.
//
//   state      parent     means
//   rests      null       before the first next(), and from each co_yield to the next next(): part of no task
//   is asked   consumer   part of the consumer's task, as an awaited child: its leaves suspend that task;
//                         unwinding goes through its frame and empties the generator object (`owner`)
//   ended      consumer   at its final suspension, until next() has seen that and destroys the frame
//
//   G1  The yielded value is a reference into the generator's frame. The frame rests until the next next();
//       await_resume() moves the value out before.
//   G2  A region (a shield) belongs to the task in which it was begun, and the regions of a task are nested.
//       So none may be in force at a co_yield. The same holds for bindings of task_locals.

/// The part of the promise that does not depend on the yielded type.
class generator_base : public promise_base {
 public:
  static constexpr std::size_t lead = sizeof(frame_tag);
  static_assert(lead % lead_unit == 0);

  void unhandled_exception() noexcept {
    thrown_in(*root);
    thrown_ = std::current_exception();
  }
  static void return_void() noexcept {}

  struct last_awaiter {
    last_awaiter() noexcept {}
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> frame) noexcept {
      promise_base& self = frame.promise();
      return transfer(*self.root, *self.parent);
    }
    static void await_resume() noexcept {}
  };
  static last_awaiter final_suspend() noexcept { return {}; }

  /// Resumes the generator for the consumer's frame `outer`.
  [[gnu::always_inline]] std::coroutine_handle<> resume_for(promise_base& outer,
                                                            promise_base*& object) noexcept {
    if (parent != nullptr) [[unlikely]]
      ROTA_FATAL("next() of an async_generator that is asked for the next one already", 0);
    root = outer.root;
    parent = &outer;
    owner = &object;
    regions_ = regions_now();
    locals_ = locals_now();
    return transfer(*outer.root, static_cast<promise_base&>(*this));
  }
  /// Yields: the generator rests, and the consumer goes on.
  [[gnu::always_inline]] std::coroutine_handle<> rest() noexcept {
    if (regions_now() != regions_) [[unlikely]]
      ROTA_FATAL("a shield of an async_generator is held across a co_yield", 0);
    if (locals_now() != locals_) [[unlikely]]
      ROTA_FATAL("a task_local that an async_generator has set is set across a co_yield", 0);
    promise_base& outer = *std::exchange(parent, nullptr);
    return transfer(*root, outer);
  }

  /// Returns true if the generator has ended. Called by the consumer after a transfer: parent is null if it
  /// rests.
  [[nodiscard]] bool has_ended() noexcept { return parent != nullptr; }
  [[nodiscard]] std::exception_ptr take_exception() noexcept { return std::exchange(thrown_, nullptr); }

  static void* operator new(std::size_t frame_bytes) { return allocate(frame_bytes, lead); }
  static void operator delete(void* frame, std::size_t frame_bytes) noexcept {
    base::free_frame(static_cast<std::byte*>(frame) - lead, lead + frame_bytes);
  }

 protected:
  generator_base() = default;
  ~generator_base() = default;

 private:
  /// Returns the regions in force. Frames in place are no task yet, and have none.
  [[nodiscard]] region* regions_now() const noexcept {
    return root->in_place ? nullptr : static_cast<activation*>(root)->regions;
  }

  /// Returns the bindings in force. Frames in place have those of the task around them: setting one in place
  /// makes a task.
  [[nodiscard]] const local_node* locals_now() const noexcept {
    return root->in_place ? locals_around() : static_cast<activation*>(root)->locals;
  }

  region* regions_ = nullptr;
  const local_node* locals_ = nullptr;
  std::exception_ptr thrown_;
};

/// Awaiter of a co_yield of an object that lives in the generator's frame until the generator goes on.
class yield_awaiter {
 public:
  yield_awaiter() noexcept {}
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> frame) noexcept {
    return frame.promise().rest();
  }
  static void await_resume() noexcept {}
};

/// Awaiter of a co_yield of an lvalue, which the generator may use later: a copy is yielded.
template <class T>
class yield_copy : public yield_awaiter {
 public:
  explicit yield_copy(const T& value) : copy_(value) {}
  yield_copy(const yield_copy&) = delete;
  yield_copy& operator=(const yield_copy&) = delete;
  ~yield_copy() = default;
  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> frame) noexcept {
    frame.promise().give(copy_);
    return frame.promise().rest();
  }

 private:
  T copy_;
};

template <class T>
class generator_promise final : public generator_base {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_move_constructible_v<T>,
                "an async_generator gives objects that can be moved, or references");

 public:
  using given = std::optional<T>;

  async_generator<T> get_return_object() noexcept;
  yield_awaiter yield_value(T&& value) noexcept {
    give(value);
    return {};
  }
  yield_copy<T> yield_value(const T& value)
    requires std::is_copy_constructible_v<T>
  {
    return yield_copy<T>(value);
  }

  void give(T& value) noexcept { value_ = &value; }
  [[nodiscard]] given take() { return given(std::in_place, std::move(*value_)); }

 private:
  T* value_ = nullptr;
};

template <class T>
class generator_promise<T&> final : public generator_base {
 public:
  using given = T*;

  async_generator<T&> get_return_object() noexcept;
  yield_awaiter yield_value(T& value) noexcept {
    value_ = &value;
    return {};
  }
  [[nodiscard]] given take() noexcept { return value_; }

 private:
  T* value_ = nullptr;
};

/// The awaitable that async_generator::next() returns.
template <class T>
class ROTA_DETAIL_AWAIT_IT next_of {
  using promise = generator_promise<T>;
  using given = typename promise::given;

 public:
  explicit next_of(promise_base*& frame) noexcept : frame_(&frame) {}
  next_of(const next_of&) = delete;
  next_of& operator=(const next_of&) = delete;
  ~next_of() = default;

  static void bind(activation& /*task*/) noexcept {}
  [[nodiscard]] bool await_ready() const noexcept { return *frame_ == nullptr; }
  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> outer) noexcept {
    return typed().resume_for(outer.promise(), *frame_);
  }
  given await_resume() {
    if (*frame_ == nullptr) return given();
    if (!typed().has_ended()) return typed().take();
    const ended last(*frame_);
    if (std::exception_ptr thrown = typed().take_exception()) std::rethrow_exception(std::move(thrown));
    return given();
  }

 private:
  /// Destroys the frame of a generator that has ended. After a failure this happens while the exception
  /// unwinds, so tasks that its parameters keep are not reported as forgotten.
  struct ended {
    explicit ended(promise_base*& owner) noexcept : frame(owner) {}
    ended(const ended&) = delete;
    ended& operator=(const ended&) = delete;
    ~ended() {
      std::coroutine_handle<promise>::from_promise(static_cast<promise&>(*frame)).destroy();
      frame = nullptr;
    }
    promise_base*& frame;
  };
  [[nodiscard]] promise& typed() const noexcept { return static_cast<promise&>(**frame_); }
  promise_base** frame_;
};

}  // namespace core
}  // namespace rota
