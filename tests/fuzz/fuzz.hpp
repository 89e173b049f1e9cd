// What the fuzz targets share.
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

/// The places where the pieces of an input end, after so many bytes each, as far as it goes.
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

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
