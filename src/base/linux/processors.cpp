#include "base/linux/processors.hpp"

#include "base/thread.hpp"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace rota::base {

namespace {

/// Reads cgroup v2's cpu.max, which is "quota period" or "max period". Returns 0 if there is no limit, or
/// none that can be read.
unsigned quota_processors() noexcept {
  std::FILE* const file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  long long quota = 0;
  long long period = 0;
  const int fields = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  if (fields != 2 || quota <= 0 || period <= 0) return 0;
  return static_cast<unsigned>(std::min<long long>((quota + period - 1) / period, 4096));
}

}  // namespace

unsigned affinity_processors() noexcept {
  // The kernel's mask may be longer than cpu_set_t: grow until it fits.
  for (int bits = CPU_SETSIZE; bits <= CPU_SETSIZE * 64; bits *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(bits));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    const bool read = ::sched_getaffinity(0, size, set) == 0;
    const int count = read ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (read) return static_cast<unsigned>(std::max(count, 1));
    if (errno != EINVAL) break;
  }
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1U : static_cast<unsigned>(online);
}

unsigned usable_processors() noexcept {
  const unsigned allowed = affinity_processors();
  const unsigned quota = quota_processors();
  return quota == 0 ? allowed : std::max(1U, std::min(allowed, quota));
}

}  // namespace rota::base
