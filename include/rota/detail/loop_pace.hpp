// The pace of a loop over many items: how many items between two checks, and what a check finds.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/config.hpp>

namespace rota::core {

/// Returns true if this strand shall suspend soon: it is cancelled, or has run for long. The call consumes
/// the request.
[[nodiscard]] ROTA_API bool is_called_off() noexcept;

/// The pace of one range of items that one strand processes. A part that is split off begins with what was
/// learned so far.
class loop_pace {
 public:
  enum class step : unsigned char {
    go_on,
    split,    // this thread has no work that another thread could steal
    suspend,  // see is_called_off()
  };

  /// `grain`: the number of items between two checks. 0: as many as take 1 to 4 us, found by doubling from
  /// one.
  explicit loop_pace(std::size_t grain) noexcept
      : items_(grain == 0 ? 1 : grain), is_given_(grain != 0), is_known_(grain != 0) {}

  /// Returns how many items to process until the next check.
  [[nodiscard]] std::size_t items() const noexcept { return items_; }
  /// Checks before the first items, which start now. `left`: the number of all items.
  [[nodiscard]] ROTA_API step first_look(std::size_t left) noexcept;
  /// Notes that the items start now.
  ROTA_API void begin() noexcept;
  /// Checks after the items are done. The next ones start now. `left`: the number of items that remain.
  [[nodiscard]] ROTA_API step look(std::size_t left) noexcept;

 private:
  void learn() noexcept;
  [[nodiscard]] bool wants_split(std::size_t left) const noexcept;

  std::size_t items_;
  std::int64_t began_ = 0;  // in nanoseconds of the clock of the task's scheduler
  std::int64_t spent_ = 0;  // so far, at most the time that makes it worthwhile to wake a thread
  bool is_given_;
  bool is_known_;  // the number of items is known, and the loop is long enough for other threads
};

}  // namespace rota::core
