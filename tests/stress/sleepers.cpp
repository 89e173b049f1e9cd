// A million tasks asleep at once, again and again. All wake up, none early; their memory is reused and given
// back. Prints the bytes that each one takes.
#include <rota/rota.hpp>

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t many = 1'000'000;
constexpr std::size_t one_byte_a_task = many;
/// Frame, header, timer and handle of one task, and the allocator's own.
constexpr std::size_t declared_bytes_per_task = 512;

std::atomic<std::uint64_t> woken{0};
std::atomic<std::uint64_t> early{0};
std::atomic<std::uint64_t> destroyed{0};

class local {
 public:
  local() = default;
  local(const local&) = delete;
  local& operator=(const local&) = delete;
  ~local() { ++destroyed; }
};

rota::task<> nap(clock_type::time_point until) {
  const local mine;
  co_await rota::sleep_until(until);
  if (clock_type::now() < until) ++early;
  ++woken;
}

/// Resident memory in bytes; what the allocator holds free is given back first.
std::size_t resident() {
  ::malloc_trim(0);
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) std::abort();
  unsigned long long whole = 0;
  unsigned long long pages = 0;
  if (std::fscanf(file, "%llu %llu", &whole, &pages) != 2) std::abort();
  std::fclose(file);
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct levels {
  std::size_t before = 0;
  std::size_t asleep = 0;
  std::size_t after = 0;
  bool together = false;  // all of them were asleep when the memory was measured
};

levels one_round(rota::runtime& rt, std::chrono::seconds span) {
  levels seen;
  seen.before = resident();
  std::vector<rota::join_handle<void>> all;
  all.reserve(many);
  const auto until = clock_type::now() + span;
  for (std::size_t i = 0; i < many; ++i) all.push_back(rt.spawn(nap(until)));
  while (rt.stats().total_polled < rt.stats().total_spawned) ::usleep(1000);
  seen.asleep = resident();
  seen.together = rt.stats().alive_tasks == many && clock_type::now() < until;
  for (auto& h : all) h.join();
  std::vector<rota::join_handle<void>>().swap(all);
  seen.after = resident();
  return seen;
}

std::uint64_t number_after(int argc, char** argv, const char* name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto end = clock_type::now() + std::chrono::seconds(number_after(argc, argv, "--seconds", 10));
  rota::runtime_options options;
  options.workers = 2;
  options.seed = number_after(argc, argv, "--seed", 1);
  rota::runtime rt(options);
  std::chrono::seconds span(3);
  std::size_t first_level = 0;
  std::size_t most_bytes = 0;
  std::uint64_t rounds = 0;
  bool flat = true;
  // The first round is the measure for the others; a machine that cannot spawn them in time gets more of it.
  while (rounds < 3 || clock_type::now() < end) {
    const levels seen = one_round(rt, span);
    ++rounds;
    if (!seen.together) span *= 2;
    const std::size_t bytes = seen.asleep < seen.before ? 0 : (seen.asleep - seen.before) / many;
    if (seen.together && bytes > most_bytes) most_bytes = bytes;
    if (rounds == 1) first_level = seen.after;
    flat = flat && seen.after <= first_level + first_level / 20 + one_byte_a_task;
    std::printf("round %llu: %zu bytes a task, resident %.1f MB before, %.1f MB asleep, %.1f MB after\n",
                static_cast<unsigned long long>(rounds),
                bytes,
                static_cast<double>(seen.before) / 1e6,
                static_cast<double>(seen.asleep) / 1e6,
                static_cast<double>(seen.after) / 1e6);
    if (span > 60s) break;
  }
  const bool all = woken == rounds * many && destroyed == rounds * many && rt.stats().alive_tasks == 0;
  const bool small = most_bytes != 0 && most_bytes <= declared_bytes_per_task;
  std::printf(
      "tasks %llu: woken %llu, early %llu, destroyed %llu; %zu bytes each of %zu declared; memory %s\n",
      static_cast<unsigned long long>(rounds * many),
      static_cast<unsigned long long>(woken),
      static_cast<unsigned long long>(early),
      static_cast<unsigned long long>(destroyed),
      most_bytes,
      declared_bytes_per_task,
      flat ? "flat" : "grew");
  return all && early == 0 && small && flat ? 0 : 1;
}
