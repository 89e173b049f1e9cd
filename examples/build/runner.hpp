// Runs a plan on an elastic pool.
#pragma once

#include <cstddef>
#include <string>

#include "build/build_log.hpp"
#include "build/manifest.hpp"
#include "build/plan.hpp"
#include "build/screen.hpp"
#include "build/signals.hpp"
#include "build/workshop.hpp"

namespace build {

struct run_result {
  std::size_t done = 0;
  std::size_t failed = 0;
  int signal = 0;  // the signal that ended it; 0: none
  std::string trace_json;
};

/// Blocks until all jobs are over. SIGTSTP pauses the jobs and stops this process until it is continued. Any
/// other of `signals` stops all commands, and a second one kills them.
[[nodiscard]] run_result run_plan(const manifest& m,
                                  const plan& p,
                                  const run_settings& settings,
                                  build_log& log,
                                  screen& out,
                                  signal_watch& signals);

}  // namespace build
