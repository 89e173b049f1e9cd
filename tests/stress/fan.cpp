// One task spawns a million, and gathers their values: each comes once.
#include "stress.hpp"

namespace {

constexpr std::uint64_t width = 1'000'000;

rota::task<std::uint64_t> one(std::uint64_t value, stress::watchdog& dog) {
  if (value % 4 == 0) co_await rota::yield();
  ++dog.progress;  // the gathering task may be queued behind all of them
  co_return value;
}

rota::task<std::uint64_t> fan(stress::watchdog& dog) {
  rota::join_set<std::uint64_t> all;
  for (std::uint64_t i = 0; i < width; ++i) {
    all.spawn(one(i, dog));
    ++dog.progress;
  }
  std::uint64_t sum = 0;
  for (;;) {
    auto end = co_await all.next();
    if (!end.has_value()) break;
    sum += std::move(*end).value();
    ++dog.progress;
  }
  co_return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t violations = 0;
  std::uint64_t rounds = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round, ++rounds) {
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    if (rt.spawn(fan(dog)).join() != width * (width - 1) / 2) ++violations;
  }
  return stress::finish("fan", o, {{"rounds", rounds}, {"tasks", rounds * width}}, violations);
}
