// async_generator<T>: a coroutine that gives one value after the other, and may wait between them.
#pragma once

#include <type_traits>

#include <rota/detail/generator_promise.hpp>
#include <rota/task.hpp>

namespace rota {

/// A coroutine that may co_await what a task may, and gives values by co_yield. It runs as a part of whatever task asks for the next one,
/// and only while it is asked.
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
/// Threads       One task at a time asks for the next one; it may be another one each time, of any runtime.
/// Ownership     Owns the coroutine's frame, with its parameters and locals: what a task's parameters must live for, a generator's must live for
///               until it is destroyed. Destroyed in the middle, or with the task that uses it, its locals are destroyed where it stands; no
///               catch block sees that. `co_yield x` of an rvalue gives x itself, moved into the optional; of an lvalue a copy. An
///               async_generator<T&> gives a T*, null at the end: what it points to lives until the next next().
/// Ordering      What the consumer did before next() happens before the body goes on, and the body up to its co_yield before next() returns.
/// Failure       What the body throws comes out of next(), and the generator is at its end then. Its parameters are destroyed
///               while the exception unwinds: a destructor of theirs that throws ends the program. The consumer's cancellation reaches the body
///               where it waits: it is unwound first. A next() that is given up by a timeout around it has unwound the body: nothing comes
///               afterwards. To ask for the next one while another next() is under way, a shield that is held across a co_yield, and a
///               task_local whose value from the body is in force there, end the program with a sentence.
/// Cost          One allocation, recycled per thread; none for each value. next(): two transfers, no atomic operation.
/// Example       examples/async_generator.cpp
template <class T>
class [[nodiscard]] ROTA_DETAIL_CHECKED async_generator : public core::task_base {
 public:
  using value_type = std::remove_reference_t<T>;
  using promise_type = core::generator_promise<T>;

  async_generator(async_generator&&) noexcept = default;
  async_generator& operator=(async_generator&&) noexcept = default;
  ~async_generator() = default;

  /// co_await it: a std::optional<T>, or a T* of an async_generator<T&>; nothing: it has ended, or was moved from.
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
