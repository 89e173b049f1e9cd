// Shared by the fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace fuzz {

/// Ends the program, so that the fuzzer keeps the input.
inline void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Cuts an input into pieces of the given lengths, as far as it goes.
inline std::vector<std::size_t> cuts_of(std::string_view steps, std::size_t size) {
  std::vector<std::size_t> cuts;
  std::size_t at = 0;
  for (const char step : steps) {
    at += static_cast<unsigned char>(step);
    if (at > size) break;
    cuts.push_back(at);
  }
  return cuts;
}

/// Takes `size` bytes off the front; fewer if there are no more.
inline std::string_view take(std::string_view& from, std::size_t size) {
  const std::string_view front = from.substr(0, size);
  from.remove_prefix(front.size());
  return front;
}

/// Numbers from the bytes of an input, then zeros.
class numbers {
 public:
  explicit numbers(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool any_left() const { return !rest_.empty(); }

  std::uint64_t of_bytes(unsigned count) {
    std::uint64_t made = 0;
    for (const char each : take(rest_, count)) made = made << 8U | static_cast<unsigned char>(each);
    return made;
  }
  /// `bound` is 1 to 65536.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(of_bytes(bound <= 256 ? 1 : 2) % bound);
  }
  /// Of every magnitude up to 2^63, by 16 leading bits.
  std::uint64_t of_any_size() {
    const unsigned shift = below(48);
    return of_bytes(2) << shift;
  }

 private:
  std::string_view rest_;
};

/// States that an input has reached. As with branches, the fuzzer keeps inputs that reach new ones.
inline constexpr std::size_t most_states = std::size_t{1} << 14U;
[[gnu::section("__libfuzzer_extra_counters")]] inline std::uint8_t reached_states[most_states];

inline void note_state(std::uint64_t state) { reached_states[state % most_states] = 1; }
/// For a state: none, one, two, more.
constexpr std::uint64_t few(std::uint64_t n) { return n < 3 ? n : 3; }

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
