// Timers for many threads: a wheel behind a lock, one for each worker.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <rota/waker.hpp>

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "time/timer.hpp"
#include "time/wheel.hpp"

namespace rota::timing {

/// The duty of arm()'s caller.
enum class on_arm {
  nothing,          // the shard already had a deadline as early as this
  announce_earlier  // the caller must tell a poller that sleeps until an earlier result of earliest()
};

struct [[nodiscard]] arm_result {
  on_arm duty;
  base::time_point earliest;  // the shard's, including the new timer
};

enum class [[nodiscard]] cancel_result {
  cancelled,      // this call took the timer out; its waker is dropped and never woken
  already_fired,  // its waker is woken, or the polling thread is about to wake it
  was_not_armed   // it is new, or was cancelled before
};

/// Sums since construction: armed - fired - cancelled timers are pending. To arm an armed timer counts as a
/// cancel, too.
struct timer_counts {
  std::uint64_t armed = 0;
  std::uint64_t fired = 0;
  std::uint64_t cancelled = 0;
};

// PROTOCOL: timer shard
//
//   field      which threads may touch it
//   wheel_     the holder of mutex_, which may also touch the nodes that the wheel holds
//   earliest_  written by the holder of mutex_, when wheel_.next_deadline() has changed; read by any thread
//   armed_ fired_ cancelled_  written by the holder of mutex_, read by any thread
//
//   H1  No waker is woken or dropped under mutex_: a wake may run code that arms or cancels here.
//   H2  earliest_ is never later than the deadline of an armed timer, once the arm() of that timer has
//       returned.
//
// A poller cannot sleep on earliest_ alone: a timer may be armed between its read and its sleep (a lost
// wakeup). So the poller announces its deadline by a read-modify-write of a word of its own, and then reads
// earliest_. arm() stores earliest_, and its caller then does a read-modify-write of the same word. The later
// of the two sees the other. So release and acquire suffice here.

/// The timers of one worker. It must outlive every timer that is armed on it.
class alignas(base::cache_line) shard {
 public:
  explicit shard(base::time_point now) noexcept : wheel_(now) {}
  shard(const shard&) = delete;
  shard& operator=(const shard&) = delete;
  ~shard();

  /// Arms a timer: a poll wakes `wake` once `deadline` has come. A timer that is armed already, on this shard
  /// or another, is replaced. If it fires just before, its old waker is woken, and it is armed all the same.
  arm_result arm(timer_node& node, base::time_point deadline, waker wake) noexcept;

  /// Takes the timer out of the shard that it is armed on. Any thread may call it.
  static cancel_result cancel(timer_node& node) noexcept;

  /// Wakes the timers with a deadline at or before `now`, at most `limit`: in the order of their deadlines,
  /// equal ones in the order in which they were armed. A timer that is armed meanwhile with a deadline up to
  /// `now` is left to the next poll. Returns how many were woken. If some are left, earliest() is not after
  /// `now`. Any thread may call it. Two polls at once share the timers, and then only the order within each
  /// poll is defined.
  unsigned poll(base::time_point now, unsigned limit) noexcept;

  [[nodiscard]] base::time_point earliest() const noexcept {
    // acquire: pairs with the release in publish(); see the protocol for what else a sleeper needs.
    return base::time_point(base::nanoseconds(earliest_.load(base::order::acquire)));
  }

  [[nodiscard]] timer_counts counts() const noexcept;

 private:
  struct batch;
  enum class on_collect { finished, look_again };
  using counter = base::atomic<std::uint64_t>;

  void take_out(timer_node& node, waker& into) noexcept;
  on_collect collect(batch& due, unsigned limit) noexcept;
  void publish() noexcept;
  static void count(counter& which, std::uint64_t n) noexcept;

  base::mutex mutex_;
  base::atomic<std::int64_t> earliest_{base::never.time_since_epoch().count()};
  counter armed_{0};
  counter fired_{0};
  counter cancelled_{0};
  wheel wheel_;
};

/// One shard for each worker.
class timers {
 public:
  /// Throws `std::bad_alloc`. At least one shard.
  timers(unsigned shards, base::time_point now);

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(shards_.size()); }
  [[nodiscard]] shard& at(unsigned index) noexcept { return *shards_[index]; }

  /// Returns the earliest deadline of all shards. O(shards): only the poller calls it, once for each sleep.
  [[nodiscard]] base::time_point earliest() const noexcept;

  /// Polls the shards one after the other, starting with `first`. There is no order between timers of
  /// different shards. O(shards).
  unsigned poll(unsigned first, base::time_point now, unsigned limit) noexcept;

  [[nodiscard]] timer_counts counts() const noexcept;

 private:
  std::vector<std::unique_ptr<shard>> shards_;
};

}  // namespace rota::timing
