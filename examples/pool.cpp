// A thread pool: jobs with results, priorities, an order, retries and time limits, controlled from outside.
// The interface calls a job a `work`.
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/stop_token.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

namespace pool = rota::pool;
using namespace std::chrono_literals;

int main() {
  pool::thread_pool threads({.min_threads = 0, .max_threads = 4, .keep_alive = 1s});

  // A function, and its result.
  auto sum = threads.submit([] { return 40 + 2; });
  std::printf("the sum is %d\n", sum.fetch().value());

  // A dependency: the second job starts after the first and takes its result.
  auto text = threads.submit([] { return std::string("three words here"); });
  auto words = threads.submit_when(
      {.priority = 5},
      [](const std::string& all) {
        int count = 1;
        for (const char c : all) count += c == ' ' ? 1 : 0;
        return count;
      },
      text);
  std::printf("it has %d words\n", words.fetch().value());

  // Retries: a job that fails now and then is tried again, after a pause that doubles.
  int attempts = 0;
  auto unsteady = threads.submit(
      [&attempts] {
        if (++attempts < 3) throw std::runtime_error("not yet");
        return attempts;
      },
      {.retry = {.limit = 5, .backoff = 1ms}});
  std::printf("it took %d attempts\n", unsteady.fetch().value());

  // A time limit: the job is asked to stop, and stops at its next cancellation point. Here that is a wait of
  // the library.
  auto slow = threads.submit([] { pool::this_work::sleep_for(1h); }, {.timeout = 5ms});
  const auto end = slow.fetch();
  std::printf("the slow one was %s, because of %s\n", to_string(slow.status()), to_string(end.reason()));

  // A job that takes a stop token learns from it that it should stop. A group is stopped, paused or waited
  // for as a whole.
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(threads.submit(
        [](const std::stop_token& stop) {
          while (!stop.stop_requested()) std::this_thread::yield();
        },
        {.group = "watchers"}));
  }
  threads.stop("watchers");
  threads.wait("watchers");

  // A coroutine as a job: while it waits, its thread runs other jobs.
  auto waits = threads.submit([]() -> rota::task<int> {
    co_await rota::sleep_for(1ms);
    co_return 7;
  });
  std::printf("the coroutine says %d\n", waits.fetch().value());

  threads.wait_idle();
  const pool::pool_stats s = threads.stats();
  std::printf("%llu works, %llu outstanding\n",
              static_cast<unsigned long long>(s.submitted),
              static_cast<unsigned long long>(s.outstanding));
  return s.outstanding == 0 && s.submitted == 9 ? 0 : 1;
}
