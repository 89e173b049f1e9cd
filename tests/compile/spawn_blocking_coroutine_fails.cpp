// The result would be a task that is never run.
// EXPECT: use spawn for a coroutine
#include <rota/spawn.hpp>

rota::task<int> work(int n);

void blocks() { static_cast<void>(rota::spawn_blocking(work, 1)); }
