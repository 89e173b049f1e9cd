#include "queue/idle.hpp"

#include <algorithm>

namespace rota::queue {

namespace {

/// More searchers do not find work faster, but each of their scans takes cache lines from the working
/// threads: ../sched/README.md, "Why not".
constexpr unsigned most_searchers = 8;

}  // namespace

idle::idle(unsigned workers)
    : workers_(workers), cap_(std::min(workers, 2 * most_searchers)), bits_(workers) {}

std::optional<idle::claim> idle::after_injector() noexcept {
  // seq_cst: the same word as in announce_park(): of {task published, worker asleep} at least one side sees
  // the other.
  return claim_one(word_.fetch_add(0, base::order::seq_cst));
}

std::optional<idle::claim> idle::claim_lowest() noexcept {
  const std::optional<std::uint32_t> worker = bits_.take_lowest();
  if (!worker.has_value()) return std::nullopt;
  return counted(*worker);
}

std::optional<idle::claim> idle::claim_parked(unsigned worker) noexcept {
  // seq_cst: the same word as in announce_park(): if this worker announces later, it sees what was published;
  //          if it has announced, its bit is there. Cleared by number: a search through the bitmap may miss
  //          bits next to one that changes.
  word_.fetch_add(0, base::order::seq_cst);
  if (!bits_.clear(worker)) return std::nullopt;
  return counted(worker);
}

idle::claim idle::counted(unsigned worker) noexcept {
  // seq_cst: in one order with the producers' reads and the parks: from here on a producer's read finds a
  // searcher.
  const std::uint64_t before = word_.fetch_add(one_searching - one_parked, base::order::seq_cst);
  return {worker, parked_of(before) >= static_cast<int>(workers_)};
}

bool idle::try_search() noexcept {
  // relaxed: a guess; the compare-exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  do {
    if (2 * searching_of(seen) >= cap_) return false;
    // seq_cst: in one order with the producers' reads. failure: relaxed: again a guess. In each round one
    // thread's exchange succeeds.
  } while (
      !word_.compare_exchange_weak(seen, seen + one_searching, base::order::seq_cst, base::order::relaxed));
  return true;
}

bool idle::leave_with_work() noexcept {
  // seq_cst: in one order with the producers' reads: a read that found this searcher comes before, and this
  // worker scans after it.
  const std::uint64_t before = word_.fetch_sub(one_searching, base::order::seq_cst);
  ROTA_ASSERT(searching_of(before) > 0);
  return searching_of(before) == 1 && parked_of(before) > 0;
}

void idle::force_search() noexcept {
  // seq_cst: in one order with the producers' reads.
  word_.fetch_add(one_searching, base::order::seq_cst);
}

void idle::announce_park(unsigned worker, bool searching) noexcept {
  bits_.set(worker);
  // seq_cst: the same word as the producers' reads, and the third of the four seq_cst accesses; the re-scan
  // follows.
  word_.fetch_add(one_parked - (searching ? one_searching : 0), base::order::seq_cst);
}

idle::on_rise idle::rise(unsigned worker, bool& first_awake) noexcept {
  if (!bits_.clear(worker)) {
    first_awake = false;
    return on_rise::claimed;
  }
  // seq_cst: in one order with the producers' reads.
  const std::uint64_t before = word_.fetch_add(one_searching - one_parked, base::order::seq_cst);
  first_awake = parked_of(before) >= static_cast<int>(workers_);
  return on_rise::alone;
}

idle::counts idle::guess() const noexcept {
  // relaxed: for reports.
  const std::uint64_t seen = word_.load(base::order::relaxed);
  return {parked_of(seen), searching_of(seen)};
}

bool idle::all_parked() const noexcept {
  // seq_cst: after the watchdog's announcement that it sleeps, against the claim that takes the first worker
  // out.
  return parked_of(word_.load(base::order::seq_cst)) >= static_cast<int>(workers_);
}

}  // namespace rota::queue
