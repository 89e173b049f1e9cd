// Cases with operations in rounds of a fixed size. Each round has new objects: a lock, a channel, its tasks.
#pragma once

#include "support/allocations.hpp"
#include "support/subject.hpp"

#include <algorithm>
#include <cstdint>

namespace bench {

/// Runs `operations` operations and returns the timed part. Allocations count from the first line to the
/// last, whatever is timed.
using round = spent (*)(std::uint64_t operations);
using async_round = rota::task<spent> (*)(std::uint64_t operations);

/// The sum of rounds, and their allocations.
class sum_of_rounds {
 public:
  void begin() noexcept { before_ = allocations_so_far(); }
  void end(spent timed) noexcept {
    const allocations now = allocations_so_far();
    timed.allocations = now.calls - before_.calls;
    timed.allocated_bytes = now.bytes - before_.bytes;
    sum_ += timed;
  }
  [[nodiscard]] const spent& sum() const noexcept { return sum_; }

 private:
  spent sum_;
  allocations before_;
};

template <round Round, std::uint64_t Size>
[[nodiscard]] spent play(std::uint64_t operations) {
  sum_of_rounds all;
  for (std::uint64_t left = operations; left != 0;) {
    const std::uint64_t part = std::min(left, Size);
    all.begin();
    all.end(Round(part));
    left -= part;
  }
  return all.sum();
}

template <async_round Round, std::uint64_t Size>
[[nodiscard]] rota::task<spent> play_async(std::uint64_t operations) {
  sum_of_rounds all;
  for (std::uint64_t left = operations; left != 0;) {
    const std::uint64_t part = std::min(left, Size);
    all.begin();
    const spent timed = co_await Round(part);
    all.end(timed);
    left -= part;
  }
  co_return all.sum();
}

template <async_round Round, std::uint64_t Size>
[[nodiscard]] rota::task<spent> play_twice(job what) {
  co_await play_async<Round, Size>(what.warm_up);
  co_return co_await play_async<Round, Size>(what.operations);
}

/// A case without a runtime, or with one shape: `Size` operations per round, and one warm-up.
template <round Round, std::uint64_t Size>
void rounds(const job& what) {
  static_cast<void>(play<Round, Size>(what.warm_up));
  report(what, play<Round, Size>(what.operations));
}
template <async_round Round, std::uint64_t Size>
void rounds_on_worker(const job& what) {
  rota::runtime runtime(options_of(what));
  auto root = runtime.spawn(play_twice<Round, Size>(what));
  report(what, root.join());
}
template <async_round Round, std::uint64_t Size>
void rounds_in_block_on(const job& what) {
  rota::runtime runtime(options_of(what));
  report(what, runtime.block_on(play_twice<Round, Size>(what)));
}

}  // namespace bench
