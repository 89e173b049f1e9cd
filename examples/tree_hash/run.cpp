#include "tree_hash/run.hpp"

#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <rota/time.hpp>
#include <rota/unix_signal.hpp>
#include <rota/when.hpp>

#include "tree_hash/progress_line.hpp"

namespace tree_hash {
namespace {

/// The subscription is destroyed with this task, before the work is cancelled. So a second signal has its
/// original effect.
rota::task<int> first_of(rota::unix_signal signals) { co_return co_await signals.next(); }

/// A shell that starts a background job, and nohup, ignore SIGINT, and it must stay ignored.
bool is_ignored(int number) noexcept {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

rota::task<void> draw_progress(screen& to, const counts& of) {
  if (!to.has_bar()) co_await rota::sleep_for(std::chrono::hours::max());
  rate_meter rate(std::chrono::steady_clock::now());
  rota::interval every(std::chrono::milliseconds(100), rota::missed_tick::skip);
  for (;;) {
    co_await every.tick();
    const tally now = of.now();
    const std::uint64_t speed = rate.at(std::chrono::steady_clock::now(), now.bytes_done);
    // Leaves the last column free: some terminals wrap to the next line when it is written.
    to.draw(progress_line(now, speed, to.width() - 1));
  }
}

rota::task<std::optional<int>> run_until_signal(rota::task<void> work, screen& to, const counts& of) {
  auto signals =
      is_ignored(SIGINT) ? rota::unix_signal::open({SIGTERM}) : rota::unix_signal::open({SIGINT, SIGTERM});
  if (!signals.has_value()) throw std::system_error(signals.error(), "signals");
  const auto first =
      co_await rota::when_any(std::move(work), first_of(std::move(*signals)), draw_progress(to, of));
  to.erase();
  if (first.index() != 1) co_return std::nullopt;
  co_return first.get<1>();
}

}  // namespace tree_hash
