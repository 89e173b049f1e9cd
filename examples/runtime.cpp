// An explicit runtime object: options, a foreign thread, statistics, shutdown.
#include <rota/runtime.hpp>
#include <rota/this_task.hpp>

#include <cstdio>
#include <string>
#include <thread>

namespace {

rota::task<int> answer() {
  rota::this_task::set_name("answer");
  co_await rota::yield();
  co_return 42;
}

}  // namespace

int main() {
  rota::runtime runtime(rota::runtime_options{.workers = 2, .seed = 1});
  rota::runtime_handle handle = runtime.handle();
  int from_thread = 0;
  std::thread foreign([&] {
    rota::join_handle<int> task = handle.spawn(answer());
    from_thread = task.join();
  });
  foreign.join();
  std::fputs(runtime.dump().c_str(), stdout);
  // A task needs no runtime object: rota::dump() describes the runtime that runs the task.
  std::fputs(runtime.block_on([]() -> rota::task<std::string> { co_return rota::dump(); }).c_str(), stdout);
  const rota::shutdown_report report = runtime.shutdown(std::chrono::seconds(1));
  std::printf("answer %d, survivors %zu\n", from_thread, report.survivors.size());
  return from_thread == 42 && report.survivors.empty() ? 0 : 1;
}
