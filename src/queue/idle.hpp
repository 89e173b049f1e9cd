// Who searches, who sleeps, and who is to be woken.
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
//   parked     workers that have announced that they park, less those claimed; may be behind its bits by one per worker
//              that stands between its bit and its announcement, so it is read as a signed number
//   searching  workers that look for work everywhere, claimed ones included until they have looked
//
//   Publish and look (anybody): publish the task; then read this word. Somebody searches, or nobody is parked: done.
//     Else take one bit out of the bitmap (the RMW that clears it decides), count that worker as searching, unpark it.
//     No bit: whoever took it counts and unparks.
//   Park (a worker): set the bit; then one RMW: parked + 1, and searching - 1 if it held a token; then look everywhere
//     once more; only then sleep. Found something: take the bit back. It was still there: searching + 1, parked - 1.
//     It was gone: somebody claimed this worker and counts it; consume the unpark, and go on as a searcher. So nobody is
//     ever unparked without a claim: it would take a claim that is not counted yet for its own, and give back a token
//     that is not there.
//   Leave searching with work (a worker): searching - 1; who was the last looks everywhere as before it sleeps, and if
//     anything is left looks at this word as a producer does, before it runs.
//
// The two forms of "publish, then read" (../sched/README.md#two-forms):
//   (a) after_injector(): the read is an RMW of this word. Same word as park's: one of the two comes second and sees.
//   (b) after_ring(): the publish was seq_cst, the read is a seq_cst load; park's RMW and its re-scan are seq_cst.
// Weaker forms strand a task, also on x86. tests/model/idle_model.cpp and worker_model.cpp search the protocol.
class idle {
 public:
  /// 1 .. 4096 workers. Throws std::bad_alloc.
  explicit idle(unsigned workers);
  idle(const idle&) = delete;
  idle& operator=(const idle&) = delete;
  ~idle() = default;

  struct claim {
    unsigned worker;
    bool first_awake;  // every worker was parked before
  };

  /// After a seq_cst publish: whom to unpark, if anybody.
  [[nodiscard]] std::optional<claim> after_ring() noexcept {
    // seq_cst. The second of the four seq_cst accesses: after the publish, against park's RMW and its re-scan.
    return claim_one(word_.load(base::order::seq_cst));
  }
  /// After any publish.
  [[nodiscard]] std::optional<claim> after_injector() noexcept;

  /// After any publish that every worker must see: this one, if it is parked. Whoever is not, sees it before it sleeps.
  [[nodiscard]] std::optional<claim> claim_parked(unsigned worker) noexcept;

  /// Half of the workers may search, and at most eight; claims come on top.
  [[nodiscard]] bool try_search() noexcept;
  /// For who does not park: with work, or after help. True: it was the last searcher, and somebody is parked; it looks
  /// whether there is anything for others before it goes on.
  [[nodiscard]] bool leave_with_work() noexcept;

  /// On top of the cap.
  void force_search() noexcept;

  void announce_park(unsigned worker, bool searching) noexcept;

  enum class [[nodiscard]] on_rise : std::uint8_t {
    alone,    // nobody had claimed it: it is a searcher now
    claimed,  // somebody did: it owns a token once it has consumed the unpark
  };
  /// A worker that gets up by itself. `first_awake` as in claim.
  on_rise rise(unsigned worker, bool& first_awake) noexcept;

  struct counts {
    int parked;
    unsigned searching;
  };
  /// A guess, for reports.
  [[nodiscard]] counts guess() const noexcept;
  /// seq_cst: for the watchdog, before it sleeps.
  [[nodiscard]] bool all_parked() const noexcept;

 private:
  static constexpr std::uint64_t one_parked = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t one_searching = 1;

  [[nodiscard]] static unsigned searching_of(std::uint64_t word) noexcept {
    return static_cast<unsigned>(word);
  }
  [[nodiscard]] static int parked_of(std::uint64_t word) noexcept { return static_cast<int>(word >> 32U); }
  /// Inline: mostly there is no worker to wake.
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
