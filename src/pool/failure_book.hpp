// How works ended that did not end well, for those that come after them when their memory is somebody else's.
#pragma once

#include <rota/pool/work_status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>

namespace rota::pool::detail {

/// The last `most` of them. Where there is no memory for one it has a few places of its own, until there is; and where those are taken,
/// too, nobody knows: then each that is not in the book counts as failed, until that one would no longer be in it anyway. Nothing is to
/// run after a failure. Under the lock of its owner.
class failure_book {
 public:
  struct entry {
    work_status how;
    std::uint64_t root;  // itself, or the one because of which it failed
  };
  static constexpr std::size_t most = 65536;
  static constexpr std::size_t places = 64;

  explicit failure_book(std::pmr::memory_resource* from = std::pmr::new_delete_resource())
      : all_(from), order_(from) {}
  failure_book(const failure_book&) = delete;
  failure_book& operator=(const failure_book&) = delete;
  ~failure_book() = default;

  void note(std::uint64_t id, entry how) noexcept;
  /// Of a work that is over.
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
  std::uint64_t whole_from_ = 0;  // when so many are noted nothing is missing
};

}  // namespace rota::pool::detail
