// Three tasks average a row of numbers with their neighbours, step by step.
#include <rota/rota.hpp>
#include <rota/sync/barrier.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>

namespace {

constexpr std::size_t parts = 3;

struct row {
  std::array<double, parts> now{0, 9, 0};
  std::array<double, parts> next{};
  rota::sync::barrier step{parts};
  int steps = 0;  // only the leader writes it

  [[nodiscard]] double mean() const { return (now[0] + now[1] + now[2]) / 3; }
};

rota::task<void> smooths(row& r, std::size_t part) {
  for (int i = 0; i < 40; ++i) {
    r.next.at(part) = (r.now.at(part) + r.now.at((part + 1) % parts)) / 2;
    const auto at = co_await r.step.arrive_and_wait();
    if (at.is_leader) {
      r.now = r.next;
      ++r.steps;
    }
    co_await r.step.arrive_and_wait();
  }
  r.step.arrive_and_drop();
}

rota::task<void> smooths_all(row& r) { co_await rota::when_all(smooths(r, 0), smooths(r, 1), smooths(r, 2)); }

}  // namespace

int main() {
  row r;
  rota::run(smooths_all(r));
  std::printf("%d steps, then %.3f %.3f %.3f\n", r.steps, r.now[0], r.now[1], r.now[2]);
  const double off = r.now[0] - r.mean();
  return r.steps == 40 && off < 0.001 && off > -0.001 ? 0 : 1;
}
