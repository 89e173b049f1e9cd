// A scheduler on one thread, for tests. Nothing here is atomic: nobody else is there.
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
//   open     tasks come and go
//   closing  admit() refuses; every task is cancelled, and run to its end
//   gone     the runtime has let go; the last task's memory that a handle keeps frees this
class scheduler final : public core::scheduler {
 public:
  explicit scheduler(std::uint64_t seed);
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler() = default;

  /// Runs one of the tasks that can run. False: there is none.
  bool run_one();
  std::size_t run_until_stalled();
  /// Time goes to the next timer, if that is not after `limit`. False: it is not there.
  bool move_to_next_timer(base::time_point limit);
  void move_to(base::time_point time);

  /// Cancels what is left, runs it to its end, and goes when the last memory of a task has.
  void close() noexcept;

  /// Throws the exception that nobody took, if there is one.
  void rethrow_unhandled();
  /// The task, and what waits behind its shields, ends. It then has.
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
  std::size_t memories_ = 0;  // tasks whose memory is not back
  bool running_ = false;
  bool closing_ = false;
  bool dropping_root_ = false;
  bool gone_ = false;
};

}  // namespace rota::solo
