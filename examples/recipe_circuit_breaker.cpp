// Recipe: call a service that may be slow, fail, or be down. Each attempt has a time limit. The pause between
// attempts grows. A circuit breaker keeps callers from a service that is down.
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <optional>

using namespace std::chrono_literals;

namespace {

enum class failure { refused, late, away };
using answer = std::expected<int, failure>;

/// A circuit breaker for one service. It has no lock: all its callers must run on one worker. Put a
/// sync::mutex around it if they run on several workers.
class breaker {
 public:
  using clock = std::chrono::steady_clock;

  /// Identifies a call that was let through. A new generation begins when the breaker opens, and with each
  /// probe.
  struct token {
    std::uint64_t generation;
  };

  /// Returns a token if the call may be made, or nullopt if it must not. While the breaker is open, no call
  /// goes through until the pause is over. Then one call goes through, the probe, and its result decides.
  [[nodiscard]] std::optional<token> lets_through() {
    if (failures_ >= most_failures) {
      if (is_probing_ || clock::now() < open_until_) return std::nullopt;
      is_probing_ = true;
      ++generation_;
    }
    return token{generation_};
  }
  /// Records the result of a call that was let through. A call of an earlier generation is ignored: it was
  /// let through before the breaker opened. The result of a cancelled call is unknown: the caller calls
  /// forget() instead.
  void note(token of, bool went_well) {
    if (of.generation != generation_) return;
    is_probing_ = false;
    failures_ = went_well ? 0 : failures_ + 1;
    if (failures_ < most_failures) return;
    open_until_ = clock::now() + pause;
    ++generation_;
  }
  /// Releases the token. If it was the token of the probe, the next call may be the probe.
  void forget(token of) {
    if (of.generation == generation_) is_probing_ = false;
  }

  static constexpr auto pause = 20ms;

 private:
  static constexpr int most_failures = 3;
  int failures_ = 0;
  bool is_probing_ = false;
  std::uint64_t generation_ = 0;
  clock::time_point open_until_{};
};

/// A fake service. Its first calls fail, one of them by never answering.
struct service {
  int silent_call = 0;
  rota::sync::event* held = nullptr;  // if set, calls wait for it
  int calls = 0;
  bool is_back = false;

  rota::task<answer> ask() {
    const int now = ++calls;
    if (held != nullptr) co_await held->wait();
    if (is_back) co_return now;
    if (now == silent_call) co_await rota::sleep_for(1h);
    co_return std::unexpected(failure::refused);
  }
};

rota::task<answer> attempt(service& to, breaker& guard, std::chrono::milliseconds limit) {
  const std::optional<breaker::token> mine = guard.lets_through();
  if (!mine.has_value()) co_return std::unexpected(failure::away);
  // Its destructor also runs when the caller is cancelled. Then the next call may be the probe.
  struct at_end {
    breaker& of;
    breaker::token mine;
    ~at_end() { of.forget(mine); }
  } const last{guard, *mine};
  const auto limited = co_await rota::timeout(limit, to.ask());
  const answer got = limited.has_value() ? *limited : answer(std::unexpected(failure::late));
  guard.note(*mine, got.has_value());
  co_return got;
}

/// Makes up to `attempts` attempts. A cancellation, an enclosing deadline or a shutdown ends it in either
/// wait.
rota::task<answer> call(service& to, breaker& guard, int attempts) {
  std::chrono::milliseconds pause = 1ms;
  answer got = std::unexpected(failure::away);
  for (int i = 0; i < attempts; ++i) {
    if (i != 0) co_await rota::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
    got = co_await attempt(to, guard, 200ms);
    if (got.has_value() || got.error() == failure::away) break;
  }
  co_return got;
}

rota::task<bool> one_caller() {
  service to{.silent_call = 2};
  breaker guard;
  const answer first = co_await call(to, guard, 3);
  const int asked = to.calls;
  to.is_back = true;
  co_await rota::sleep_for(breaker::pause);
  const answer second = co_await call(to, guard, 3);
  std::printf("%d attempts failed; then the service said %d\n", asked, second.value_or(-1));
  co_return !first.has_value() && asked == 3 && second.has_value() && to.calls == 4;
}

/// Two calls are let through before the breaker opens. While the probe runs, one of them is cancelled and the
/// other is answered. Neither may let a second probe through.
rota::task<bool> several_callers() {
  rota::sync::event answers;
  rota::sync::event probed;
  service to{.held = &answers};
  breaker guard;
  auto cancelled = rota::spawn(attempt(to, guard, 1h));
  auto late = rota::spawn(attempt(to, guard, 1h));
  while (to.calls < 2) co_await rota::yield();
  to.held = nullptr;
  const answer refused = co_await call(to, guard, 3);
  co_await rota::sleep_for(breaker::pause);
  to.held = &probed;
  auto probe = rota::spawn(attempt(to, guard, 1h));
  while (to.calls < 6) co_await rota::yield();
  to.is_back = true;

  cancelled.cancel();
  const auto end = co_await cancelled.result();
  const bool holds_beside_a_cancelled_call = end.is_cancelled() && !guard.lets_through().has_value();
  answers.set();
  const answer old = co_await late;
  const bool holds_beside_a_late_answer = old.has_value() && !guard.lets_through().has_value();
  probed.set();
  const answer decides = co_await probe;
  const bool is_closed = decides.has_value() && guard.lets_through().has_value();
  std::printf("beside the probe: cancelled call %s, late answer %s; after it calls go through: %s\n",
              holds_beside_a_cancelled_call ? "ignored" : "COUNTED",
              holds_beside_a_late_answer ? "ignored" : "COUNTED",
              is_closed ? "yes" : "NO");
  co_return !refused.has_value() && holds_beside_a_cancelled_call && holds_beside_a_late_answer && is_closed;
}

/// Spawns the callers as one task, because the breaker needs all its callers on one worker: run() runs this
/// task on the calling thread, which is not a worker.
rota::task<bool> run() {
  auto on_the_worker = rota::spawn([]() -> rota::task<bool> {
    const bool first = co_await one_caller();
    const bool second = co_await several_callers();
    co_return first&& second;
  });
  co_return co_await on_the_worker;
}

}  // namespace

int main() { return rota::run(run(), {.workers = 1}) ? 0 : 1; }
