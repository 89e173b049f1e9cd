// Tasks are awaited once: a range of them is given up.
// EXPECT: give the range up, as in when_all\(std::move\(tasks\)\)
// EXPECT: give the range up, as in when_any\(std::move\(tasks\)\)
#include <rota/when.hpp>

#include <utility>
#include <vector>

rota::task<> all_of(std::vector<rota::task<int>> tasks) {
  const auto all = co_await rota::when_all(tasks);
  static_cast<void>(all);
}
rota::task<> any_of(std::vector<rota::task<int>> tasks) {
  const auto first = co_await rota::when_any(tasks);
  static_cast<void>(first);
}
