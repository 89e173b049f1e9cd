// A wait without co_await is a mistake.
// EXPECT: (ignoring return value|nodiscard)
#include <rota/channel/watch.hpp>

void forget(rota::channel::watch_receiver<int>& of) { of.changed(); }
