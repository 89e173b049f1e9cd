// A hundred thousand sleeps at a time, half of them cancelled: none ends early, none ends twice, and all end.
#include "stress.hpp"

#include <array>
#include <vector>

namespace {

struct zoo {
  std::atomic<std::uint64_t> early{0};
  std::atomic<std::uint64_t> fired{0};
  /// Later than 0, 1, 2, 4, .. ms.
  std::array<std::atomic<std::uint64_t>, 16> late{};
};

rota::task<> animal(zoo& of, std::chrono::microseconds length, stress::watchdog& dog) {
  const auto begin = stress::clock_type::now();
  co_await rota::sleep_for(length);
  const auto slept = stress::clock_type::now() - begin;
  if (slept < length) ++of.early;
  const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(slept - length).count();
  std::size_t bucket = 0;
  while (bucket + 1 < of.late.size() && (std::int64_t{1} << bucket) <= late) ++bucket;
  ++of.late[bucket];
  ++of.fired;
  ++dog.progress;
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  zoo z;
  std::uint64_t violations = 0;
  std::uint64_t timers = 0;
  std::uint64_t cancelled = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round) {
    constexpr std::size_t count = 100'000;
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    std::mt19937_64 random(round);
    std::vector<rota::join_handle<void>> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(rt.spawn(animal(z, std::chrono::microseconds(random() % 1'000'000), dog)));
      ++dog.progress;
    }
    for (std::size_t i = 0; i < count; i += 2) all[i].cancel();
    for (auto& each : all) {
      const auto end = each.wait_for(std::chrono::hours(1));
      if (!end.has_value()) ++violations;
      if (end.has_value() && end->is_cancelled()) ++cancelled;
    }
    timers += count;
  }
  if (z.fired + cancelled != timers) ++violations;
  std::uint64_t slow = 0;
  for (std::size_t i = 4; i < z.late.size(); ++i) slow += z.late[i];
  return stress::finish("timer_zoo",
                        o,
                        {{"timers", timers},
                         {"cancelled", cancelled},
                         {"late_below_1ms", z.late[0]},
                         {"late_below_2ms", z.late[1]},
                         {"late_below_8ms", z.late[2] + z.late[3]},
                         {"late_more", slow}},
                        violations + z.early);
}
