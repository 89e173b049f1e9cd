// Tasks that wait for each other: join deadlocks.
#pragma once

#include "task/registry.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rota::detail {

/// Ids of a cycle of tasks: each waits for the end of the next one, and the last for the first. Begins with
/// the smallest.
using join_circle = std::vector<std::uint64_t>;

/// Finds the cycles. Tasks run meanwhile, so a cycle that another thread is just breaking may be among them.
/// Throws std::bad_alloc.
[[nodiscard]] std::vector<join_circle> find_join_circles(core::registry& tasks);

/// Returns text such as "task 4 waits for task 7, which waits for task 4".
[[nodiscard]] std::string to_string(const join_circle& circle);

/// Reports each cycle once, at the second check that finds it.
class circle_watch {
 public:
  /// Returns false if there is no cycle that is not reported yet.
  bool look(core::registry& tasks) noexcept;

 private:
  bool look_and_report(core::registry& tasks);

  std::vector<join_circle> seen_;
  std::vector<join_circle> reported_;
};

}  // namespace rota::detail
