// The status of jobs that did not end well. A successor of such a job reads it here when the job's slot is
// used again.
#pragma once

#include <rota/pool/work_status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>

namespace rota::pool::detail {

/// The last `most` failures. If there is no memory for one, it goes to `spares_` until there is memory. If
/// `spares_` is full, it is lost. Then find() returns `failed` for each job that is not recorded, until
/// `most` more failures are noted: no successor runs after a failure. Guarded by the lock of its owner.
class failure_book {
 public:
  struct entry {
    work_status how;
    std::uint64_t root;  // the id of the job itself, or of the job because of which it failed
  };
  static constexpr std::size_t most = 65536;
  static constexpr std::size_t places = 64;

  explicit failure_book(std::pmr::memory_resource* from = std::pmr::new_delete_resource())
      : all_(from), order_(from) {}
  failure_book(const failure_book&) = delete;
  failure_book& operator=(const failure_book&) = delete;
  ~failure_book() = default;

  void note(std::uint64_t id, entry how) noexcept;
  /// The job is over.
  [[nodiscard]] entry find(std::uint64_t id) const noexcept;

 private:
  struct spare {
    std::uint64_t id;
    entry how;
  };
  [[nodiscard]] bool keep(std::uint64_t id, entry how) noexcept;

  std::pmr::map<std::uint64_t, entry> all_;
  std::pmr::deque<std::uint64_t> order_;
  std::array<spare, places> spares_{};
  std::size_t spare_count_ = 0;
  std::uint64_t noted_ = 0;
  std::uint64_t whole_from_ = 0;  // complete again once noted_ reaches it
};

}  // namespace rota::pool::detail
