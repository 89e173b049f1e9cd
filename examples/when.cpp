// Combines tasks: all of them, the first of them, and a time limit.
#include <rota/runtime.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

rota::task<int> answer_after(std::chrono::milliseconds span, int value) {
  co_await rota::sleep_for(span);
  co_return value;
}

rota::task<std::string> name() { co_return "rota"; }

rota::task<bool> all() {
  const auto [number, text] = co_await rota::when_all(answer_after(1ms, 7), name());
  std::vector<rota::task<int>> many;
  for (int i = 0; i < 10; ++i) many.push_back(answer_after(1ms, i));
  const std::vector<int> numbers = co_await rota::when_all(std::move(many));
  co_return number == 7 && text == "rota" && numbers.size() == 10 && numbers.back() == 9;
}

rota::task<bool> first() {
  // The losers are cancelled, and have ended when the co_await returns.
  const auto winner = co_await rota::when_any(answer_after(1h, 1), answer_after(1ms, 2), rota::sleep_for(2h));
  co_return winner.index() == 1 && winner.get<1>() == 2;
}

rota::task<bool> in_time() {
  const auto late = co_await rota::timeout(1ms, rota::when_all(answer_after(1h, 1), name()));
  co_return !late.has_value();
}

rota::task<bool> everything() {
  const bool has_all = co_await all();
  const bool has_first = co_await first();
  const bool gave_up = co_await in_time();
  co_return has_all&& has_first&& gave_up;
}

}  // namespace

int main() {
  const bool holds = rota::run(everything());
  std::printf("%s\n", holds ? "all, the first, and in time" : "failed");
  return holds ? 0 : 1;
}
