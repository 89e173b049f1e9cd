// What a thread of the pool has for itself, so that it need not ask others: its totals, and slots that are free.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/counter.hpp"
#include "pool/slots.hpp"

#include <rota/pool/work_status.hpp>

#include <array>
#include <cstddef>

namespace rota::pool::detail {

/// What the pool counts: ends, by their status; and three more.
enum class total : std::uint8_t { unbegun = 16, attempts, stolen, all };
constexpr total ends_as(work_status how) noexcept { return static_cast<total>(how); }
inline constexpr auto totals = static_cast<std::size_t>(total::all);

/// A thread's from its beginning to its end; then the next one's. What was counted on it stays counted.
struct alignas(base::cache_line) desk {
  std::array<base::counter, totals> sums{};
  slots::stock stock{};
  /// Works that have ended here and are still counted as outstanding: its thread counts them out when it finds nothing to do. Written by
  /// that, or under the crew's lock by who gives it up.
  base::atomic<std::uint64_t> ended{0};
  // Under the pool's lock.
  unsigned index = 0;  // of the thread that has it, or had it last
  bool is_taken = false;
  bool runs = false;  // its thread is counted among those that run works
  desk* next_made = nullptr;
  desk* next_free = nullptr;
};

}  // namespace rota::pool::detail
