// A task-local value: a task passes it on to the tasks that it spawns.
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/task_local.hpp>

#include <cstdio>

namespace {

rota::task_local<int> request_id;

rota::task<int> child() {
  const int seen = request_id.get();
  co_return seen;
}

rota::task<int> handle_request() {
  rota::join_handle<int> spawned = rota::spawn(child());
  const int seen = co_await spawned;
  co_return seen;
}

rota::task<int> serve() {
  const int seen = co_await request_id.scope(42, handle_request());
  co_return seen;
}

}  // namespace

int main() {
  const int seen = rota::run(serve());
  std::printf("%d\n", seen);
  return seen == 42 ? 0 : 1;
}
