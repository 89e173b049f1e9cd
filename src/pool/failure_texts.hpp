// What the last works that did not end well were called, and what they threw: for dependency_failed::what().
#pragma once

#include "pool/extras.hpp"
#include "pool/work.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::pool::detail {

/// The texts of the last `places` of them. Its memory comes with the first failure. Where there is no memory, no text is kept. Under the lock of
/// its owner.
class failure_texts {
 public:
  static constexpr std::size_t places = 256;

  void note(std::uint64_t id, std::string text) noexcept;
  /// Empty: it is not known any more. Throws `std::bad_alloc`.
  [[nodiscard]] std::string find(std::uint64_t id) const;

 private:
  struct entry {
    std::uint64_t id = 0;
    std::string text;
  };
  std::vector<entry> all_;
  std::size_t next_ = 0;
};

/// `work 17 "import" failed: disk full`. Of a work whose status is `how` and whose result no other thread can fetch yet. Empty: there is no
/// memory for it.
[[nodiscard]] std::string text_of_failure(work_core& w, work_status how) noexcept;

}  // namespace rota::pool::detail
