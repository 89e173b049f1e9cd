// Makes, uses and destroys runtimes one after the other: memory, descriptors and threads stay constant.
#include "stress.hpp"

#include <filesystem>

namespace {

std::uint64_t entries_of(const char* folder) {
  std::uint64_t n = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

rota::task<int> use(std::uint64_t luck) {
  auto child = rota::spawn(
      [](std::uint64_t l) -> rota::task<int> {
        if (l % 3 == 0) co_await rota::sleep_for(std::chrono::microseconds(l % 50));
        co_return 20;
      },
      luck);
  auto blocking = rota::spawn_blocking([] { return 22; });
  const int a = co_await child;
  const int b = co_await blocking;
  co_return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  std::uint64_t violations = 0;
  std::uint64_t cycles = 0;
  std::uint64_t resident = 0;
  std::uint64_t files = 0;
  std::uint64_t threads = 0;
  constexpr std::uint64_t warm_up = 200;
  for (std::uint64_t round = o.seed; cycles <= warm_up || !o.is_over(); ++round, ++cycles) {
    {
      rota::runtime rt(stress::options_of_round(round));
      if (round % 5 == 0) {
        rt.spawn(use(round)).detach();  // destroyed in the middle of it
      } else if (rt.block_on(use(round)) != 42) {
        ++violations;
      }
    }
    ++dog.progress;
    if (cycles != warm_up) continue;
    resident = stress::resident();
    files = entries_of("/proc/self/fd");
    threads = entries_of("/proc/self/task");
  }
  const std::uint64_t resident_now = stress::resident();
  if (entries_of("/proc/self/fd") != files || entries_of("/proc/self/task") != threads) ++violations;
  if (stress::measures_memory && resident_now > resident + 1024) ++violations;
  return stress::finish("start_stop",
                        o,
                        {{"cycles", cycles},
                         {"resident_kb_before", resident},
                         {"resident_kb_after", resident_now},
                         {"files", files}},
                        violations);
}
