// Results as they finish.
#include <rota/join_set.hpp>
#include <rota/runtime.hpp>

#include <cstdio>
#include <optional>
#include <utility>

namespace {

rota::task<int> square(int value) {
  const int result = value * value;
  co_return result;
}

rota::task<int> sum() {
  rota::join_set<int> squares;
  for (int i = 1; i <= 4; ++i) squares.spawn(square(i));
  int total = 0;
  for (;;) {
    std::optional<rota::outcome<int>> next = co_await squares.next();
    if (!next.has_value()) break;
    total += std::move(*next).value();
  }
  co_return total;
}

}  // namespace

int main() {
  const int total = rota::run(sum());
  std::printf("%d\n", total);
  return total == 30 ? 0 : 1;
}
