// Random trees of constructs from a seed (tests/fuzz/composition_tree.hpp): each node ends as the law of one
// cause allows. Every frame, permit, lock and item comes back, and no descriptor is left.
#include "fuzz/composition_on_threads.hpp"
#include "stress.hpp"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>

namespace {

std::string bytes_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string made(512, '\0');
  for (char& each : made) each = static_cast<char>(random());
  return made;
}

std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// For a tree that hangs, after the dump of the watchdog.
void name_tree(int number) {
  const std::string& text = compositions::current();
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  std::signal(SIGABRT, name_tree);
  stress::watchdog dog;
  rota::pool::thread_pool jobs(rota::pool::pool_options{.min_threads = 4, .max_threads = 4});
  std::uint64_t violations = 0;
  std::uint64_t nodes = 0;
  std::size_t descriptors = 0;
  std::uint64_t seed = o.seed;
  for (; seed == o.seed || !o.is_over(); ++seed) {
    const auto tree = compositions::drawing(bytes_of(seed), compositions::machine::threads).draw(6);
    const std::string again = "./dev stress compositions --seconds 5 --seed " + std::to_string(seed);
    const auto observe = [&dog](rota::runtime& rt) {
      return std::make_unique<stress::watchdog::watched>(dog, rt);
    };
    compositions::run_tree(tree, jobs, again, observe);
    nodes += tree.nodes.size();
    ++dog.progress;
    // Some are opened once, and stay.
    if (seed == o.seed + 50) descriptors = entries_of("/proc/self/fd");
    if (seed % 256 == 0 && descriptors != 0 && entries_of("/proc/self/fd") > descriptors) ++violations;
  }
  return stress::finish("compositions", o, {{"trees", seed - o.seed}, {"nodes", nodes}}, violations);
}
