// A scheduler with its own threads, for children that end concurrently. It has no timers.
#pragma once

#include "task/harness.hpp"
#include "task/header.hpp"

#include <rota/detail/spawn_on.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rota::test {

class threaded_scheduler : public core::scheduler {
 public:
  explicit threaded_scheduler(unsigned threads) : scheduler{&table} {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  threaded_scheduler(const threaded_scheduler&) = delete;
  threaded_scheduler& operator=(const threaded_scheduler&) = delete;
  /// Waits until all tasks have ended.
  ~threaded_scheduler() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return live_ == 0; });
      stops_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  template <class T>
  [[nodiscard]] join_handle<T> spawn(task<T> work) {
    return core::spawn_on(*this, std::move(work));
  }

  std::atomic<int> unhandled{0};
  std::atomic<int> suppressed{0};

 private:
  static threaded_scheduler& of(core::scheduler& s) noexcept { return static_cast<threaded_scheduler&>(s); }

  void work() {
    for (;;) {
      core::header* next = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stops_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = queue_.front();
        queue_.pop_front();
      }
      core::run_entry(*next);
    }
  }
  static void push(core::header& task) noexcept {
    threaded_scheduler& self = of(*task.owner);
    const std::lock_guard lock(self.mutex_);
    self.queue_.push_back(&task);
    self.changed_.notify_one();
  }
  void count(int by) noexcept {
    const std::lock_guard lock(mutex_);
    live_ += by;
    if (live_ == 0) changed_.notify_all();
  }

  static const core::scheduler_ops table;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<core::header*> queue_;
  int live_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

inline constexpr core::scheduler_ops threaded_scheduler::table{
    .admit =
        [](core::scheduler& s) noexcept {
          of(s).count(+1);
          return true;
        },
    .schedule = push,
    .reschedule = push,
    .take_entry = [](core::header&) noexcept { return core::on_take::not_here; },
    .enroll = [](core::scheduler&, core::header& task) noexcept { task.shard = 0; },
    .withdraw = [](core::scheduler&, core::header&) noexcept {},
    .rename = [](core::scheduler&, core::header& task, void* name) noexcept { task.label.set_name(name); },
    .ended = [](core::scheduler&, core::header&, bool) noexcept {},
    .unhandled = [](core::scheduler& s, core::header&, std::exception_ptr) noexcept { ++of(s).unhandled; },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now = [](const core::scheduler&) noexcept { return base::now(); },
    .timer_shard = [](core::scheduler&) noexcept -> timing::shard& { std::abort(); },
    .deadline_moved = [](core::scheduler&, base::time_point) noexcept {},
    .shield_overridden = [](core::scheduler&, core::header&) noexcept {},
    .suppressed = [](core::scheduler& s) noexcept { ++of(s).suppressed; },
    .freed = [](core::scheduler& s) noexcept { of(s).count(-1); },
};

}  // namespace rota::test
