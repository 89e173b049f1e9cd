// The last jobs that have failed, for thread_pool::failed_works().
#pragma once

#include "pool/work.hpp"

#include <rota/pool/pool_stats.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace rota::pool::detail {

/// Returns the record of a job with the status `failed`. No other thread can fetch its result yet. `root`:
/// the first job that did not end well. Throws std::bad_alloc.
[[nodiscard]] failed_work note_of_failure(work_core& w, std::uint64_t root);

/// The last failed_work::most_kept failures. Drops a record if there is no memory for it. Guarded by the lock
/// of its owner.
class failed_list {
 public:
  void add(failed_work&& one) noexcept;
  /// Returns all records, the oldest first. Throws std::bad_alloc.
  [[nodiscard]] std::vector<failed_work> all() const { return {all_.begin(), all_.end()}; }
  [[nodiscard]] bool forget(work_id id) noexcept;
  std::size_t clear() noexcept;

 private:
  std::deque<failed_work> all_;
};

}  // namespace rota::pool::detail
