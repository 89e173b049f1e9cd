// The part of a job that only jobs with options have.
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

  work_options options;  // checked; `after`, `id`, `name` and `group` are moved out when the job is accepted
  std::string name;      // registered in the pool until the job is over
  group_core* group = nullptr;
  work_core* group_next = nullptr;  // under the group's lock
  work_core* group_previous = nullptr;
  std::uint64_t turn = 0;  // its position among all joins; written under the group's lock, constant
                           // afterwards
  bool in_group = false;   // it is in the group's list of members
  bool has_left = false;   // it was taken out before its end; under the group's lock
  bool has_place = false;  // it counts against the group's limit; under the group's lock
  bool is_parked = false;  // it waits for a place in the group; under the group's lock
  // Set for a job of a watched source: the end of the job is reported to the watch.
  source_node* item = nullptr;
  enum class extra : std::uint8_t { none, counted, over };
  base::atomic<extra> thread_more{extra::none};  // whether the crew's limit is one thread higher for this job

  // Dependencies. Each node lies in the list of a job for which this one waits. The node owns a reference to
  // this job.
  std::vector<waiting_node> edges;
  base::atomic<std::uint32_t> missing{0};  // ends that are still to come, and one for the thread that
                                           // registers
  // The id of the first failure among the predecessors, and among theirs.
  base::atomic<std::uint64_t> failed_after{0};

  timing::timer_node timeout;  // armed and owned by the thread that brings the job into the pool; ends with
                               // the job
  timing::timer_node backoff;
  unsigned attempt = 0;
  // No attempt follows the failed one, because the inherited deadline has passed. Written by the runner
  // before the final status; read after `over`.
  bool was_cut_off = false;
  base::nanoseconds run_time{0};
  base::time_point segment_began{};
  base::nanoseconds next_backoff{0};
  std::exception_ptr last_failure;
};

}  // namespace rota::pool::detail
