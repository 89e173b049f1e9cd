// notify_one beside waits that begin, in rounds of a million calls with one to four workers. Each call lets
// one wait pass; none is lost. At least ten million calls without a sanitizer, however short the run.
#include "stress.hpp"
#include "support/signal_race.hpp"

namespace {

constexpr std::uint64_t calls_of_round = stress::measures_memory ? 1'000'000 : 50'000;
constexpr std::uint64_t least = stress::measures_memory ? 10'000'000 : 0;

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  rota::test::signal_race race(o.seed);
  for (std::uint64_t round = o.seed; round == o.seed || !o.is_over() || race.calls() < least; ++round) {
    rota::runtime rt(stress::options_of_round(round));
    const stress::watchdog::watched here(dog, rt);
    race.run(rt, calls_of_round / rota::test::signal_race::places, [&dog] { ++dog.progress; });
  }
  return stress::finish("signals", o, {{"calls", race.calls()}, {"early", race.early()}}, race.left());
}
