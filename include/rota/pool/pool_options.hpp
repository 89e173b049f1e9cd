// How many threads a pool may have, and how long they stay.
#pragma once

#include <rota/detail/chrono.hpp>

#include <cstddef>

namespace rota::pool {

/// For threads that may block. Checked where the pool is made: std::invalid_argument names the field and its range.
struct pool_options {
  unsigned min_threads = 0;    // kept even when idle; 0 .. max_threads
  unsigned max_threads = 512;  // 1 .. 65536; more work than that waits
  std::chrono::nanoseconds keep_alive =
      std::chrono::seconds(10);  // an idle thread leaves after it; not negative
};

}  // namespace rota::pool
