// async_generator<T>: a coroutine that yields one value after the other, and may wait between them.
#pragma once

#include <type_traits>

#include <rota/detail/generator_promise.hpp>
#include <rota/task.hpp>

namespace rota {

/// A coroutine that may co_await what a task may, and yields values by co_yield. It runs as a part of the
/// task that calls next(), and only during that call.
///
///   rota::async_generator<row> rows(query q) {
///     auto connection = co_await connect();
///     for (;;) {
///       auto page = co_await connection.fetch(q);
///       if (page.empty()) co_return;
///       for (row& each : page) co_yield std::move(each);
///     }
///   }
///   ...
///   auto all = rows(q);
///   for (;;) {
///     auto each = co_await all.next();       // std::optional<row>: nothing at the end
///     if (!each) break;
///     use(*each);
///   }
///
/// Threads       One task at a time calls next(). It may be a different task each time, of any runtime.
/// Ownership     Owns the coroutine's frame, with its parameters and locals. What a parameter refers to must
///               live until the generator is destroyed. If the generator is destroyed in the middle, or with
///               the task that uses it, its locals are destroyed at its suspension point; no catch block sees
///               that. `co_yield x` of an rvalue yields x itself, moved into the optional; of an lvalue a
///               copy. An async_generator<T&> yields a T*, null at the end: the object lives until the next
///               call of next().
/// Ordering      What the consumer did before next() happens before the body goes on. The body up to its
///               co_yield happens before next() returns.
/// Failure       An exception of the body is rethrown by next(), and the generator has then ended. Its
///               parameters are destroyed while the exception unwinds: if their destructor throws, the
///               program ends. The consumer's cancellation reaches the body where it waits: the body is
///               unwound first. If a timeout around next() gives it up, the body has been unwound, and no
///               value comes afterwards. Three errors end the program with a message: a call of next() while
///               another one is under way, a shield that is held across a co_yield, and a task_local value
///               that the body has set and that is in force at a co_yield.
/// Cost          One allocation, recycled per thread; none for each value. next(): two transfers, no atomic
///               operation.
/// Example       examples/async_generator.cpp
template <class T>
class [[nodiscard]] ROTA_DETAIL_CHECKED async_generator : public core::task_base {
 public:
  using value_type = std::remove_reference_t<T>;
  using promise_type = core::generator_promise<T>;

  async_generator(async_generator&&) noexcept = default;
  async_generator& operator=(async_generator&&) noexcept = default;
  ~async_generator() = default;

  /// co_await the result. Yields a std::optional<T>, or a T* for an async_generator<T&>. It is empty if the
  /// generator has ended, or was moved from.
  core::next_of<T> next() noexcept { return core::next_of<T>(frame_); }

 private:
  friend promise_type;
  explicit async_generator(promise_type& frame) noexcept : task_base(frame) {}
};

namespace core {

template <class T>
async_generator<T> generator_promise<T>::get_return_object() noexcept {
  return async_generator<T>(*this);
}
template <class T>
async_generator<T&> generator_promise<T&>::get_return_object() noexcept {
  return async_generator<T&>(*this);
}

}  // namespace core
}  // namespace rota
