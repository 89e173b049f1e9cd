// An observer receives the events of a pool and of each of its jobs.
#include <rota/pool/events.hpp>
#include <rota/pool/thread_pool.hpp>

#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace pool = rota::pool;

namespace {

class journal final : public pool::observer {
 public:
  void work_ended(const pool::work_end& end) override {
    if (end.status == pool::work_status::succeeded) ++succeeded;
    if (end.status == pool::work_status::failed && !end.will_retry) ++failed;
    if (end.will_retry) ++attempts_that_failed;
  }
  void work_cancelled(const pool::work_end& /*end*/) override { ++cancelled; }
  // Receives exceptions that callbacks throw. They do no other harm.
  void error(const pool::pool_error& what) override {
    if (what.from == pool::error_from::callback) ++bad_callbacks;
  }

  std::atomic<int> succeeded{0}, failed{0}, attempts_that_failed{0}, cancelled{0}, bad_callbacks{0};
};

}  // namespace

int main() {
  journal seen;  // outlives its subscription
  pool::thread_pool threads({.max_threads = 1, .start = pool::start_mode::suspended});
  const pool::subscription told = threads.subscribe(seen);

  pool::work_options with_callback;
  with_callback.callback = [](const pool::work_end& end) {
    std::printf("%s: %d\n", end.name.data(), *end.value<int>());
    throw std::runtime_error("a callback may do that");
  };
  with_callback.name = "answer";
  static_cast<void>(threads.submit([] { return 42; }, with_callback));
  static_cast<void>(threads.submit([] { throw std::runtime_error("always"); }, {.retry = {.limit = 2}}));
  auto unwanted = threads.submit([] {});
  unwanted.cancel();

  threads.start();
  threads.wait_idle();
  std::printf("%d succeeded, %d failed after %d more attempts, %d cancelled, %d callbacks threw\n",
              seen.succeeded.load(),
              seen.failed.load(),
              seen.attempts_that_failed.load(),
              seen.cancelled.load(),
              seen.bad_callbacks.load());
  return seen.succeeded == 1 && seen.failed == 1 && seen.attempts_that_failed == 2 && seen.cancelled == 1 &&
                 seen.bad_callbacks == 1
             ? 0
             : 1;
}
