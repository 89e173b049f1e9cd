// A number of permits that tasks and threads wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <system_error>
#include <utility>

#include <rota/detail/deadline.hpp>
#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/error.hpp>

namespace rota::sync {

/// Why try_acquire took nothing.
enum class acquire_refusal : unsigned char {
  // There are not so many permits now, or there are waiters already. For a moment a try_select that finds too
  // few permits also counts as a waiter.
  empty,
  closed,  // there will be no permits any more
};

[[nodiscard]] constexpr const char* to_string(acquire_refusal refusal) noexcept {
  switch (refusal) {
    case acquire_refusal::empty: return "empty";
    case acquire_refusal::closed: return "closed";
  }
  return "unknown";
}

// PROTOCOL: semaphore
//   word_    63     62      61                                0
//          +------+-------+-----------------------------------+
//          |closed|waiting|              permits              |
//          +------+-------+-----------------------------------+
//
//   acquire   permits are taken by compare-exchange while there is no waiter and the semaphore is open.
//             Otherwise, under the list's lock: one step sets `waiting` and takes all permits that there are
//             as a part of what is wanted, and the caller joins the list.
//   release   permits are added by compare-exchange while there is no waiter. Otherwise, under the list's
//             lock: the first in line gets them, and is granted when it has all that it wanted; then the
//             second, and so on. The rest is added to the word.
//   forget    permits are taken by compare-exchange and belong to no task. While `waiting` is set there are
//             none.
//
//   S1  If the list has waiters, `waiting` is set and permits is 0. So an arriving caller takes nothing
//       before the waiters.
//   S2  While `waiting` is set only the holder of the list's lock changes the word.
//   S3  Permits in the word + permits granted and not given back + the parts of the waiters = permits put in.
//   S4  A waiter that gives up gives its part back as a release does: to the next in line.

/// First come, first served, however many permits each waiter wants: no caller overtakes a waiter that wants
/// many.
///
///   rota::sync::semaphore slots(8);
///   if (auto got = co_await slots.acquire(2); !got) co_return got.error();   // closed
///   ...
///   slots.release(2);
///
/// or, with a permit that gives them back:
///
///   const auto held = rota::sync::semaphore::permit::adopt(slots, 2);
///
/// Threads       Any. Permits belong to no task or thread; any of them may give permits back.
/// Ownership     Destroying a semaphore that has waiters ends the program with a sentence. A waiter that was
///               granted its permits may destroy it.
/// Ordering      What was done before a release happens before the return of the acquires that it lets pass.
/// Failure       Closed: errc::closed, also for those that wait already; the permits stay. The constructor,
///               acquire and release throw `std::invalid_argument` if the permits are more than max_permits,
///               before anything has changed. A cancelled wait takes nothing: what it had got goes to the
///               next in line. An acquire of more permits than there will ever be waits until the semaphore
///               is closed.
/// Cost          Uncontended: one read-modify-write. No allocation.
/// Example       examples/semaphore.cpp
class ROTA_API semaphore {
 public:
  class permit;
  class acquire_leaf;
  using count = std::uint64_t;

  static constexpr count max_permits = (count{1} << 61U) - 1;

  explicit semaphore(count permits);
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore() { list_.end("a sync::semaphore was destroyed while a task or a thread waits for it"); }

  /// Returns an awaitable that yields a std::expected<void, std::error_code>.
  acquire_leaf acquire(count n = 1);
  /// Takes `n` permits if they are there and there is no waiter. Never waits.
  [[nodiscard]] std::expected<void, acquire_refusal> try_acquire(count n = 1) noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & (closed | waiting)) != 0 || seen < n) [[unlikely]]
        return std::unexpected((seen & closed) != 0 ? acquire_refusal::closed : acquire_refusal::empty);
      // acquire: pairs with the release in release(). failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, seen - n, base::order::acquire, base::order::relaxed));
    return {};
  }
  /// The same with a limit: errc::timed_out.
  template <core::span_of_time Span>
  core::limited<acquire_leaf> acquire_for(Span span, count n = 1);
  template <class Duration>
  core::limited<acquire_leaf> acquire_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                            count n = 1);

  /// Block the thread, as mutex::blocking_lock.
  std::expected<void, std::error_code> blocking_acquire(count n = 1);
  template <core::span_of_time Span>
  std::expected<void, std::error_code> blocking_acquire_for(Span span, count n = 1) {
    core::wait_node me;
    me.wanted = checked(n);
    return result_of(core::block_for(target(), me, detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<void, std::error_code> blocking_acquire_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, count n = 1) {
    core::wait_node me;
    me.wanted = checked(n);
    return result_of(core::block_until(target(), me, detail::saturating_deadline(time)));
  }

  /// Gives permits back. They may be more than were ever acquired.
  void release(count n = 1) {
    if (!try_release(n)) [[unlikely]]
      release_slowly(n);
  }

  /// Removes up to `n` of the permits that are there, for good. Returns how many: none while there are
  /// waiters. Never waits.
  count forget_permits(count n) noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    count taken = 0;
    do {
      const count there = seen & permits_mask;
      taken = n < there ? n : there;
      // relaxed: the permits are not used, so nothing is read. failure: relaxed: again a guess.
    } while (taken != 0 &&
             !word_.compare_exchange_weak(seen, seen - taken, base::order::relaxed, base::order::relaxed));
    return taken;
  }

  /// Ends all waits, and lets no caller acquire permits any more. Calling it again does nothing.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: pairs with the release in close(). What was done before is seen.
    return (word_.load(base::order::acquire) & closed) != 0;
  }
  /// A guess, unless no other thread uses the semaphore.
  [[nodiscard]] count available() const noexcept {
    // relaxed: a guess.
    return word_.load(base::order::relaxed) & permits_mask;
  }
  /// Returns how many tasks and threads are in line. A snapshot for reports: it may have changed when this
  /// returns. A waiter that was granted its permits and has not run yet is not counted. Takes the lock of the
  /// line for a moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  static constexpr std::uint64_t closed = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t waiting = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t permits_mask = waiting - 1;
  static const core::wait_rules rules;

  /// Returns `n`, or throws std::invalid_argument.
  static count checked(count n);
  static std::expected<void, std::error_code> result_of(core::wait_end how);
  /// Adds permits. Returns false if there are waiters, or if the permits would be too many.
  bool try_release(count n) noexcept {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if ((seen & waiting) != 0 || n > max_permits - (seen & permits_mask)) [[unlikely]]
        return false;
      // release: pairs with the acquire of the thread that takes them. failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, seen + n, base::order::release, base::order::relaxed));
    return true;
  }
  void release_slowly(count n);
  void give_back(count n) noexcept;
  void serve(core::wait_section& section, count n) noexcept;
  void settle(const core::wait_section& section, count n) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }

  base::atomic<std::uint64_t> word_;
  mutable core::wait_list list_;
};

/// Gives permits back when it is destroyed. Empty after a move.
class [[nodiscard]] semaphore::permit {
 public:
  /// Makes a permit of `n` permits that the caller has acquired.
  static permit adopt(semaphore& of, count n = 1) noexcept { return {&of, n}; }

  permit(permit&& other) noexcept : of_(std::exchange(other.of_, nullptr)), n_(other.n_) {}
  permit& operator=(permit&& other) noexcept {
    const permit old(std::exchange(of_, std::exchange(other.of_, nullptr)), std::exchange(n_, other.n_));
    return *this;
  }
  permit(const permit&) = delete;
  permit& operator=(const permit&) = delete;
  ~permit() {
    if (of_ != nullptr) of_->give_back(n_);
  }

  /// Does not give the permits back. Either other code gives them back, or the semaphore has fewer from now
  /// on.
  void forget() noexcept { of_ = nullptr; }
  [[nodiscard]] count permits() const noexcept { return of_ == nullptr ? 0 : n_; }

 private:
  permit(semaphore* of, count n) noexcept : of_(of), n_(n) {}
  semaphore* of_;
  count n_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API semaphore::acquire_leaf final : public core::wait_leaf {
 public:
  acquire_leaf(semaphore& of, count n) : wait_leaf(of.target()), of_(&of) { node().wanted = checked(n); }
  bool await_ready() noexcept {
    return try_end_here([this]() noexcept { return of_->try_acquire(node().wanted).has_value(); });
  }
  [[nodiscard]] std::expected<void, std::error_code> await_resume() noexcept {
    if (ended_as() == core::wait_state::granted) return {};
    return std::unexpected(make_error_code(errc::closed));
  }

 private:
  semaphore* of_;
};

inline semaphore::acquire_leaf semaphore::acquire(count n) { return acquire_leaf(*this, n); }

template <core::span_of_time Span>
core::limited<semaphore::acquire_leaf> semaphore::acquire_for(Span span, count n) {
  return core::limited<acquire_leaf>(detail::saturating_span(span), *this, n);
}
template <class Duration>
core::limited<semaphore::acquire_leaf> semaphore::acquire_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time, count n) {
  return core::limited<acquire_leaf>(detail::saturating_deadline(time), *this, n);
}

}  // namespace rota::sync
