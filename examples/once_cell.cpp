// Settings that are loaded once, by the first of many tasks. The first attempt fails.
#include <rota/rota.hpp>
#include <rota/sync/once_cell.hpp>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct store {
  rota::sync::once_cell<std::string> settings;
  int attempts = 0;  // only one attempt runs at a time
};

rota::task<std::string> load(store& s) {
  const int attempt = ++s.attempts;
  co_await rota::yield();
  if (attempt == 1) throw std::runtime_error("no such file");
  co_return "dark mode";
}

rota::task<std::size_t> asks(store& s) {
  const std::string& got = co_await s.settings.get_or_init([&s] { return load(s); });
  co_return got.size();
}

rota::task<int> all_ask(store& s) {
  std::vector<rota::join_handle<std::size_t>> all;
  for (int i = 0; i < 10; ++i) all.push_back(rota::spawn(asks, std::ref(s)));
  int got = 0;
  for (auto& each : all) {
    const auto result = co_await each.result();
    if (result.has_value()) ++got;
  }
  co_return got;
}

}  // namespace

int main() {
  store s;
  const int got = rota::run(all_ask(s));
  std::printf("%d of 10 have '%s', after %d attempts\n", got, s.settings.get()->c_str(), s.attempts);
  return got == 9 && s.attempts == 2 ? 0 : 1;
}
