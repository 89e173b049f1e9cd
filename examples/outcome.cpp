// Reads how a task ended, without an exception.
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include <cstdio>

namespace {

rota::task<void> forever() {
  for (;;) co_await rota::yield();
}

rota::task<bool> cancel_it() {
  rota::join_handle<void> handle = rota::spawn(forever());
  handle.cancel();
  const rota::outcome<void> end = co_await handle.result();
  co_return end.is_cancelled() && end.reason() == rota::cancel_reason::user;
}

}  // namespace

int main() {
  const bool cancelled = rota::run(cancel_it());
  std::printf("%s\n", cancelled ? "cancelled by the user" : "something else");
  return cancelled ? 0 : 1;
}
