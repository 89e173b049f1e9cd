// Tasks that wait for each other, and so for ever.
#pragma once

#include "task/registry.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rota::detail {

/// Ids of tasks each of which waits for the end of the next, and the last for that of the first. Begins with the smallest.
using join_circle = std::vector<std::uint64_t>;

/// Read while tasks run: a circle that somebody is just breaking up may be among them. Throws std::bad_alloc.
[[nodiscard]] std::vector<join_circle> find_join_circles(core::registry& tasks);

/// "task 4 waits for task 7, which waits for task 4"
[[nodiscard]] std::string to_string(const join_circle& circle);

/// Reports each circle once, at the second look that finds it.
class circle_watch {
 public:
  /// False: nothing has been found that is not reported yet.
  bool look(core::registry& tasks) noexcept;

 private:
  bool look_and_report(core::registry& tasks);

  std::vector<join_circle> seen_;
  std::vector<join_circle> reported_;
};

}  // namespace rota::detail
