// The set of workers that sleep, the number of those that search, and the choice of a worker to wake.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "queue/bitmap.hpp"

#include <cstdint>
#include <optional>

namespace rota::queue {

// PROTOCOL: idle word
//
//   63             32 31             0
//   +----------------+----------------+
//   |     parked     |   searching    |
//   +----------------+----------------+
//
//   parked     workers that have announced that they park, less those that were claimed. It may be lower than
//              the number of bits by one for each worker between its bit and its announcement, so it is read
//              as a signed number
//   searching  workers that look for work everywhere, including claimed ones until they have scanned
//              everything
//
//   Publish and check (any thread): publish the task; then read this word. If a worker searches, or no worker
//     is parked: done. Otherwise take one bit out of the bitmap (the RMW that clears it decides), count that
//     worker as searching, unpark it. If there is no bit, the thread that took it counts and unparks the
//     worker.
//   Park (a worker): set the bit. Then one RMW: parked + 1, and searching - 1 if it held a search token. Then
//     scan everything once more. Only then sleep. If the re-scan found something, take the bit back:
//       - The bit was still there: searching + 1, parked - 1.
//       - The bit was gone: another thread has claimed this worker and counts it. Consume the unpark, and go
//         on as a searcher.
//     So an unpark without a claim is forbidden. The woken worker would take it for a claim that is not
//     counted yet, and would later return a search token that does not exist.
//   Leave searching with work (a worker): searching - 1. The last searcher scans everything as before a
//     sleep. If anything is left, it reads this word as a producer does, before it runs its work.
//
// The two forms of "publish, then read" (../sched/README.md#two-forms):
//   (a) after_injector(): the read is an RMW of this word. It is the same word as that of park's RMW: the
//       later of the two sees the other.
//   (b) after_ring(): the publish was seq_cst, the read is a seq_cst load; park's RMW and its re-scan are
//       seq_cst.
// Weaker forms strand a task (a lost wakeup), also on x86. tests/model/idle_model.cpp and worker_model.cpp
// explore the protocol.
class idle {
 public:
  /// For 1 .. 4096 workers. Throws std::bad_alloc.
  explicit idle(unsigned workers);
  idle(const idle&) = delete;
  idle& operator=(const idle&) = delete;
  ~idle() = default;

  struct claim {
    unsigned worker;
    bool first_awake;  // every worker was parked before
  };

  /// Called after a seq_cst publish. Returns the worker to unpark, if there is one.
  [[nodiscard]] std::optional<claim> after_ring() noexcept {
    // seq_cst: the second of the four seq_cst accesses: after the publish, against park's RMW and its
    // re-scan.
    return claim_one(word_.load(base::order::seq_cst));
  }
  /// Called after any publish. Returns the worker to unpark, if there is one.
  [[nodiscard]] std::optional<claim> after_injector() noexcept;

  /// Called after any publish that every worker must see. Claims this worker if it is parked. A worker that
  /// is not parked sees the publish before it sleeps.
  [[nodiscard]] std::optional<claim> claim_parked(unsigned worker) noexcept;

  /// Makes the caller a searcher if the cap allows it: half of the workers, and at most eight. Claims come on
  /// top. Returns false otherwise.
  [[nodiscard]] bool try_search() noexcept;
  /// For a worker that leaves the search without parking: with work, or after help. Returns true if it was
  /// the last searcher and a worker is parked: the caller must check whether there is work for other workers
  /// before it goes on.
  [[nodiscard]] bool leave_with_work() noexcept;

  /// Makes the caller a searcher on top of the cap.
  void force_search() noexcept;

  void announce_park(unsigned worker, bool searching) noexcept;

  enum class [[nodiscard]] on_rise : std::uint8_t {
    alone,    // no thread had claimed it: it is a searcher now
    claimed,  // a thread had claimed it: it owns a search token once it has consumed the unpark
  };
  /// Takes a worker out of the parked ones that wakes up by itself. `first_awake`: as in claim.
  on_rise rise(unsigned worker, bool& first_awake) noexcept;

  struct counts {
    int parked;
    unsigned searching;
  };
  /// Returns a guess, for reports.
  [[nodiscard]] counts guess() const noexcept;
  /// Returns true if all workers are parked. seq_cst: for the watchdog, before it sleeps.
  [[nodiscard]] bool all_parked() const noexcept;

 private:
  static constexpr std::uint64_t one_parked = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t one_searching = 1;

  [[nodiscard]] static unsigned searching_of(std::uint64_t word) noexcept {
    return static_cast<unsigned>(word);
  }
  [[nodiscard]] static int parked_of(std::uint64_t word) noexcept { return static_cast<int>(word >> 32U); }
  /// Inline: in most cases there is no worker to wake.
  [[nodiscard]] std::optional<claim> claim_one(std::uint64_t seen) noexcept {
    if (searching_of(seen) != 0 || parked_of(seen) <= 0) return std::nullopt;
    return claim_lowest();
  }
  [[nodiscard]] std::optional<claim> claim_lowest() noexcept;
  [[nodiscard]] claim counted(unsigned worker) noexcept;

  const unsigned workers_;
  const unsigned cap_;  // on searchers, times two
  queue::bitmap bits_;
  alignas(base::cache_line) base::atomic<std::uint64_t> word_{0};
};

}  // namespace rota::queue
