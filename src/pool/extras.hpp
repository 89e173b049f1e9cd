// What only works with options have.
#pragma once

#include "base/counter.hpp"
#include "base/frame_allocator.hpp"
#include "pool/work.hpp"
#include "time/timer.hpp"

#include <rota/pool/work_options.hpp>

#include <string>
#include <vector>

namespace rota::pool::detail {

class group_core;
struct source_node;

struct work_extras {
  [[nodiscard]] static void* operator new(std::size_t bytes) { return base::allocate_frame(bytes); }
  static void operator delete(void* freed, std::size_t bytes) noexcept { base::free_frame(freed, bytes); }

  work_options options;  // checked; `after`, `id`, `name` and `group` are used up when the work is accepted
  std::string name;      // registered in the pool while the work is not over
  group_core* group = nullptr;
  work_core* group_next = nullptr;  // under the group's lock
  work_core* group_previous = nullptr;
  std::uint64_t turn = 0;  // in which it joined, of all; under the group's lock, and then as it is
  bool in_group = false;   // among its members
  bool has_left = false;   // was taken out before its end; its lock
  bool has_place = false;  // counts against the group's limit; its lock
  bool is_parked = false;  // waits for a place in it; its lock
  // Of a source that is watched: its end is told of.
  source_node* item = nullptr;
  enum class extra : std::uint8_t { none, counted, over };
  base::atomic<extra> thread_more{extra::none};  // there may be one thread more for it

  // Dependencies. The nodes lie in the lists of those that this one waits for, each of which owns a reference to it.
  std::vector<waiting_node> edges;
  base::atomic<std::uint32_t> missing{0};  // ends that are still to come, and one for who registers
  base::atomic<std::uint64_t> failed_after{
      0};  // the id of the first failure among them, and of those before them

  timing::timer_node timeout;  // the owner: whoever brings the work into the pool; ends with the work
  timing::timer_node backoff;
  unsigned attempt = 0;
  // No attempt follows the one that has failed, because the inherited deadline has passed. Written by the runner before the final status; read
  // after `over`.
  bool was_cut_off = false;
  base::nanoseconds run_time{0};
  base::time_point segment_began{};
  base::nanoseconds next_backoff{0};
  std::exception_ptr last_failure;
};

}  // namespace rota::pool::detail
