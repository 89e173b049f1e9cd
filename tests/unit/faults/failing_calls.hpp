// System calls of this test program that fail on demand, on every thread. Not under a sanitizer: it stands in the same place.
#pragma once

#include "support/sanitized.hpp"

#include <cstddef>
#include <cstdint>

namespace rota::test {

enum class call : unsigned char { accept, receive, send, poll, create_thread };

struct calls {
  static constexpr bool can_fail = !sanitized;

  /// From now on `nth` calls go through, then the next `times` fail with `error`, without having been made.
  static void fail(call what, int error, std::uint64_t nth = 0, std::uint64_t times = 1) noexcept;
  /// receive and send move 1, 2, .. `most`, 1, 2, .. bytes at a time; 0: as many as they are asked for.
  static void shorten(std::size_t most) noexcept;
  /// Nothing fails any more; the counts begin anew.
  static void reset() noexcept;
  /// How often it was called since then, failures included.
  [[nodiscard]] static std::uint64_t made(call what) noexcept;
  /// How often it has failed since then.
  [[nodiscard]] static std::uint64_t failed(call what) noexcept;
  /// What the driver's events for the descriptor that was watched last begin with.
  [[nodiscard]] static std::uint64_t last_key() noexcept;
};

}  // namespace rota::test
