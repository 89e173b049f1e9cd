// Parallel loops over the threads of a pool. The calling thread takes part.
#include <rota/pool/parallel.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace pool = rota::pool;

int main() {
  pool::thread_pool threads({.max_threads = 2});

  std::vector<double> roots(1000);
  pool::for_index(threads, std::size_t{0}, roots.size(), [&](std::size_t i) {
    roots[i] = std::sqrt(static_cast<double>(i));
  });

  std::vector<std::string> names{"a", "b", "c"};
  pool::for_each(
      threads, names, [](std::string& name, std::size_t position) { name += std::to_string(position); });

  const long sum = pool::reduce(threads, 0L, 1'000'001L, 0L, [](long i) { return i; }, std::plus<>());

  // The first body that returns loop::stop ends the loop: no further call begins.
  std::atomic<int> found{0};
  pool::for_index(threads, 1, 1'000'000, {.how = pool::chunking::dynamic, .grain = 100}, [&](int n) {
    if (n % 777'777 != 0) return pool::loop::go_on;
    found = n;
    return pool::loop::stop;
  });

  std::printf("%.3f %s %ld %d\n", roots[999], names[2].c_str(), sum, found.load());
  return sum == 500'000'500'000 && found == 777'777 && names[2] == "c2" ? 0 : 1;
}
