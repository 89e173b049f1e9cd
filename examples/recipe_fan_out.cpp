// Recipe: fan-out and fan-in. Several worker tasks take parts from one channel and send results to another.
// The first failure cancels all tasks, and the scope waits until all of them have ended.
#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>
#include <rota/scope.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace {

namespace channel = rota::channel;

struct part {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

rota::task<void> out(channel::sender<part> to, std::uint64_t until) {
  constexpr std::uint64_t each = 1'000;
  for (std::uint64_t first = 0; first < until; first += each) {
    const part next{.first = first, .count = each};
    const auto how = co_await to.send(next);
    if (how != channel::send_status::sent) co_return;  // all workers are gone
  }
}

rota::task<void> work(channel::receiver<part> from, channel::sender<std::uint64_t> to, bool fails) {
  for (;;) {
    const auto mine = co_await from.recv();
    if (!mine.has_value()) co_return;
    if (fails) throw std::runtime_error("a worker has failed");
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < mine->count; ++i) sum += mine->first + i;
    static_cast<void>(co_await to.send(sum));
  }
}

rota::task<void> all_parts(rota::scope& s, std::uint64_t until, bool one_fails, std::uint64_t& total) {
  auto parts = channel::bounded<part>(8);
  auto sums = channel::bounded<std::uint64_t>(8);
  s.fork(out(std::move(parts.sender), until));
  for (int i = 0; i < 4; ++i) s.fork(work(parts.receiver, sums.sender, one_fails && i == 2));
  {
    // From here on only the workers own a parts receiver and a sums sender.
    const auto gone = std::move(parts.receiver);
    const auto gone_too = std::move(sums.sender);
  }
  for (;;) {
    const auto sum = co_await sums.receiver.recv();
    if (!sum.has_value()) co_return;
    total += *sum;
  }
}

rota::task<std::uint64_t> sum_below(std::uint64_t until, bool one_fails) {
  std::uint64_t total = 0;
  co_await rota::with_scope([&](rota::scope& s) { return all_parts(s, until, one_fails, total); });
  co_return total;
}

}  // namespace

int main() {
  constexpr std::uint64_t n = 100'000;
  const std::uint64_t got = rota::run(sum_below(n, false));
  std::printf("%llu\n", static_cast<unsigned long long>(got));
  bool was_told = false;
  try {
    static_cast<void>(rota::run(sum_below(n, true)));
  } catch (const std::runtime_error& why) {
    was_told = true;
    std::printf("%s, and all have ended\n", why.what());
  }
  return got == n * (n - 1) / 2 && was_told ? 0 : 1;
}
