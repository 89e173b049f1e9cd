// User-defined queues for the workers of a pool.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <rota/detail/config.hpp>

namespace rota::pool {

namespace detail {
struct work_mark;
}

/// The entry that a custom queue holds for a work: a few words that the queue may copy freely. The queue must
/// return them unchanged.
class queued_work {
 public:
  std::uint64_t id = 0;
  int priority = 0;  // any int; the larger comes first

  /// Names no work. A pool that receives it from a queue aborts. For tests of a queue, and for arrays.
  constexpr queued_work() noexcept = default;
  constexpr queued_work(std::uint64_t of, int with_priority) noexcept : id(of), priority(with_priority) {}

  friend constexpr bool operator==(const queued_work&, const queued_work&) noexcept = default;

 private:
  friend struct detail::work_mark;
  std::uint32_t mark_ = ~std::uint32_t{0};  // the place in the pool's table
};

/// The interface that a pool requires of a custom queue. get() is called by the worker that owns the queue,
/// steal() by another worker. discard() is called when the pool must drop a work because too many wait. Each
/// call removes one entry: get() and steal() one of the highest priority, discard() one of the lowest. A call
/// returns nothing if the queue is empty, and only then. size() returns the number of entries.
/// testing::check_queue<Q>() tests all of this on a type.
///
/// Threads       One call at a time, from any thread. The pool holds a lock during each call. So a call must
///               not block and must not call the pool.
/// Ownership     A queue owns no work: a queued_work is only a name.
/// Ordering      Each call happens before the next one.
/// Failure       No work is ever lost. If set() throws, the pool keeps the work, unless size() has grown:
///               then the queue has it. If get() or steal() throws, or returns nothing although the queue has
///               entries, the pool takes over all works that it knows to be in the queue. The queue goes on
///               with works that come later. The reason: the worker of a queue may have ended, so that only
///               thieves still call the queue. The pool serves the works that it took over first, by
///               priority. If discard() throws, it counts as having returned nothing this time. If an entry
///               comes out twice, or was never put in, the program ends.
/// Cost          A pool calls size() after each set(). The entry of a cancelled work stays in the queue. The
///               pool skips it when it comes out.
template <class Q>
concept queue_of_works = requires(Q& queue, const Q& seen, queued_work work) {
  queue.set(work);
  { queue.get() } -> std::same_as<std::optional<queued_work>>;
  { queue.steal() } -> std::same_as<std::optional<queued_work>>;
  { queue.discard() } -> std::same_as<std::optional<queued_work>>;
  { seen.size() } -> std::convertible_to<std::size_t>;
};

namespace detail {

/// Type-erased base of a custom queue.
class user_queue {
 public:
  user_queue() = default;
  user_queue(const user_queue&) = delete;
  user_queue& operator=(const user_queue&) = delete;
  virtual ~user_queue() = default;

  virtual void set(queued_work work) = 0;
  [[nodiscard]] virtual std::optional<queued_work> get() = 0;
  [[nodiscard]] virtual std::optional<queued_work> steal() = 0;
  [[nodiscard]] virtual std::optional<queued_work> discard() = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
};

template <queue_of_works Q>
class user_queue_of final : public user_queue {
 public:
  user_queue_of() : queue_() {}
  explicit user_queue_of(Q (*make)()) : queue_(make()) {}

  void set(queued_work work) override { queue_.set(work); }
  [[nodiscard]] std::optional<queued_work> get() override { return queue_.get(); }
  [[nodiscard]] std::optional<queued_work> steal() override { return queue_.steal(); }
  [[nodiscard]] std::optional<queued_work> discard() override { return queue_.discard(); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(queue_.size()); }

 private:
  Q queue_;
};

}  // namespace detail

/// Selects the queue type of the workers of a pool: a field of the pool's options. Default: none, so one of
/// the built-in orders is used.
///
///   options.custom = custom_queue::of<my_queue>();
///   options.custom = custom_queue::of<my_queue>([] { return my_queue(64); });
///
/// Ownership     The pool's constructor makes all of its queues. They are destroyed with the pool. When the
///               worker of a queue ends, the queue stays for the next worker and for thieves.
/// Failure       An exception of the queue's constructor is thrown by the pool's constructor.
/// Cost          Two words. Copies are cheap.
/// Example       examples/custom_queue.cpp
class custom_queue {
 public:
  constexpr custom_queue() noexcept = default;

  template <queue_of_works Q>
    requires std::default_initializable<Q>
  [[nodiscard]] static custom_queue of() noexcept {
    return custom_queue(made_by_default<Q>, nullptr);
  }
  /// `make_one` is a function, or a lambda without captures. Its result is not moved.
  template <queue_of_works Q>
  [[nodiscard]] static custom_queue of(Q (*make_one)()) noexcept {
    return custom_queue(made_by<Q>, reinterpret_cast<any_function>(make_one));
  }

  /// Returns false if no queue type is selected.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return maker_ != nullptr; }
  /// Makes a new queue for the pool. The caller deletes it.
  [[nodiscard]] detail::user_queue* make() const { return maker_(argument_); }

 private:
  using any_function = void (*)();
  using maker = detail::user_queue* (*)(any_function);

  custom_queue(maker with, any_function argument) noexcept : maker_(with), argument_(argument) {}

  template <class Q>
  static detail::user_queue* made_by_default(any_function) {
    return new detail::user_queue_of<Q>;
  }
  template <class Q>
  static detail::user_queue* made_by(any_function make_one) {
    return new detail::user_queue_of<Q>(reinterpret_cast<Q (*)()>(make_one));
  }

  maker maker_ = nullptr;
  any_function argument_ = nullptr;
};

}  // namespace rota::pool
