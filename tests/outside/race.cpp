// A user's test, against an installed rota::testing: finds a lost update, and replays it from the string.
#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>
#include <rota/testing/shared.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

rota::task<> add(rota::testing::atomic<int>& sum) {
  const int before = sum.load();
  sum.store(before + 1);
  co_return;
}

rota::task<> two_adders() {
  rota::testing::atomic<int> sum{0};
  auto first = rota::spawn(add(sum));
  auto second = rota::spawn(add(sum));
  co_await first;
  co_await second;
  rota::testing::check(sum.load() == 2, "nothing is lost");
}

}  // namespace

int main() {
  const auto found = rota::testing::explore({.name = "outside"}, two_adders);
  std::printf("%s\n", to_string(found).c_str());
  if (!found.failed || std::getenv("ROTA_MODEL_REPLAY") != nullptr) return found.failed ? 0 : 1;
  ::setenv("ROTA_MODEL_REPLAY", found.replay.c_str(), 1);
  const auto again = rota::testing::explore({.name = "outside"}, two_adders);
  return again.failed && again.runs == 1 && again.trace == found.trace ? 0 : 1;
}
