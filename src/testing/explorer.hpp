// Runs executions until the search is done, and minimises a failure.
#pragma once

#include "testing/machine.hpp"

#include <string>
#include <vector>

namespace rota::testing::detail {

class explorer {
 public:
  explorer(machine& m, const options& o, body_ref body);

  [[nodiscard]] report explore();
  [[nodiscard]] double seconds() const noexcept;
  /// Runs one execution and prints it to stderr.
  [[nodiscard]] report replay(std::string_view hex);

 private:
  void explore_bounds();
  void walk();
  [[nodiscard]] bool run_once(search& s);
  [[nodiscard]] bool is_over() noexcept;
  [[nodiscard]] bool same_again(const search& s);
  void conclude(const search& s);
  void adopt(const search& s);

  // minimise.cpp
  struct attempt {
    std::vector<decision> path;
    unsigned bound;  // the bound of the recording: the path omits what the bound decides
    unsigned preemptions;
    std::uint64_t steps;
    [[nodiscard]] bool simpler_than(const attempt& other) const noexcept;
  };
  void minimise(const search& s);
  [[nodiscard]] bool fails_alike(search& s);
  [[nodiscard]] attempt last_attempt(const search& s) const;
  [[nodiscard]] bool try_path(std::vector<decision> path, attempt& best);
  [[nodiscard]] bool cut_end(attempt& best);
  [[nodiscard]] bool drop_some(attempt& best);
  [[nodiscard]] bool search_below(attempt& best);

  /// Returns a search that follows a path, and decides nothing itself.
  [[nodiscard]] search follower(unsigned bound, std::vector<decision> path) const;

  machine& machine_;
  options options_;
  body_ref body_;
  report report_;
  double began_;
  unsigned runs_left_ = 0;  // of minimise()
};

/// Returns "" if the options are valid; else the field, its value and its range.
[[nodiscard]] std::string what_is_wrong(const options& o);

}  // namespace rota::testing::detail
