// An async_generator is no task, no object to keep unused, and no source of immovable values.
// EXPECT: an async_generator gives objects that can be moved, or references
// EXPECT: ignoring (return value|returned value).*nodiscard
// EXPECT: rota tasks await rota's awaitables
#include <rota/async_generator.hpp>

rota::async_generator<int> count() { co_yield 1; }

struct pinned {
  pinned() = default;
  pinned(pinned&&) = delete;
};
rota::async_generator<pinned> gives_pinned() { co_yield pinned(); }

rota::task<void> forgets() {
  auto all = count();
  all.next();
  co_return;
}
rota::task<void> awaits_it() {
  auto all = count();
  co_await all;
}
