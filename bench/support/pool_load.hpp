// The works of the suite `pool`, for any pool. rota's program and the C++ peers include it, so that all of
// them do the same work. bench/pool/rota.cpp says what one operation is.
//
// A pool has post(f), which runs f() on one of its threads at some time, and wait(), which waits for all
// posted works.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace pool_load {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t chains = 64;
constexpr int roots_of_a_work = 100'000;
constexpr int roots_of_a_short_work = 10;

[[nodiscard]] inline double ms_since(clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

/// Computes `count` square roots of values that the compiler does not know.
inline void take_roots(int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    double of = i;
    asm volatile("" : "+x"(of));
    sum += std::sqrt(of);
  }
  asm volatile("" : : "x"(sum));
}

inline void spin_for(std::chrono::microseconds span) {
  const clock::time_point end = clock::now() + span;
  while (clock::now() < end) {
  }
}

/// Counts works that were posted and have not run, for pools that do not count them.
class outstanding {
 public:
  void begin() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }
  void end() noexcept {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
  }
  void wait() const noexcept {
    for (std::uint64_t left = left_.load(std::memory_order_acquire); left != 0;
         left = left_.load(std::memory_order_acquire)) {
      left_.wait(left, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<std::uint64_t> left_{0};
};

/// Holds a thread of the pool until it is opened.
class gate {
 public:
  void open() noexcept {
    open_.store(1, std::memory_order_release);
    open_.notify_all();
  }
  void wait() const noexcept { open_.wait(0, std::memory_order_acquire); }

 private:
  std::atomic<int> open_{0};
};

template <unsigned Producers, class Pool>
void from_outside(Pool& pool, std::uint64_t n) {
  const auto produce = [&pool](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) pool.post([] {});
  };
  if constexpr (Producers == 1) {
    produce(n);
  } else {
    std::vector<std::jthread> producers;
    for (unsigned i = 0; i < Producers; ++i) producers.emplace_back(produce, n / Producers);
  }
  pool.wait();
}

template <class Pool>
struct chain {
  Pool* pool;
  std::uint64_t left;
  void operator()() const {
    if (left != 0) pool->post(chain{pool, left - 1});
  }
};

template <class Pool>
void from_inside(Pool& pool, std::uint64_t n) {
  const std::uint64_t each = (n + chains - 1) / chains;
  for (std::uint64_t i = 0; i < chains; ++i) pool.post(chain<Pool>{&pool, each - 1});
  pool.wait();
}

template <class Pool>
void one_by_one(Pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    pool.post([] {});
    pool.wait();
  }
}

template <int Roots, class Pool>
void roots(Pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) pool.post([] { take_roots(Roots); });
  pool.wait();
}

/// Returns the nanoseconds from a post to the first line of the work, in an idle pool; sorted.
template <class Pool>
[[nodiscard]] std::vector<double> from_idle(Pool& pool, std::uint64_t n) {
  std::atomic<std::int64_t> ran{0};
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t sent = clock::now().time_since_epoch().count();
    pool.post([&ran] { ran.store(clock::now().time_since_epoch().count(), std::memory_order_release); });
    std::int64_t at = 0;
    while (at == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      at = ran.exchange(0, std::memory_order_acquire);
    }
    samples.push_back(static_cast<double>(at - sent));
  }
  pool.wait();
  std::sort(samples.begin(), samples.end());
  return samples;
}

[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// ---- priorities

constexpr int priorities = 8;                            // of the cases pop_...
constexpr std::chrono::microseconds busy_part{2000};     // of a work of priority_works: three of these
constexpr std::chrono::microseconds waiting_part{3000};  // two of these between them
constexpr std::chrono::microseconds medium_work{2000};   // of priority_inversion

/// A quarter of those that are measured come before, of the lowest priority.
[[nodiscard]] constexpr std::uint64_t low_before(std::uint64_t of_each) noexcept { return of_each / 4; }

/// When the last of the highest priority had ended, and the last of all, of works in three priorities.
class priority_times {
 public:
  explicit priority_times(std::uint64_t of_each) noexcept
      : high_(of_each), all_(3 * of_each + low_before(of_each)) {}

  void end(int priority) {
    if (priority == 2 && --high_ == 0) high_ms_.store(ms_since(begin_));
    if (--all_ == 0) all_ms_.store(ms_since(begin_));
  }
  [[nodiscard]] double high_ms() const { return high_ms_.load(); }
  [[nodiscard]] double all_ms() const { return all_ms_.load(); }

 private:
  std::atomic<std::uint64_t> high_;
  std::atomic<std::uint64_t> all_;
  clock::time_point begin_ = clock::now();
  std::atomic<double> high_ms_{0};
  std::atomic<double> all_ms_{0};
};

/// Calls `submit(priority)` for each of them.
template <class Submit>
void submit_priorities(std::uint64_t of_each, Submit submit) {
  for (std::uint64_t i = 0; i < low_before(of_each); ++i) submit(0);
  for (std::uint64_t i = 0; i < of_each; ++i) {
    for (const int priority : {0, 1, 2}) submit(priority);
  }
}

/// The same on a thread that is blocked by its waits.
inline void busy_and_blocked() {
  spin_for(busy_part);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(waiting_part);
    spin_for(busy_part);
  }
}

// ---- a graph

/// Layers of so many nodes; each node comes after two of the layer before.
constexpr std::uint64_t layer_width = 100;
[[nodiscard]] constexpr std::uint64_t first_before(std::uint64_t node) noexcept { return node - layer_width; }
[[nodiscard]] constexpr std::uint64_t second_before(std::uint64_t node) noexcept {
  return node % layer_width == layer_width - 1 ? node - 2 * layer_width + 1 : node - layer_width + 1;
}

}  // namespace pool_load
