// A call to a service that may be slow, fail, or be away: a limit for each attempt, pauses that grow between attempts, and a breaker that keeps
// callers from a service that is away.
#include <rota/rota.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <expected>

using namespace std::chrono_literals;

namespace {

enum class failure { refused, late, away };
using answer = std::expected<int, failure>;

/// Of one service. Tasks of one worker at a time: give it a sync::mutex if they run on several.
class breaker {
 public:
  using clock = std::chrono::steady_clock;

  /// Open: no call goes through until the pause is over; then one does, and decides.
  [[nodiscard]] bool lets_through() {
    if (failures_ < most_failures) return true;
    if (is_probing_ || clock::now() < closed_until_) return false;
    return is_probing_ = true;
  }
  /// What became of a call that was let through. A cancelled one says nothing of the service: its guard calls forget().
  void note(bool went_well) {
    is_probing_ = false;
    failures_ = went_well ? 0 : failures_ + 1;
    if (failures_ >= most_failures) closed_until_ = clock::now() + pause;
  }
  void forget() { is_probing_ = false; }

  static constexpr auto pause = 20ms;

 private:
  static constexpr int most_failures = 3;
  int failures_ = 0;
  bool is_probing_ = false;
  clock::time_point closed_until_{};
};

/// For the service: its first calls fail, one of them by silence.
struct service {
  int calls = 0;
  bool is_back = false;

  rota::task<answer> ask() {
    const int now = ++calls;
    if (is_back) co_return now;
    if (now == 2) co_await rota::sleep_for(1h);
    co_return std::unexpected(failure::refused);
  }
};

rota::task<answer> attempt(service& to, breaker& guard) {
  if (!guard.lets_through()) co_return std::unexpected(failure::away);
  // Also runs when the caller is cancelled: the next call may probe then.
  struct at_end {
    breaker& of;
    ~at_end() { of.forget(); }
  } const last{guard};
  const auto limited = co_await rota::timeout(200ms, to.ask());
  const answer got = limited.has_value() ? *limited : answer(std::unexpected(failure::late));
  guard.note(got.has_value());
  co_return got;
}

/// A cancellation, a deadline around it and a shutdown end it in whichever wait it is.
rota::task<answer> call(service& to, breaker& guard, int attempts) {
  std::chrono::milliseconds pause = 1ms;
  answer got = std::unexpected(failure::away);
  for (int i = 0; i < attempts; ++i) {
    if (i != 0) co_await rota::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
    got = co_await attempt(to, guard);
    if (got.has_value() || got.error() == failure::away) break;
  }
  co_return got;
}

rota::task<bool> run() {
  service to;
  breaker guard;
  const answer first = co_await call(to, guard, 3);
  const int asked = to.calls;
  to.is_back = true;
  co_await rota::sleep_for(breaker::pause);
  const answer second = co_await call(to, guard, 3);
  std::printf("%d attempts failed; then the service said %d\n", asked, second.value_or(-1));
  co_return !first.has_value() && asked == 3 && second.has_value() && to.calls == 4;
}

}  // namespace

int main() { return rota::run(run()) ? 0 : 1; }
