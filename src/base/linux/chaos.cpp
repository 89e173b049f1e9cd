// The points of the chaos build. In every other build this file is empty.
#if defined(ROTA_CHAOS)

#include "base/chaos.hpp"
#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"

#include <sched.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace rota::base {

namespace {

struct settings {
  std::uint64_t seed;
  std::uint64_t longest;
};

/// Reads ROTA_CHAOS=seed[,longest wait in microseconds]. Prints the values once, so that a failure can be
/// reproduced.
const settings& whole() noexcept {
  static const settings read = [] {
    const char* const text = std::getenv("ROTA_CHAOS");
    char* end = nullptr;
    settings s{text == nullptr ? entropy() : std::strtoull(text, &end, 10), chaos::waits.back()};
    if (end != nullptr && *end == ',') s.longest = std::strtoull(end + 1, nullptr, 10) * 1000;
    std::fprintf(stderr,
                 "rota: chaos, ROTA_CHAOS=%llu,%llu\n",
                 static_cast<unsigned long long>(s.seed),
                 static_cast<unsigned long long>(s.longest / 1000));
    return s;
  }();
  return read;
}

/// The number of threads that have passed a point.
constinit atomic<std::uint64_t> threads{0};

struct thread_state {
  std::optional<chaos> decisions;
  bool is_inside = false;  // the handler of a signal passes points, too
};
constinit thread_local thread_state mine;

/// Waits up to this length spin: they are too short for a sleep in the kernel, and other threads run on other
/// processors.
constexpr std::uint64_t spun = 50'000;

void wait(std::uint64_t span) noexcept {
  if (span > spun) {
    const timespec time{static_cast<time_t>(span / 1'000'000'000), static_cast<long>(span % 1'000'000'000)};
    static_cast<void>(::nanosleep(&time, nullptr));
    return;
  }
  const time_point until = now() + nanoseconds(span);
  while (now() < until) cpu_relax();
}

}  // namespace

void chaos_point() noexcept {
  thread_state& here = mine;
  if (here.is_inside) return;
  here.is_inside = true;
  const int error = errno;
  if (!here.decisions) {
    const settings& all = whole();
    // relaxed: only a distinct number for the thread.
    here.decisions.emplace(all.seed, threads.fetch_add(1, order::relaxed), all.longest);
  }
  const std::uint64_t what = here.decisions->next();
  if (what == chaos::give_way) {
    ::sched_yield();
  } else if (what != chaos::go_on) {
    wait(what);
  }
  errno = error;
  here.is_inside = false;
}

}  // namespace rota::base

#endif
