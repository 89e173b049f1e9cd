// A spawned task starts after the expression that made it: clang warns of a temporary given by reference.
// ONLY: clang
// FLAGS: -DROTA_CHECK_LIFETIMES
// EXPECT: value of local variable 'spawned'.*Wdangling
// EXPECT: value of local variable 'of_scope'.*Wdangling
#include <rota/scope.hpp>
#include <rota/spawn.hpp>

#include <string>

rota::task<std::size_t> length(const std::string& text) { co_return text.size(); }

rota::task<std::size_t> asks(rota::scope& s) {
  auto spawned = rota::spawn(length(std::string("gone at the end of this line")));
  auto of_scope = s.spawn(length(std::string("gone at the end of this line")));
  const std::size_t first = co_await spawned;
  const std::size_t second = co_await of_scope;
  co_return first + second;
}
