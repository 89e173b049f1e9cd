// A thread that blocks cannot run a task.
// EXPECT: a task cannot be awaited here
#include <rota/sync/strand.hpp>

void blocks(rota::sync::strand& line) {
  line.blocking_run([]() -> rota::task<void> { co_return; });
}
