// The check of lifetimes accepts all that is accepted without it, and warns of nothing that does not dangle.
// FLAGS: -DROTA_CHECK_LIFETIMES
#include <rota/rota.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

rota::task<std::size_t> length(const std::string& text) { co_return text.size(); }
rota::task<int> number(int n) { co_return n; }

rota::task<std::size_t> within_the_expression() {
  const std::size_t size = co_await length(std::string("there until the co_await is done"));
  co_return size;
}

rota::task<int> uses_everything() {
  const auto [one, two] = co_await rota::when_all(number(1), number(2));
  std::vector<rota::task<int>> many;
  many.push_back(number(3));
  const std::vector<int> all = co_await rota::when_all(std::move(many));
  auto handle = rota::spawn(number(4));
  const std::string lives = "longer than the task";
  auto measured = rota::spawn(length(lives));
  static_cast<void>(co_await measured);
  const auto any = co_await rota::when_any(handle, rota::sleep_for(std::chrono::seconds(1)));
  const auto in_time = co_await rota::timeout(std::chrono::seconds(1), number(5));
  co_await rota::with_scope([](rota::scope& s) -> rota::task<void> {
    s.fork(number(6));
    co_return;
  });
  const int cleaned =
      co_await rota::finally(number(7), []() -> rota::task<void> { co_return; }, std::chrono::seconds(1));
  co_await rota::parallel_for(0, 10U, [](unsigned) -> rota::task<void> { co_return; });
  const int sum = co_await rota::parallel_reduce(0, 10, 0, std::plus<>());
  std::vector<int> values{2, 1};
  co_await rota::parallel_sort(values.begin(), values.end());
  co_return one + two + all[0] + static_cast<int>(any.index()) + in_time.value_or(0) + cleaned + sum;
}

int main() {
  rota::runtime runtime;
  auto spawned = runtime.spawn([](int n) -> rota::task<int> { co_return n; }, 3);
  return spawned.join() + runtime.block_on(uses_everything()) +
         static_cast<int>(runtime.block_on(within_the_expression()));
}
