// Many tasks read a table and one task writes now and then. The writer changes an entry, downgrades its lock,
// and reads the entry beside the other readers.
#include <rota/rota.hpp>
#include <rota/sync/shared_mutex.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct table {
  rota::sync::shared_mutex lock;
  std::map<std::string, int> prices = {{"tea", 3}, {"coffee", 4}};
};

rota::task<int> asks(table& t, std::string what) {
  const auto reading = co_await t.lock.lock_shared();
  co_return t.prices.at(what);
}

rota::task<int> raises(table& t, std::string what) {
  auto writing = co_await t.lock.lock();
  ++t.prices.at(what);
  const auto reading = rota::sync::shared_mutex::downgrade(std::move(writing));
  co_return t.prices.at(what);  // the value that it has written: no other writer came in between
}

rota::task<int> work(table& t) {
  std::vector<rota::join_handle<int>> all;
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 0) {
      all.push_back(rota::spawn(raises, std::ref(t), std::string("tea")));
    } else {
      all.push_back(rota::spawn(asks, std::ref(t), std::string("tea")));
    }
  }
  int last = 0;
  for (auto& each : all) last = std::max(last, co_await each);
  co_return last;
}

}  // namespace

int main() {
  table t;
  const int last = rota::run(work(t));
  std::printf("tea costs %d\n", last);
  return last == 13 ? 0 : 1;
}
