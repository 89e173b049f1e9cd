// How a loop over many items goes: how many between two looks around, and what it finds there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/config.hpp>

namespace rota::core {

/// Somebody waits for this strand to come to a suspension: it is cancelled, or has run for long. Asking takes the message.
[[nodiscard]] ROTA_API bool is_called_off() noexcept;

/// Of one stretch of items, which one strand goes through. A part that is split off begins with what was learned so far.
class loop_pace {
 public:
  enum class step : unsigned char {
    go_on,
    split,    // nobody who looks for work would find any here
    suspend,  // see is_called_off()
  };

  /// `grain`: so many items, always; 0: as many as take 1 to 4 us, found by doubling from one.
  explicit loop_pace(std::size_t grain) noexcept
      : items_(grain == 0 ? 1 : grain), is_given_(grain != 0), is_known_(grain != 0) {}

  /// How many until the next look.
  [[nodiscard]] std::size_t items() const noexcept { return items_; }
  /// Before the first ones, which start now. `left`: all.
  [[nodiscard]] ROTA_API step first_look(std::size_t left) noexcept;
  /// They start now.
  ROTA_API void begin() noexcept;
  /// They are done, and the next ones start now. `left`: the others.
  [[nodiscard]] ROTA_API step look(std::size_t left) noexcept;

 private:
  void learn() noexcept;
  [[nodiscard]] bool wants_split(std::size_t left) const noexcept;

  std::size_t items_;
  std::int64_t began_ = 0;  // in nanoseconds, as the task's scheduler sees time
  std::int64_t spent_ = 0;  // so far, or enough to be worth a thread's while
  bool is_given_;
  bool is_known_;  // how many, and that there are enough for others
};

}  // namespace rota::core
