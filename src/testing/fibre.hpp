// A thread of the model.
#pragma once

#include <rota/detail/callable.hpp>
#include "base/clock.hpp"
#include "base/tls_slot.hpp"
#include "testing/context.hpp"
#include "testing/search.hpp"
#include "testing/vector_clock.hpp"

#include <rota/detail/base.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace rota::testing::detail {

enum class waiting : std::uint8_t {
  nothing,
  start,  // asked for, not started yet
  lock,
  futex,
  join,
  quiet,  // main: until all threads have ended and the daemons are blocked
  ended,
};

/// What the C++ runtime keeps of exceptions for each thread (__cxa_eh_globals): a fibre may be left inside a
/// catch.
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

struct fibre {
  context stack;
  callable<int> job;
  vector_clock clock;
  base::thread_locals locals;
  exception_state exceptions;
  std::array<char, 16> name;
  place where;            // of its last operation that has one
  const void* task_seen;  // locals.task when it was last looked at, and its id
  std::uint64_t task_id;

  waiting why;
  const void* wants;  // the lock, the futex word; of a joiner: the fibre
  base::time_point deadline;
  bool timed_out;
  bool daemon;
  bool chosen;  // the scheduler has chosen it since its last operation: the next one needs no other choice

  // Fairness among spinners; see schedule.cpp.
  fibre_mask behind;
  std::uint64_t last_yield;
  std::uint64_t last_run;
  std::uint64_t ready_since;

  // Of a thread that watches others; see waits.cpp.
  bool watches;
  unsigned vain_looks;
  std::uint64_t progress_seen;

  void reset(const char* its_name, bool is_daemon) noexcept;
};

/// "T2 producer"; thread 0 is main.
[[nodiscard]] std::string full_name(const fibre& f, unsigned index);

}  // namespace rota::testing::detail
