// A task awaits other tasks. Their exceptions are rethrown at the co_await.
#include <rota/runtime.hpp>

#include <cstdio>
#include <stdexcept>

namespace {

rota::task<int> half(int value) {
  if (value % 2 != 0) throw std::invalid_argument("odd");
  const int result = value / 2;
  co_return result;
}

rota::task<int> halve_twice(int value) {
  const int once = co_await half(value);
  try {
    const int twice = co_await half(once);
    co_return twice;
  } catch (const std::invalid_argument&) {
    co_return once;
  }
}

}  // namespace

int main() {
  const int even = rota::run(halve_twice(8));
  const int odd = rota::run(halve_twice(6));
  std::printf("%d %d\n", even, odd);
  return even == 2 && odd == 3 ? 0 : 1;
}
