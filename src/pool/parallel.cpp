// Parallel loops. The caller takes part, and helping works of the pool join as far as threads are free.
#include <rota/pool/parallel.hpp>
#include <rota/pool/this_work.hpp>

#include "base/atomic.hpp"
#include "base/mutex.hpp"

#include <algorithm>
#include <stdexcept>

namespace rota::pool {

namespace detail {

namespace {

/// Returns true if a work runs the loop and was asked to stop.
bool is_asked_to_stop() { return this_work::id() && this_work::stop_requested(); }

/// The state that all participating threads share. It outlives them: the caller waits for each helper, or
/// cancels it.
class running_loop {
 public:
  running_loop(const loop_plan& plan, const loop_options& how, unsigned threads)
      : plan_(plan), how_(how), threads_(threads) {
    thrown_.reserve(threads);
  }

  /// Takes pieces until there is none left.
  void take_part(unsigned thread) noexcept {
    for (;;) {
      std::size_t first = 0;
      if (thread == 0 && is_asked_to_stop()) {
        asked_ = true;
        stop();
      }
      const std::size_t size = next(first);
      if (size == 0) return;
      try {
        if (!plan_.run(plan_.body, thread, first, first + size)) stop();
      } catch (...) {
        stop();
        const base::lock_guard guard(lock_);
        // Capacity was reserved: each participant begins no other body after its exception, so it throws
        // once.
        thrown_.push_back(std::current_exception());
      }
    }
  }
  void stop() noexcept {
    // relaxed: a thread that reads the flag a moment later takes one more piece.
    stopped_.store(true, base::order::relaxed);
  }
  [[nodiscard]] bool has_stopped() const noexcept {
    // relaxed: same reason as in stop().
    return stopped_.load(base::order::relaxed);
  }
  /// Returns the number of a helper.
  [[nodiscard]] unsigned enter() noexcept {
    // relaxed: only the number must be unique.
    return entered_.fetch_add(1, base::order::relaxed);
  }
  /// Throws what the bodies threw. After all participants have ended.
  void rethrow() {
    if (thrown_.size() == 1) std::rethrow_exception(thrown_.front());
    if (!thrown_.empty()) throw loop_error(std::move(thrown_));
    if (asked_) throw work_stopped();
  }

 private:
  /// Claims a piece, and sets `first`. Returns the number of its turns, or 0 if none is left.
  [[nodiscard]] std::size_t next(std::size_t& first) noexcept {
    // relaxed, all: they only decide which thread gets which turn.
    std::size_t done = done_.load(base::order::relaxed);
    for (;;) {
      if (has_stopped() || done >= plan_.count) return 0;
      const std::size_t left = plan_.count - done;
      const std::size_t size = std::min(left, piece(left));
      // failure: relaxed: the loop tries again with the new value.
      if (done_.compare_exchange_weak(done, done + size, base::order::relaxed, base::order::relaxed)) {
        first = done;
        return size;
      }
    }
  }
  [[nodiscard]] std::size_t piece(std::size_t left) const noexcept {
    switch (how_.how) {
      case chunking::fixed: return std::max<std::size_t>((plan_.count + threads_ - 1) / threads_, how_.grain);
      case chunking::dynamic: return how_.grain;
      case chunking::guided: return std::max<std::size_t>(left / (2 * std::size_t{threads_}), how_.grain);
    }
    return 1;
  }

  const loop_plan& plan_;
  const loop_options& how_;
  const unsigned threads_;
  base::atomic<std::size_t> done_{0};
  base::atomic<unsigned> entered_{1};
  base::atomic<bool> stopped_{false};
  base::mutex lock_;
  std::vector<std::exception_ptr> thrown_;
  bool asked_ = false;  // the caller was asked to stop
};

}  // namespace

unsigned threads_of_loop(const thread_pool& pool, const loop_options& how) {
  const unsigned most = pool.max_threads();
  return std::max(1U, how.threads == 0 ? most : std::min(how.threads, most + 1));
}

std::size_t turns_of_loop(bool upwards, std::uint64_t distance, std::ptrdiff_t& step) {
  if (step == 0) step = upwards ? 1 : -1;
  if (distance == 0) return 0;
  if ((step > 0) != upwards)
    throw std::invalid_argument("loop_options::step does not lead from the first index to the last");
  const auto width =
      step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return static_cast<std::size_t>((distance - 1) / width + 1);
}

namespace {

/// Returns false if the queue is full, the pool has too many works, or it ends. Then the existing helpers are
/// enough.
bool add_helper(thread_pool& pool,
                running_loop& shared,
                const work_options& as,
                std::vector<work_guard>& helpers) {
  try {
    helpers.emplace_back(pool.submit([&shared] { shared.take_part(shared.enter()); }, as));
    return true;
  } catch (const force_stopped&) {
    shared.stop();
    throw;
  } catch (const error&) {
    return false;
  } catch (...) {
    shared.stop();
    throw;
  }
}

}  // namespace

void run_loop(thread_pool& pool, const loop_plan& plan, const loop_options& how) {
  if (how.grain == 0) throw std::invalid_argument("loop_options::grain is 0: at least 1");
  if (plan.count == 0) return;
  const unsigned threads = plan.threads == 0 ? threads_of_loop(pool, how) : plan.threads;
  running_loop shared(plan, how, threads);
  {
    // Each helper is cancelled or waited for before the state of the loop is destroyed.
    std::vector<work_guard> helpers;
    const auto pieces = how.how == chunking::dynamic || how.how == chunking::guided
                            ? (plan.count - 1) / how.grain + 1
                            : std::size_t{threads};
    const auto help = static_cast<unsigned>(std::min<std::size_t>(threads, pieces)) - 1;
    helpers.reserve(help);
    const work_options as{.priority = how.priority, .group = how.group};
    while (helpers.size() < help && add_helper(pool, shared, as, helpers)) {
    }
    shared.take_part(0);
  }
  shared.rethrow();
}

}  // namespace detail

}  // namespace rota::pool
