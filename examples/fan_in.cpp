// Four threads measure and one thread sums up. Each producer has its own queue. The consumer sleeps while all
// queues are empty.
#include <rota/gate/fan_in.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using rota::gate::fan_in;
using rota::gate::fan_in_state;
using rota::gate::send_status;

struct sample {
  std::size_t meter;
  int value;
};

constexpr std::size_t meters = 4;
constexpr int samples_each = 10'000;

void measure(fan_in<sample>::producer& to, std::size_t meter) {
  for (int value = 1; value <= samples_each; ++value) {
    // Blocks while the segment is full. Fails once the consumer has closed the fan-in.
    if (to.push({meter, value}) != send_status::sent) return;
  }
}

}  // namespace

int main() {
  fan_in<sample> in({.producers = meters, .segment = 128});

  std::vector<std::jthread> threads;
  for (std::size_t meter = 0; meter < meters; ++meter) {
    // The producer is destroyed with its thread. The consumer ends when all producers are gone and all items
    // are taken.
    threads.emplace_back([to = in.make_producer(), meter]() mutable { measure(to, meter); });
  }

  std::array<int, meters> last{};
  long long sum = 0;
  bool in_order = true;
  while (in.wait() != fan_in_state::ended) {
    in.drain([&](const sample& each) {
      in_order = in_order && each.value == last.at(each.meter) + 1;
      last.at(each.meter) = each.value;
      sum += each.value;
    });
  }
  std::printf("%lld\n", sum);
  constexpr long long expected = static_cast<long long>(meters) * samples_each * (samples_each + 1) / 2;
  return in_order && sum == expected ? 0 : 1;
}
