// A scheduler on one thread, for tests. Nothing here is atomic: there is no other thread.
#pragma once

#include "base/random.hpp"
#include "task/header.hpp"
#include "task/registry.hpp"
#include "time/shard.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace rota::solo {

// PROTOCOL: life
//   open     tasks start and end
//   closing  admit() refuses; every task is cancelled, and run to its end
//   gone     the runtime is destroyed; this object is deleted with the last memory of a task, which a handle
//            may keep
class scheduler final : public core::scheduler {
 public:
  explicit scheduler(std::uint64_t seed);
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler() = default;

  /// Runs one of the runnable tasks. Returns false if there is none.
  bool run_one();
  std::size_t run_until_stalled();
  /// Moves the time to the next timer. Returns false if there is no timer, or if it is after `limit`.
  bool move_to_next_timer(base::time_point limit);
  void move_to(base::time_point time);

  /// Cancels the remaining tasks and runs them to their end. Deletes this object when the last memory of a
  /// task is freed.
  void close() noexcept;

  /// Throws the exception that no handle has taken, if there is one.
  void rethrow_unhandled();
  /// Cancels the task and runs until it has ended, if necessary without waiting for its shields.
  void force_end(core::header& task) noexcept;
  void drop_root(core::header& root) noexcept;

  [[nodiscard]] base::time_point now() const noexcept { return time_; }
  [[nodiscard]] std::size_t alive() const noexcept { return alive_; }
  [[nodiscard]] std::string describe_tasks();
  void demand_own_thread() const noexcept;

 private:
  static const core::scheduler_ops ops_table;
  void push(core::header& task) noexcept;
  void note_unhandled(std::exception_ptr what) noexcept;
  void note_freed() noexcept;
  void fire_timers();
  template <class Over>
  [[nodiscard]] bool runs_out(Over is_over) noexcept;

  std::uint64_t thread_;
  base::random random_;
  base::time_point time_;
  core::passed_deadlines passed_;
  timing::shard shard_;
  core::registry registry_{1};
  std::vector<core::header*> ready_;
  std::exception_ptr unhandled_;
  std::size_t alive_ = 0;     // tasks that have not ended
  std::size_t memories_ = 0;  // tasks that still have memory
  bool running_ = false;
  bool closing_ = false;
  bool dropping_root_ = false;
  bool gone_ = false;
};

}  // namespace rota::solo
