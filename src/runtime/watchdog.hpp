// One thread that watches the workers, and the other threads that run tasks: once a millisecond while a
// worker runs, and a few times within the patience while only other threads do.
#pragma once

#include "base/futex.hpp"
#include "base/thread.hpp"
#include "runtime/join_circles.hpp"
#include "runtime/poll_watch.hpp"
#include "runtime/report_limit.hpp"
#include "sched/scheduler.hpp"
#include "task/outside_polls.hpp"

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

namespace rota::detail {

// PROTOCOL: watchdog word
//   awake 0 · asleep 1 · leaving 2
//   The watchdog announces that it sleeps by an RMW, checks once more whether all workers are parked, and
//   sleeps while the word is `asleep`. The thread that takes the first worker out of "all parked" exchanges
//   the word to `awake`, and wakes the watchdog if it was asleep. These accesses of this word and of the
//   idle word are seq_cst: one side sees the other.
//   A thread without a role that begins to run a task, or goes on after it has rested, does the same: see R3
//   in task/outside_polls.hpp. It only reads the word first, because such steps are frequent and on many
//   threads.
//   A reported poll outside does not keep the watchdog awake. It sleeps until the next line of that poll is
//   due, and the end of the poll wakes it: see R5 there.
//   It falls asleep only after a quiet time of some milliseconds: a runtime that is woken for every request
//   must not pay for a second wake, of its watchdog, each time.
class watchdog {
 public:
  watchdog(sched::scheduler& tasks, base::nanoseconds patience) noexcept;
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() = default;

  /// Throws std::bad_alloc, std::system_error.
  void start();
  void stop() noexcept;
  void first_awake() noexcept;
  /// Returns where threads without a role record their polls; null if nothing is reported.
  [[nodiscard]] core::outside_polls* outside() noexcept {
    return patience_.count() == 0 ? nullptr : &outside_;
  }

  [[nodiscard]] std::uint64_t ripened() const noexcept {
    // relaxed: a sum for a report.
    return ripened_.load(base::order::relaxed);
  }
  [[nodiscard]] std::uint64_t stalls() const noexcept {
    // relaxed: a sum for a report.
    return stalls_.load(base::order::relaxed);
  }

 private:
  static constexpr std::size_t longest_name = 64;
  static constexpr std::size_t longest_where = 600;
  struct sample {
    poll_watch poll;
    bool is_told = false;            // a line about this poll was written
    std::uint64_t thread_id = 0;     // of a poll that was reported
    char name[longest_name] = "";    // of its task, as printed in a line
    char thread[longest_name] = "";  // of the thread that runs it, as printed
  };

  static void thread_main(void* self) noexcept;
  void watch() noexcept;
  [[nodiscard]] bool look(base::time_point now) noexcept;
  void look_at_workers(base::time_point now) noexcept;
  void look_for_poller() noexcept;
  void look_at(sched::worker& whom, sample& before, base::time_point now) noexcept;
  void look_at_forks(sched::worker& whom, base::nanoseconds age) noexcept;
  [[nodiscard]] bool look_outside(base::time_point now) noexcept;
  void look_at(core::outside_poll& whom, std::uint64_t stamp, sample& before, base::time_point now) noexcept;
  [[nodiscard]] sample* sample_of(const core::outside_poll& whom) noexcept;
  void note_outside_run() noexcept;
  // `Runs`: a worker, or the poll of a thread without a role.
  template <class Runs>
  [[nodiscard]] static bool is_another(const Runs& whom,
                                       std::uint64_t stamp,
                                       sample& before,
                                       base::time_point now) noexcept;
  template <class Runs>
  void judge(const Runs& whom, std::uint64_t task, sample& before, base::time_point now) noexcept;
  template <class Runs>
  void report(const Runs& whom, std::uint64_t task, sample& before, base::time_point now) noexcept;
  void say(sample& before, bool is_first, base::time_point now) noexcept;
  template <class Runs>
  [[nodiscard]] static bool has_ended(const Runs& whom, const sample& before) noexcept;
  void look_for_ends(base::time_point now) noexcept;
  static void tell_end(sample& before, base::time_point now) noexcept;
  struct description {
    char name[longest_name] = "";
    char where[longest_where] = "";
  };
  description about(std::uint64_t task_id) noexcept;
  static std::size_t print_place(char (&into)[longest_where],
                                 std::size_t length,
                                 const char* words,
                                 const std::source_location& where) noexcept;
  /// Sleeps for one period. Returns false if it was told to leave.
  [[nodiscard]] bool doze() noexcept;
  [[nodiscard]] base::nanoseconds period_outside() const noexcept;
  [[nodiscard]] bool sleep() noexcept;
  void sleep_between_lines() noexcept;
  [[nodiscard]] bool sleep_while_asleep(base::time_point until) noexcept;
  void look_for_circles(base::time_point now) noexcept;
  [[nodiscard]] bool starts_missing_threads() noexcept;

  enum value : std::uint32_t { awake, asleep, leaving };

  sched::scheduler& tasks_;
  const base::nanoseconds patience_;
  base::atomic<std::uint32_t> word_{awake};
  base::atomic<std::uint64_t> ripened_{0};
  base::atomic<std::uint64_t> stalls_{0};
  core::outside_polls outside_;
  std::vector<sample> samples_;
  base::nanoseconds period_ = std::chrono::milliseconds(1);  // between two checks
  std::vector<sample> samples_outside_;                      // by the number of the slot
  base::time_point next_line_outside_ = base::never;  // of the reported polls outside, at the last check
  circle_watch circles_;
  base::time_point next_circle_look_{};
  bool nobody_polled_ = false;                  // at the last check
  static constexpr unsigned most_repeats = 12;  // a minute: one poll alone has seven in its first
  report_limit limit_;
  report_limit repeats_{most_repeats};
  base::thread thread_;
};

}  // namespace rota::detail
