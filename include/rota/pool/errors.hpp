// Why a pool refuses a work, or a work failed without having run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <rota/error.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// Thrown by submit(): the work would wait for itself. Nothing has changed.
class ROTA_API cycle_error : public error {
 public:
  cycle_error(const char* what, std::vector<work_id> path)
      : error(errc::cycle, what), path_(std::move(path)) {}
  cycle_error(const cycle_error&) = default;
  cycle_error& operator=(const cycle_error&) = default;
  ~cycle_error() override;

  /// Each comes before the next, and the last before the first.
  [[nodiscard]] const std::vector<work_id>& path() const noexcept { return path_; }

 private:
  std::vector<work_id> path_;
};

/// The exception of a work that did not run, since another one in its `after` did not end well. what() names the first one that did not, and its
/// error: `a work that it comes after did not end well (work 17 "import" failed: disk full): the task was cancelled`, whose end
/// is that of its code. It has the id alone once 256 others have failed
/// since, or where there was no memory for more.
class ROTA_API dependency_failed : public error {
 public:
  explicit dependency_failed(work_id root);
  /// `root_text`: what what() tells of the root; empty: its id.
  dependency_failed(work_id root, const std::string& root_text);
  dependency_failed(const dependency_failed&) = default;
  dependency_failed& operator=(const dependency_failed&) = default;
  ~dependency_failed() override;

  /// The first one that did not, however far away.
  [[nodiscard]] work_id root() const noexcept { return root_; }

 private:
  work_id root_;
};

}  // namespace rota::pool
