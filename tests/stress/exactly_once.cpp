// Each task flips its own byte from 0 to 1 and from 1 to 2, with suspensions in between. Any other value is a
// task that ran twice, or on two threads. A 0 at the end is a lost task.
#include "stress.hpp"

#include <memory>

namespace {

std::atomic<std::uint64_t> violations{0};

rota::task<> flip(std::atomic<unsigned char>& mine, std::uint64_t luck) {
  if (mine.exchange(1) != 0) ++violations;
  if (luck % 2 == 0) co_await rota::yield();
  if (luck % 16 == 0) co_await rota::sleep_for(std::chrono::microseconds(luck % 200));
  if (mine.exchange(2) != 1) ++violations;
}

rota::task<> all(std::atomic<unsigned char>* bytes,
                 std::size_t count,
                 std::uint64_t seed,
                 stress::watchdog& dog) {
  std::mt19937_64 random(seed);
  co_await rota::with_scope([&](rota::scope& s) -> rota::task<> {
    for (std::size_t i = 0; i < count; ++i) {
      s.spawn(flip(bytes[i], random()));
      ++dog.progress;
      if (random() % 64 == 0) co_await rota::yield();
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  constexpr std::size_t count = 20'000;
  const auto bytes = std::make_unique<std::atomic<unsigned char>[]>(count);
  std::uint64_t tasks = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round) {
    for (std::size_t i = 0; i < count; ++i) bytes[i] = 0;
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    // Half of the rounds from outside, where tasks come through the injector.
    if (round % 2 == 0) {
      rt.block_on(all(bytes.get(), count, round, dog));
    } else {
      rt.spawn(all(bytes.get(), count, round, dog)).join();
    }
    for (std::size_t i = 0; i < count; ++i) violations += bytes[i] == 2 ? 0 : 1;
    tasks += count;
  }
  return stress::finish("exactly_once", o, {{"tasks", tasks}}, violations);
}
