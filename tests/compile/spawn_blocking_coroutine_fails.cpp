// A task that nobody runs would be the result.
// EXPECT: use spawn for a coroutine
#include <rota/spawn.hpp>

rota::task<int> work(int n);

void blocks() { static_cast<void>(rota::spawn_blocking(work, 1)); }
