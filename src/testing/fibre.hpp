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
  start,  // requested, not started yet
  lock,
  futex,
  join,
  quiet,  // main: until all threads have ended and the daemons are blocked
  ended,
};

/// The exception state that the C++ runtime keeps for each thread (__cxa_eh_globals): a fibre may be left
/// inside a catch.
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
  place where;            // the place of its last operation that has one
  const void* task_seen;  // locals.task when it was last read, and its id
  std::uint64_t task_id;

  waiting why;
  const void* wants;  // the lock or the futex word; for a joiner: the fibre
  base::time_point deadline;
  bool timed_out;
  bool daemon;
  bool chosen;  // chosen since its last operation: the next one needs no other choice

  // For fairness among spinners; see schedule.cpp.
  fibre_mask behind;
  std::uint64_t last_yield;
  std::uint64_t last_run;
  std::uint64_t ready_since;

  // For a thread that watches others; see waits.cpp.
  bool watches;
  unsigned vain_looks;
  std::uint64_t progress_seen;

  void reset(const char* its_name, bool is_daemon) noexcept;
};

/// Returns a name such as "T2 producer"; thread 0 is main.
[[nodiscard]] std::string full_name(const fibre& f, unsigned index);

}  // namespace rota::testing::detail
