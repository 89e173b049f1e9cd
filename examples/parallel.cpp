// Parallel loops on all workers: the primes below ten million are counted, listed and sorted by their last
// digits.
#include <rota/parallel.hpp>
#include <rota/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr std::uint32_t limit = 10'000'000;

bool is_prime(std::uint32_t n) {
  if (n % 2 == 0) return n == 2;
  for (std::uint32_t d = 3; d * d <= n; d += 2) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

rota::task<bool> primes() {
  // Each item has its own byte, so no two calls write to the same memory.
  std::vector<unsigned char> found(limit);
  co_await rota::parallel_for(0U, limit, [&](std::uint32_t n) { found[n] = is_prime(n) ? 1 : 0; });

  const auto count =
      co_await rota::parallel_reduce(found.begin(), found.end(), std::size_t{0}, std::plus<>());

  std::vector<std::uint32_t> listed;
  listed.reserve(count);
  for (std::uint32_t n = 0; n < limit; ++n) {
    if (found[n] != 0) listed.push_back(n);
  }
  const auto by_last_digits = [](std::uint32_t a, std::uint32_t b) {
    return a % 1000 != b % 1000 ? a % 1000 < b % 1000 : a < b;
  };
  co_await rota::parallel_sort(listed.begin(), listed.end(), by_last_digits);

  std::printf("%zu primes; the last by its last three digits: %u\n", count, listed.back());
  co_return count == 664'579 && listed.back() == 9'983'999;
}

}  // namespace

int main() { return rota::run(primes()) ? 0 : 1; }
