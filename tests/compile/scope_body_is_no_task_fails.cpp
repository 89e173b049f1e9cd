// The body of a scope is a coroutine.
// EXPECT: the body of with_scope takes a rota::scope& and returns a rota::task
#include <rota/scope.hpp>

rota::task<> empty() {
  const auto body = [](rota::scope&) {};
  co_await rota::with_scope(body);
}
