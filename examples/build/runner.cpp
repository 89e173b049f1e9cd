#include "build/runner.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <stop_token>
#include <system_error>
#include <vector>

#include <rota/pool/events.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/stop_token.hpp>

#include "common/unique_fd.hpp"

namespace build {
namespace {

using rota::pool::thread_pool;
using rota::pool::work_end;
using rota::pool::work_id;

rota::pool::pool_options pool_for(const run_settings& settings) {
  rota::pool::pool_options o;
  o.max_threads = settings.threads;
  o.priorities = rota::pool::priority_scope::global;
  // No job begins, and no observer is told of an end, before all jobs are submitted.
  o.start = rota::pool::start_mode::suspended;
  o.pause = rota::pool::pause_mode::queued_too;
  return o;
}

class build_run final : rota::pool::observer {
 public:
  build_run(const manifest& m, const plan& p, const run_settings& settings, build_log& log, screen& out)
      : manifest_(m),
        plan_(p),
        settings_(settings),
        idle_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        shop_(m, p, settings, log, out, [this] { static_cast<void>(pool_.cancel_all()); }),
        pool_(pool_for(settings)) {
    if (!idle_.is_open()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  run_result run(signal_watch& signals) {
    const rota::pool::subscription told = pool_.subscribe(*this);
    submit_all();
    if (!plan_.jobs.empty()) {
      pool_.start();
      watch(signals);
      pool_.wait_idle();
    }
    return {.done = shop_.done(),
            .failed = shop_.failed(),
            .signal = signal_,
            .trace_json = shop_.traced().json()};
  }

 private:
  void pool_idle(const rota::pool::pool_span& /*span*/) override {
    static_cast<void>(::eventfd_write(idle_.get(), 1));
  }
  void work_timed_out(work_id id) override { shop_.note_timeout(job_of(id)); }
  void work_cancelled(const work_end& end) override { shop_.note_cancelled(job_of(end.id)); }

  /// All ids exist before the first work begins.
  [[nodiscard]] std::size_t job_of(work_id id) const {
    const auto found =
        std::lower_bound(by_id_.begin(), by_id_.end(), id, [this](std::size_t job, work_id other) {
          return ids_[job] < other;
        });
    return *found;
  }

  void submit_all();
  void submit(std::size_t job);
  void watch(signal_watch& signals);
  void heed(int signal);
  void pause();

  const manifest& manifest_;
  const plan& plan_;
  const run_settings& settings_;
  common::unique_fd idle_;
  workshop shop_;
  std::vector<work_id> ids_;        // by job
  std::vector<std::size_t> by_id_;  // jobs
  int signal_ = 0;
  thread_pool pool_;  // the last member: it is destroyed first, so a running work may use the others
};

void build_run::submit_all() {
  for (const ninja_pool& each : manifest_.pools) pool_.limit_group(each.name, each.depth);
  ids_.resize(plan_.jobs.size());
  for (work_id& each : ids_) each = pool_.reserve();
  by_id_.resize(ids_.size());
  std::iota(by_id_.begin(), by_id_.end(), std::size_t{0});
  std::sort(by_id_.begin(), by_id_.end(), [this](std::size_t a, std::size_t b) { return ids_[a] < ids_[b]; });
  // The threads that start while the pool starts take what is queued, so the longest chains are submitted
  // first.
  std::vector<std::size_t> order(ids_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto comes_first = [this](std::size_t a, std::size_t b) {
    return plan_.jobs[a].chain != plan_.jobs[b].chain ? plan_.jobs[a].chain > plan_.jobs[b].chain : a < b;
  };
  std::sort(order.begin(), order.end(), comes_first);
  for (const std::size_t job : order) submit(job);
}

void build_run::submit(std::size_t job) {
  const build::job& what = plan_.jobs[job];
  rota::pool::work_options o;
  o.id = ids_[job];
  for (const std::size_t before : what.after) o.after.push_back(ids_[before]);
  o.priority = what.chain;
  o.group = manifest_.statements[what.statement].pool;
  o.timeout = settings_.timeout;
  o.retry.limit = settings_.retries;
  o.retry.backoff = settings_.backoff;
  // A command that waits for its next attempt gives its thread, and its place in a Ninja pool, to other
  // commands.
  o.retry.where = rota::pool::retry_where::requeued;
  static_cast<void>(pool_.submit([this, job](std::stop_token stop) { shop_.run(job, std::move(stop)); }, o));
}

void build_run::watch(signal_watch& signals) {
  for (;;) {
    std::array<pollfd, 2> fds{{{.fd = idle_.get(), .events = POLLIN, .revents = 0},
                               {.fd = signals.fd(), .events = POLLIN, .revents = 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[1].revents != 0) heed(signals.take());
    if (fds[0].revents != 0) return;
  }
}

void build_run::heed(int signal) {
  if (signal == 0) return;
  if (signal == SIGTSTP) return pause();
  if (signal_ != 0) return shop_.groups().signal_all(SIGKILL);
  signal_ = signal;
  static_cast<void>(pool_.stop_all());
}

/// The commands have their own process groups, so the terminal does not stop them.
void build_run::pause() {
  pool_.pause_all();
  shop_.groups().pause_all();
  signal_watch::stop_process();
  shop_.groups().resume_all();
  pool_.resume_all();
}

}  // namespace

run_result run_plan(const manifest& m,
                    const plan& p,
                    const run_settings& settings,
                    build_log& log,
                    screen& out,
                    signal_watch& signals) {
  return build_run(m, p, settings, log, out).run(signals);
}

}  // namespace build
