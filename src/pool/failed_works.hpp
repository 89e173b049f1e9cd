// The last works that have failed, for thread_pool::failed_works().
#pragma once

#include "pool/work.hpp"

#include <rota/pool/pool_stats.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace rota::pool::detail {

/// What is kept of a work whose status is `failed`, and whose result no other thread can fetch yet. `root`: the first work that did not end
/// well. Throws std::bad_alloc.
[[nodiscard]] failed_work note_of_failure(work_core& w, std::uint64_t root);

/// The last failed_work::most_kept of them. Where there is no memory for one it is not kept. Under the lock of its owner.
class failed_list {
 public:
  void add(failed_work&& one) noexcept;
  /// The oldest comes first. Throws std::bad_alloc.
  [[nodiscard]] std::vector<failed_work> all() const { return {all_.begin(), all_.end()}; }
  [[nodiscard]] bool forget(work_id id) noexcept;
  std::size_t clear() noexcept;

 private:
  std::deque<failed_work> all_;
};

}  // namespace rota::pool::detail
