// Names and errors of the last jobs that did not end well, for dependency_failed::what().
#pragma once

#include "pool/extras.hpp"
#include "pool/work.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::pool::detail {

/// The record of a job that did not end well. A cancelled job without a name needs no memory here.
struct failure_parts {
  work_status how = work_status::created;
  std::string name;   // empty if it has none
  std::string error;  // of a failed job: the text of its exception
};

/// Returns the record of a job with the status `how`. No other thread can fetch its result yet. Without
/// memory, name or error are missing.
[[nodiscard]] failure_parts parts_of_failure(work_core& w, work_status how) noexcept;

/// The records of the last `places` jobs. The first failure allocates its memory. Without memory it keeps
/// nothing. Guarded by the lock of its owner.
class failure_texts {
 public:
  static constexpr std::size_t places = 256;

  void note(std::uint64_t id, failure_parts parts) noexcept;
  /// Returns a text such as `work 17 "import" failed: disk full`, or an empty one if the job is not recorded
  /// any more. Throws `std::bad_alloc`.
  [[nodiscard]] std::string find(std::uint64_t id) const;

 private:
  struct entry {
    std::uint64_t id = 0;
    failure_parts parts;
  };
  std::vector<entry> all_;
  std::size_t next_ = 0;
};

}  // namespace rota::pool::detail
