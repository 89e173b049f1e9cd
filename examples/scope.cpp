// Child tasks that end before the objects that they refer to.
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/this_task.hpp>

#include <array>
#include <cstddef>
#include <cstdio>

namespace {

rota::task<void> square(int& place, int value) {
  co_await rota::yield();
  place = value * value;
}

rota::task<int> sum_of_squares() {
  std::array<int, 4> squares{};
  const auto body = [&squares](rota::scope& s) -> rota::task<void> {
    // A dropped handle does not detach the child: the scope still joins it.
    for (std::size_t i = 0; i < squares.size(); ++i) s.fork(square(squares[i], static_cast<int>(i)));
    co_return;
  };
  co_await rota::with_scope(body);
  int sum = 0;
  for (const int one : squares) sum += one;
  co_return sum;
}

}  // namespace

int main() {
  const int sum = rota::run(sum_of_squares());
  std::printf("%d\n", sum);
  return sum == 14 ? 0 : 1;
}
