// What the last works that did not end well were called, and what they threw: for dependency_failed::what().
#pragma once

#include "pool/extras.hpp"
#include "pool/work.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::pool::detail {

/// What is kept of a work that did not end well. A work without a name that was cancelled needs no memory here.
struct failure_parts {
  work_status how = work_status::created;
  std::string name;   // empty: none
  std::string error;  // of one that failed: what its exception says
};

/// Of a work whose status is `how` and whose result no other thread can fetch yet. Without memory, name or error are missing.
[[nodiscard]] failure_parts parts_of_failure(work_core& w, work_status how) noexcept;

/// The parts of the last `places` works. Its memory comes with the first failure. Without memory nothing is kept. Under the lock of its owner.
class failure_texts {
 public:
  static constexpr std::size_t places = 256;

  void note(std::uint64_t id, failure_parts parts) noexcept;
  /// `work 17 "import" failed: disk full`. Empty: it is not known any more. Throws `std::bad_alloc`.
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
