// Rounds of (spawn x, spawn y, await x, await y): each round reuses the frames, headers and entries of the
// round before, so resident memory stays constant. One worker, then one for each processor, where y is often
// stolen. A tenth of the rounds give the level before, the others the level after.
#include <rota/rota.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t allowed_growth = 256 * 1024;

rota::task<std::uint64_t> number(std::uint64_t n) { co_return n; }

rota::task<std::uint64_t> rounds(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto x = rota::spawn(number(1));
    auto y = rota::spawn(number(2));
    const std::uint64_t first = co_await x;
    const std::uint64_t second = co_await y;
    sum += first + second;
  }
  co_return sum;
}

std::size_t resident() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) std::abort();
  unsigned long long whole = 0;
  unsigned long long pages = 0;
  if (std::fscanf(file, "%llu %llu", &whole, &pages) != 2) std::abort();
  std::fclose(file);
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns false if memory grew, or if a sum is wrong.
bool run(unsigned workers, std::uint64_t count) {
  rota::runtime runtime(rota::runtime_options{.workers = workers});
  const std::uint64_t tenth = count / 10;
  bool right = runtime.spawn(rounds, tenth).join() == 3 * tenth;
  const std::size_t before = resident();
  const auto began = std::chrono::steady_clock::now();
  right = runtime.spawn(rounds, count - tenth).join() == 3 * (count - tenth) && right;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  const std::size_t after = resident();
  const bool flat = after <= before + allowed_growth;
  std::printf(
      "{\"program\":\"spawn_memory\",\"workers\":%zu,\"rounds\":%llu,\"resident_before\":%zu,\"resident_"
      "after\":%zu,"
      "\"ns_per_round\":%.0f,\"ok\":%s}\n",
      runtime.stats().workers.size(),
      static_cast<unsigned long long>(count),
      before,
      after,
      took.count() / static_cast<double>(count - tenth),
      right && flat ? "true" : "false");
  return right && flat;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seconds = 10;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtoull(argv[i + 1], nullptr, 10);
  }
  // Ten million rounds for ten seconds, each of the two times.
  const std::uint64_t count = (seconds == 0 ? 1 : seconds) * 1'000'000;
  const bool alone = run(1, count);
  const bool together = run(0, count);
  return alone && together ? 0 : 1;
}
