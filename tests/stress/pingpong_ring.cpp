// A thousand tasks in a ring pass tokens on. When they stop, every token is where exactly one task left it.
#include "bell.hpp"
#include "stress.hpp"

#include <memory>

namespace {

constexpr std::size_t ring_size = 1000;

/// Passes on tokens until it is told to stop. Then it leaves its tokens where they are.
rota::task<> member(stress::bell& mine,
                    stress::bell& next,
                    const std::atomic<bool>& stop,
                    stress::watchdog& dog) {
  for (;;) {
    co_await mine.next();
    if (stop) {
      mine.ring();
      co_return;
    }
    ++dog.progress;
    next.ring();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t violations = 0;
  std::uint64_t rounds = 0;
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over(); ++round, ++rounds) {
    const auto bells = std::make_unique<stress::bell[]>(ring_size);
    std::atomic<bool> stop{false};
    std::mt19937_64 random(round);
    const std::uint64_t tokens = 1 + random() % 300;
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    rt.block_on([&]() -> rota::task<> {
      rota::join_set<void> members;
      for (std::size_t i = 0; i < ring_size; ++i) {
        members.spawn(member(bells[i], bells[(i + 1) % ring_size], stop, dog));
      }
      for (std::uint64_t t = 0; t < tokens; ++t) bells[random() % ring_size].ring();
      co_await rota::sleep_for(std::chrono::milliseconds(20 + random() % 80));
      stop = true;
      // The others have no token and never will: cancelled where they wait, they take none.
      co_await members.close();
    });
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < ring_size; ++i) left += bells[i].strokes();
    if (left != tokens) ++violations;
  }
  return stress::finish("pingpong_ring", o, {{"rounds", rounds}, {"passed", dog.progress}}, violations);
}
