// The exceptions of a pool: a work that is refused, and a work that failed without having run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <rota/error.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// Thrown by submit() if the work would wait for itself. Nothing has changed.
class ROTA_API cycle_error : public error {
 public:
  cycle_error(const char* what, std::vector<work_id> path)
      : error(errc::cycle, what), path_(std::move(path)) {}
  cycle_error(const cycle_error&) = default;
  cycle_error& operator=(const cycle_error&) = default;
  ~cycle_error() override;

  /// Returns the works of the cycle. Each comes before the next, and the last comes before the first.
  [[nodiscard]] const std::vector<work_id>& path() const noexcept { return path_; }

 private:
  std::vector<work_id> path_;
};

/// The exception of a work that did not run because a work in its `after` did not end well. what() names the
/// first work that did not end well, and its error: `a work that it comes after did not end well (work 17
/// "import" failed: disk full): the task was cancelled`. The text ends with the text of the error code.
/// what() has only the id once 256 other works have failed since, or if there was no memory for more.
class ROTA_API dependency_failed : public error {
 public:
  explicit dependency_failed(work_id root);
  /// `root_text`: the text about the root in what(). If it is empty, what() has the id of the root.
  dependency_failed(work_id root, const std::string& root_text);
  dependency_failed(const dependency_failed&) = default;
  dependency_failed& operator=(const dependency_failed&) = default;
  ~dependency_failed() override;

  /// Returns the first work that did not end well. Any number of dependencies may lie between it and this
  /// work.
  [[nodiscard]] work_id root() const noexcept { return root_; }

 private:
  work_id root_;
};

}  // namespace rota::pool
