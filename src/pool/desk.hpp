// What each thread of the pool has for itself, so that it shares no cache line with others: its totals, and
// free slots.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/counter.hpp"
#include "pool/slots.hpp"

#include <rota/pool/work_status.hpp>

#include <array>
#include <cstddef>

namespace rota::pool::detail {

/// What the pool counts: ends, by their status; and three more totals.
enum class total : std::uint8_t { unbegun = 16, attempts, stolen, all };
constexpr total ends_as(work_status how) noexcept { return static_cast<total>(how); }
inline constexpr auto totals = static_cast<std::size_t>(total::all);

/// Owned by one thread from its beginning to its end, and then by the next thread. The totals are never
/// reset.
struct alignas(base::cache_line) desk {
  std::array<base::counter, totals> sums{};
  slots::stock stock{};
  /// Jobs that have ended here and still count in `outstanding`. Its thread counts them out when it finds no
  /// job. Written by that thread, or under the crew's lock by the thread that gives it up.
  base::atomic<std::uint64_t> ended{0};
  // Guarded by the pool's lock.
  unsigned index = 0;  // of the thread that owns it, or owned it last
  bool is_taken = false;
  bool runs = false;  // its thread counts among those that run jobs
  desk* next_made = nullptr;
  desk* next_free = nullptr;
};

}  // namespace rota::pool::detail
