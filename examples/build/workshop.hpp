// Runs one job, and owns the state that all jobs share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "build/build_log.hpp"
#include "build/command.hpp"
#include "build/manifest.hpp"
#include "build/plan.hpp"
#include "build/process_groups.hpp"
#include "build/screen.hpp"
#include "build/trace.hpp"

namespace build {

struct run_settings {
  unsigned threads = 1;
  unsigned retries = 0;
  std::chrono::milliseconds backoff{250};
  std::chrono::milliseconds timeout{0};  // 0: none
  std::chrono::milliseconds grace{2'000};
  bool keeps_going = false;
  bool is_verbose = false;
};

class command_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Threads    Any, for run() and the note functions.
class workshop {
 public:
  /// `give_up` is called when no further job may begin.
  workshop(const manifest& m,
           const plan& p,
           const run_settings& settings,
           build_log& log,
           screen& out,
           std::function<void()> give_up);

  /// Runs a job inside of a work. Throws command_failed; throws the exception of a stop if the work was
  /// stopped.
  void run(std::size_t job, std::stop_token stop);
  /// Called when the time limit of the job has expired. A running job is then stopped.
  void note_timeout(std::size_t job) noexcept;
  /// Called when the job was cancelled before it ran. The reason may be its time limit, which expired before
  /// the next attempt.
  void note_cancelled(std::size_t job);

  [[nodiscard]] std::size_t done() const noexcept { return done_.load(); }
  [[nodiscard]] std::size_t failed() const noexcept { return failed_.load(); }
  [[nodiscard]] process_groups& groups() noexcept { return groups_; }
  [[nodiscard]] const trace& traced() const noexcept { return trace_; }

 private:
  [[nodiscard]] command_end run_traced(const statement& s, std::stop_token stop);
  void end_badly(std::size_t job, const std::string& how, const std::string& output);
  void note_in_log(const statement& s, file_time started);
  [[nodiscard]] const statement& statement_of(std::size_t job) const;
  [[nodiscard]] const std::string& title_of(const statement& s) const;

  const manifest& manifest_;
  const plan& plan_;
  const run_settings& settings_;
  build_log& log_;
  screen& screen_;
  std::function<void()> give_up_;
  process_groups groups_;
  trace trace_;
  slots slots_;
  std::vector<std::atomic<bool>> timed_out_;  // by job
  std::atomic<bool> is_giving_up_{false};
  std::atomic<bool> log_works_{true};
  std::atomic<std::size_t> done_{0};
  std::atomic<std::size_t> failed_{0};
};

}  // namespace build
