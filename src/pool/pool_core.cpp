#include "pool/pool_core.hpp"

#include "base/thread.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/custom_work_queue.hpp"
#include "pool/demand.hpp"
#include "pool/ports.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace rota::pool::detail {

namespace {

constexpr unsigned most_threads = 65536;
constexpr unsigned most_lanes = 64;

/// Returns the number of lanes: as many as threads that run at once can use. A thread without work scans all
/// lanes before it sleeps.
unsigned lanes_of(const pool_options& how) noexcept {
  if (how.priorities == priority_scope::global) return 1;
  const unsigned useful = std::clamp(2 * base::usable_processors(), 4U, most_lanes);
  return std::min(how.max_threads, useful);
}

pool_options checked(pool_options how) {
  check_threads(how.min_threads, how.max_threads);
  demand_not_negative(how.keep_alive, "pool_options::keep_alive is negative");
  demand_not_negative(how.aging, "pool_options::aging is negative");
  demand_not_negative(how.force_grace, "pool_options::force_grace is negative");
  demand_not_negative(how.shutdown_grace, "pool_options::shutdown_grace is negative");
  demand_not_negative(how.work_timeout.limit, "pool_options::work_timeout: its limit is negative");
  demand_not_negative(how.total_timeout.limit, "pool_options::total_timeout: its limit is negative");
  demand_not_negative(how.running_timer.interval, "pool_options::running_timer.interval is negative");
  demand_nice(how.nice, "pool_options::nice is not in -20 .. 19");
  demand(how.max_abandoned <= 4096, "pool_options::max_abandoned is not in 0 .. 4096");
  demand(how.on_full != rejection::custom || how.choose_rejection,
         "pool_options::on_full is custom, and choose_rejection is empty");
  demand(how.running_timer.interval == base::nanoseconds(0) || how.running_timer.elapsed,
         "pool_options::running_timer.elapsed is empty");
  demand(how.hill_climbing.period.count() >= 0 && how.hill_climbing.period.count() <= 60'000,
         "pool_options::hill_climbing.period is not in 0 .. 60000 ms");
  demand(how.hill_climbing.noise_percent >= 1 && how.hill_climbing.noise_percent <= 50,
         "pool_options::hill_climbing.noise_percent is not in 1 .. 50");
  return how;
}

std::unique_ptr<work_queue> make_queue(const pool_options& how) {
  if (how.custom) return std::make_unique<custom_work_queue>(how.custom);
  return std::make_unique<priority_queue>(how.queue, how.aging);
}

}  // namespace

void check_threads(unsigned min_threads, unsigned max_threads) {
  demand(max_threads >= 1 && max_threads <= most_threads, "pool_options::max_threads is not in 1 .. 65536");
  demand(min_threads <= max_threads, "pool_options::min_threads is not in 0 .. max_threads");
}

pool_core::pool_core(pool_options how)
    : options(checked(std::move(how))),
      memory(*this),
      threads(*this, "rota-pool", {options.min_threads, options.max_threads, options.keep_alive}),
      lanes_(lanes_of(options)),
      is_limited_(options.queue_limit != 0 || options.worker_queue_limit != 0),
      is_simple_(!is_limited_ && !options.custom && options.work_timeout.limit == base::nanoseconds(0) &&
                 options.aging == base::nanoseconds(0)),
      is_time_masked_(std::has_single_bit(options.time_one_in)),
      started_(options.start == start_mode::running),
      climber_(base::usable_processors(), options.hill_climbing.noise_percent),
      samples_(options.hill_climbing.period) {
  install_ports();
  for (lane& each : lanes_) each.queue = make_queue(options);
  long_lane_.queue = std::make_unique<priority_queue>(queue_order::fifo);
  if (options.hill_climbing.period.count() != 0) threads.set_goal(climber_.goal());
}

pool_core::~pool_core() {
  while (desks_ != nullptr) delete std::exchange(desks_, desks_->next_made);
}

// ---- names and results ------------------------------------------------------------------------------------

std::uint64_t pool_core::find_name(std::string_view name) noexcept {
  const base::lock_guard guard(lock_);
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second;
}

void pool_core::keep_stored(work_core& w) {
  const base::lock_guard guard(lock_);
  stored_.try_emplace(w.id, &w);
  w.retain();
}

work_core* pool_core::find_stored(std::uint64_t id) noexcept {
  const base::lock_guard guard(lock_);
  const auto found = stored_.find(id);
  if (found == stored_.end()) return nullptr;
  found->second->retain();
  return found->second;
}

bool pool_core::forget_stored(work_core& w) noexcept {
  {
    const base::lock_guard guard(lock_);
    if (stored_.erase(w.id) == 0) return false;
  }
  drop(w);
  return true;
}

std::size_t pool_core::clear_stored() noexcept {
  std::size_t forgotten = 0;
  for (;;) {
    work_core* w = nullptr;
    {
      const base::lock_guard guard(lock_);
      for (auto each = stored_.begin(); each != stored_.end(); ++each) {
        if (!each->second->load().has(over)) continue;
        w = each->second;
        stored_.erase(each);
        break;
      }
    }
    if (w == nullptr) return forgotten;
    drop(*w);
    ++forgotten;
  }
}

std::vector<failed_work> pool_core::all_failed() {
  const base::lock_guard guard(lock_);
  return failed_.all();
}

bool pool_core::forget_failed(work_id id) noexcept {
  const base::lock_guard guard(lock_);
  return failed_.forget(id);
}

std::size_t pool_core::forget_all_failed() noexcept {
  const base::lock_guard guard(lock_);
  return failed_.clear();
}

// ---- figures ----------------------------------------------------------------------------------------------

pool_core::accounts pool_core::count_ends() noexcept {
  accounts found;
  for (const work_status each : {work_status::succeeded,
                                 work_status::failed,
                                 work_status::cancelled,
                                 work_status::stopped,
                                 work_status::force_stopped,
                                 work_status::discarded})
    found.begun += sum(ends_as(each));
  found.unbegun = sum(total::unbegun);
  found.begun -= found.unbegun;
  return found;
}

/// Returns the outstanding count without works that are over and not yet counted out.
std::uint64_t pool_core::outstanding_now() noexcept {
  // relaxed, as all here: a report. As long as the count stays the same, no work is counted out.
  std::uint64_t counted = outstanding_.load(base::order::relaxed);
  for (int tries = 0; tries < 16; ++tries) {
    std::uint64_t late = 0;
    {
      const base::lock_guard guard(lock_);
      // relaxed: same reason as for `counted`.
      for (const desk* each = desks_; each != nullptr; each = each->next_made)
        late += each->ended.load(base::order::relaxed);
    }
    // relaxed: same reason as for `counted`.
    const std::uint64_t again = outstanding_.load(base::order::relaxed);
    if (again == counted && (again & count_mask) >= late) return (again & count_mask) - late;
    counted = again;
  }
  return counted & count_mask;
}

pool_stats pool_core::count() noexcept {
  pool_stats s;
  const crew::counts c = threads.count();
  s.threads = c.threads;
  s.idle = c.idle;
  s.thread_goal = c.goal;
  s.in_regions = c.regions;
  s.abandoned = c.lost;
  s.threads_started = c.started;
  s.threads_retired = c.retired;
  s.start_failures = c.failures;
  s.handler_failures = events.failures();
  s.unhandled = lost.count();
  memory.for_each([&](work_core& w) {
    const word now = w.load();
    if (now.waits_to_begin()) ++s.waiting;
    if (now.is_running() && w.coroutine != nullptr) ++s.coroutines;
    if (now.is_running() && w.coroutine == nullptr) {
      ++s.running;
      if (w.extras != nullptr && w.extras->options.long_running) ++s.long_running;
    }
  });
  s.outstanding = outstanding_now();
  s.uptime = base::now() - made_at_;
  s.queue_time = queue_times_.summary();
  s.run_time = run_times_.summary();
  s.succeeded = sum(ends_as(work_status::succeeded));
  s.failed = sum(ends_as(work_status::failed));
  s.cancelled = sum(ends_as(work_status::cancelled));
  s.stopped = sum(ends_as(work_status::stopped));
  s.force_stopped = sum(ends_as(work_status::force_stopped));
  s.abandoned_works = sum(ends_as(work_status::abandoned));
  s.discarded = sum(ends_as(work_status::discarded));
  s.rejected = sum(ends_as(work_status::rejected));
  // relaxed: a report.
  const std::uint64_t holds = holds_.load(base::order::relaxed);
  s.submitted = s.outstanding - std::min(holds, s.outstanding) + s.succeeded + s.failed + s.cancelled +
                s.stopped + s.force_stopped + s.abandoned_works + s.discarded;
  s.attempts = sum(total::attempts);
  s.stolen = sum(total::stolen);
  count_threads(s.by_thread);
  return s;
}

/// The first thread that existed comes first.
void pool_core::count_threads(std::vector<thread_stats>& into) {
  const base::lock_guard guard(lock_);
  std::size_t desks = 0;
  for (const desk* each = desks_; each != nullptr; each = each->next_made) ++desks;
  into.resize(desks);
  for (const desk* each = desks_; each != nullptr; each = each->next_made) {
    const auto at = [each](total what) { return each->sums[static_cast<std::size_t>(what)].read(); };
    thread_stats& of = into[--desks];
    of.index = each->index;
    of.is_there = each->is_taken;
    of.attempts = at(total::attempts);
    of.failed = at(ends_as(work_status::failed));
    of.stolen = at(total::stolen);
    for (auto how = work_status::succeeded; how <= work_status::rejected;
         how = static_cast<work_status>(std::to_underlying(how) + 1))
      of.ended += at(ends_as(how));
  }
}

}  // namespace rota::pool::detail
