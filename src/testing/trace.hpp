// The events of an execution, in order, for understanding a failure.
#pragma once

#include <rota/detail/base.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::testing::detail {

enum class event_kind : std::uint8_t {
  load,
  load_stale,
  load_own,  // from the buffer of its own thread
  store,
  store_buffered,
  arrival,  // of a buffered store, in memory
  exchange,
  fetch_add,
  fetch_or,
  fetch_and,
  compare_exchange,         // it succeeded
  compare_exchange_failed,  // the words differed
  compare_exchange_weakly,  // it failed spuriously
  cell_read,
  cell_write,
  plain_read,
  plain_write,
  relax,
  heavy_barrier,
  lock,
  lock_waits,
  try_lock_failed,
  unlock,
  futex_sleeps,
  futex_changed,
  futex_spurious,
  futex_woken,
  futex_timed_out,
  futex_wake,
  thread_start,
  thread_start_failed,
  thread_join,
  thread_end,
  preempted,
  clock_advance,
  allocate,
  free,
  end_of_life,
};

struct event {
  event_kind kind;
  std::uint8_t fibre;
  base::order memory_order;
  std::uint64_t task;  // the task that the thread runs; 0: none
  const void* address;
  std::uint64_t before;  // or the only number of the event
  std::uint64_t after;
  place where;
};

[[nodiscard]] const char* name_of(event_kind kind) noexcept;

/// Returns the last two components of the file and the line; "" for an unnamed place.
[[nodiscard]] std::string to_string(place where);

/// What a trace shows.
enum class view : std::uint8_t {
  everything,
  program,  // steps inside of rota are omitted
};

/// The events of one execution.
class trace {
 public:
  void clear() noexcept { events_.clear(); }
  void add(const event& e) { events_.push_back(e); }
  [[nodiscard]] const std::vector<event>& events() const noexcept { return events_; }

  /// Returns a name such as "word 3": addresses are numbered in the order of their appearance.
  [[nodiscard]] std::string name_of(const void* address) const;

  /// Prints one numbered line for each event; the middle of a very long trace is omitted. It contains no
  /// addresses, so two processes print the same.
  [[nodiscard]] std::string print(const std::vector<std::string>& fibre_names, view v) const;

 private:
  std::vector<event> events_;
};

}  // namespace rota::testing::detail
