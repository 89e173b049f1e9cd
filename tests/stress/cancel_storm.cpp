// Other threads cancel tasks at random moments, in sleeps, joins, timeouts, scopes and behind shields. Each
// task ends once, with a value or as cancelled, and every local is destroyed once.
#include "bell.hpp"
#include "stress.hpp"

#include <vector>

namespace {

std::atomic<std::uint64_t> made{0};
std::atomic<std::uint64_t> destroyed{0};
std::atomic<std::uint64_t> torn{0};

class local {
 public:
  local() { ++made; }
  local(const local&) = delete;
  local& operator=(const local&) = delete;
  ~local() { ++destroyed; }
};

rota::task<int> sleeps(std::chrono::microseconds length) {
  const local mine;
  co_await rota::sleep_for(length);
  co_return 1;
}

rota::task<int> behind_a_shield(std::chrono::microseconds length) {
  const local mine;
  bool whole = false;
  struct watch {
    const bool& done;
    ~watch() { torn += done ? 0 : 1; }
  } const seen{whole};
  const auto guard = rota::shield(std::chrono::hours(1));
  co_await rota::sleep_for(length);
  whole = true;
  co_return 1;
}

rota::task<int> waits_for_nobody(stress::bell& never, std::chrono::microseconds length) {
  const local mine;
  const auto in_time = co_await rota::timeout(length, never.next());
  co_return in_time.has_value() ? 0 : 1;
}

rota::task<int> in_a_scope(std::chrono::microseconds length) {
  const local mine;
  int sum = 0;
  co_await rota::with_scope([&](rota::scope& s) -> rota::task<> {
    auto a = s.spawn(sleeps(length));
    auto b = s.spawn(behind_a_shield(length / 2));
    const int first = co_await a;
    const int second = co_await b;
    sum = first + second;
  });
  co_return sum / 2;
}

rota::task<int> joins(std::chrono::microseconds length) {
  const local mine;
  auto child = rota::spawn(in_a_scope(length));
  const int below = co_await child;
  co_return below;
}

rota::task<int> one_of_them(std::uint64_t luck, stress::bell& never) {
  const std::chrono::microseconds length(luck / 8 % 500);
  switch (luck % 5) {
    case 0: return sleeps(length);
    case 1: return behind_a_shield(length);
    case 2: return waits_for_nobody(never, length);
    case 3: return in_a_scope(length);
    default: return joins(length);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t violations = 0;
  std::uint64_t values = 0;
  std::uint64_t cancelled = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round) {
    constexpr std::size_t count = 400;
    std::vector<stress::bell> never(count);
    {
      rota::runtime rt(stress::options_of_round(round));
      const stress::watchdog::watched here(dog, rt);
      std::mt19937_64 random(round);
      std::vector<rota::join_handle<int>> all;
      for (std::size_t i = 0; i < count; ++i) all.push_back(rt.spawn(one_of_them(random(), never[i])));
      std::thread storm([&all, round] {
        std::mt19937_64 dice(round ^ 0x5713U);
        for (auto& each : all) {
          for (std::uint64_t pause = dice() % 200; pause > 0; --pause) asm volatile("");
          if (dice() % 3 != 0) each.cancel();
        }
      });
      storm.join();
      for (auto& each : all) {
        auto end = each.wait_for(std::chrono::hours(1));
        if (!end.has_value()) {
          ++violations;
        } else if (end->is_cancelled()) {
          ++cancelled;
        } else {
          ++values;
          if (std::move(*end).value() != 1) ++violations;
        }
        ++dog.progress;
      }
    }
    if (made != destroyed) ++violations;
  }
  return stress::finish(
      "cancel_storm", o, {{"values", values}, {"cancelled", cancelled}, {"locals", made}}, violations + torn);
}
