// Queues of the user's own for the workers of a pool.
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

/// What a custom queue holds in place of a work: a few words to be copied at will, and to be given back as they came.
class queued_work {
 public:
  std::uint64_t id = 0;
  int priority = 0;  // any int; the larger comes first

  /// Stands for no work: a pool that is given it aborts. For tests of a queue, and for arrays.
  constexpr queued_work() noexcept = default;
  constexpr queued_work(std::uint64_t of, int with_priority) noexcept : id(of), priority(with_priority) {}

  friend constexpr bool operator==(const queued_work&, const queued_work&) noexcept = default;

 private:
  friend struct detail::work_mark;
  std::uint32_t mark_ = ~std::uint32_t{0};  // where the pool has noted it
};

/// What a pool asks of a queue. get() is for the worker whose queue it is, steal() for another one, discard() where a work has to be
/// lost because too many wait. Each takes one out, the first two of the highest priority, the third of the lowest, and gives nothing
/// if the queue is empty, and only then. size() says how many are in. testing::check_queue<Q>() tries all that on a type.
///
/// Threads       One call at a time, from any thread; the pool holds a lock meanwhile. So they must not block, and must not call the pool.
/// Ownership     Of nothing: a queued_work is a name.
/// Ordering      What one call did happens before the next one.
/// Failure       No work is ever lost. One whose set() throws is kept by the pool, unless size() has grown: then the queue has it.
///               If get() or steal() throws, or gives nothing although works are in, the pool takes over those that it knows to be in,
///               and the queue goes on with those that come later: a queue may have lost its worker, and then only others come by.
///               What the pool keeps so is served first, by priority. A discard() that throws gives nothing, this time. A work that
///               comes out twice, or was never put in, ends the program.
/// Cost          A pool calls size() with each set(). A work that was cancelled stays in the queue as a name, and is passed over when
///               it comes out.
template <class Q>
concept queue_of_works = requires(Q& queue, const Q& seen, queued_work work) {
  queue.set(work);
  { queue.get() } -> std::same_as<std::optional<queued_work>>;
  { queue.steal() } -> std::same_as<std::optional<queued_work>>;
  { queue.discard() } -> std::same_as<std::optional<queued_work>>;
  { seen.size() } -> std::convertible_to<std::size_t>;
};

namespace detail {

/// A custom queue, whatever its type is.
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

/// Says which queue the workers of a pool have: a field of its options. Default: none, so one of the built-in orders.
///
///   options.custom = custom_queue::of<my_queue>();
///   options.custom = custom_queue::of<my_queue>([] { return my_queue(64); });
///
/// Ownership     The pool's constructor makes all of its queues, and they go with the pool. When a queue's worker ends it stays, for the
///               next one and for thieves.
/// Failure       What the queue's constructor throws, the pool's does.
/// Cost          Two words, copied at will.
/// Example       examples/custom_queue.cpp
class custom_queue {
 public:
  constexpr custom_queue() noexcept = default;

  template <queue_of_works Q>
    requires std::default_initializable<Q>
  [[nodiscard]] static custom_queue of() noexcept {
    return custom_queue(made_by_default<Q>, nullptr);
  }
  /// `make_one` is a function, or a lambda without captures. The result is not moved.
  template <queue_of_works Q>
  [[nodiscard]] static custom_queue of(Q (*make_one)()) noexcept {
    return custom_queue(made_by<Q>, reinterpret_cast<any_function>(make_one));
  }

  /// False: none.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return maker_ != nullptr; }
  /// A new queue, for the pool; the caller deletes it.
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
