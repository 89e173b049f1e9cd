// Spawns tasks and joins them.
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace {

rota::task<std::size_t> length(std::string text) {
  const std::size_t n = text.size();
  co_return n;
}

rota::task<std::size_t> total() {
  // Both run concurrently with this task. Awaiting a task that has not started runs it on this worker.
  rota::join_handle<std::size_t> first = rota::spawn(length, std::string("one"));
  rota::join_handle<std::size_t> second = rota::spawn(length, std::string("three"));
  const std::size_t a = co_await first;
  const std::size_t b = co_await second;

  rota::join_handle<int> blocking = rota::spawn_blocking([](int x) { return x * x; }, 3);
  const int square = co_await blocking;
  co_return a + b + static_cast<std::size_t>(square);
}

}  // namespace

int main() {
  const std::size_t sum = rota::run(total());
  std::printf("%zu\n", sum);
  return sum == 17 ? 0 : 1;
}
