// Timeouts, inherited deadlines and shields on a real runtime, against sleeps of the same lengths and
// cancellations. Every task ends once, every local is destroyed once, nothing fires early, nothing leaks.
#include <rota/rota.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using span = std::chrono::microseconds;

struct tally {
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> destroyed{0};
  std::atomic<std::uint64_t> values{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> shields_broken{0};
  std::atomic<std::uint64_t> early{0};
};
tally sum;

class local {
 public:
  local() { ++sum.made; }
  local(const local&) = delete;
  local& operator=(const local&) = delete;
  ~local() { ++sum.destroyed; }
};

rota::task<int> nap(span length, int depth) {
  const local mine;
  if (depth > 0) {
    const int below = co_await nap(length, depth - 1);
    co_return below + 1;
  }
  const auto begin = clock_type::now();
  co_await rota::sleep_for(length);
  if (clock_type::now() - begin < length) ++sum.early;
  co_return 0;
}

/// Must not be torn apart: two halves, or none.
rota::task<> two_halves(span length, std::uint64_t& halves) {
  const local mine;
  for (;;) {
    {
      auto guard = rota::shield(1h);
      ++halves;
      co_await rota::sleep_for(length);
      ++halves;
    }
    co_await rota::checkpoint();
  }
}

void count(bool value, clock_type::time_point begin, span limit) {
  ++(value ? sum.values : sum.late);
  if (!value && clock_type::now() - begin < limit) ++sum.early;
}

rota::task<> one(span limit, span length, unsigned kind) {
  const local mine;
  const auto begin = clock_type::now();
  if (kind == 0) {
    const auto r = co_await rota::timeout(limit, nap(length, 3));
    count(r.has_value(), begin, limit);
  } else if (kind == 1) {
    auto child = rota::spawn(nap(length, 1));
    const auto r = co_await rota::timeout(limit, child);
    count(r.has_value(), begin, limit);
  } else if (kind == 2) {
    std::uint64_t halves = 0;
    const auto r = co_await rota::timeout(limit, two_halves(length, halves));
    if (halves % 2 != 0) ++sum.shields_broken;
    count(r.has_value(), begin, limit);
  } else {
    // The child is on its own, and ends by its value or by the deadline that it inherits.
    const auto r = co_await rota::timeout(limit, rota::timeout(limit + 1ms, nap(length, 0)));
    auto alone = rota::spawn(nap(length, 0));
    alone.detach();
    count(r.has_value(), begin, limit);
  }
}

rota::task<std::uint64_t> round_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<rota::join_handle<void>> all;
  for (int i = 0; i < 500; ++i) {
    const span limit(random() % 2000);
    const span length(random() % 2000);
    all.push_back(rota::spawn(one(limit, length, static_cast<unsigned>(random() % 4))));
  }
  std::uint64_t cancelled = 0;
  for (std::size_t i = 0; i < all.size(); i += 7) all[i].cancel();
  for (auto& each : all) {
    const auto end = co_await each.result();
    cancelled += end.is_cancelled() ? 1 : 0;
  }
  co_return cancelled;
}

std::uint64_t number_after(int argc, char** argv, const char* name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto until = clock_type::now() + std::chrono::seconds(number_after(argc, argv, "--seconds", 10));
  std::uint64_t seed = number_after(argc, argv, "--seed", 1);
  std::uint64_t tasks = 0;
  std::uint64_t cancelled = 0;
  do {
    rota::runtime_options options;
    options.workers = static_cast<unsigned>(1 + seed % 4);
    cancelled += rota::run(round_of(seed), options);
    tasks += 500;
    ++seed;
  } while (clock_type::now() < until);
  std::printf(
      "tasks %llu: values %llu, late %llu, cancelled %llu; locals %llu made, %llu destroyed; early %llu, "
      "torn %llu\n",
      static_cast<unsigned long long>(tasks),
      static_cast<unsigned long long>(sum.values),
      static_cast<unsigned long long>(sum.late),
      static_cast<unsigned long long>(cancelled),
      static_cast<unsigned long long>(sum.made),
      static_cast<unsigned long long>(sum.destroyed),
      static_cast<unsigned long long>(sum.early),
      static_cast<unsigned long long>(sum.shields_broken));
  const bool exact = sum.values + sum.late + cancelled == tasks && sum.made == sum.destroyed;
  return exact && sum.early == 0 && sum.shields_broken == 0 ? 0 : 1;
}
