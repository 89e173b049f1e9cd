// Options out of range: refused with field and range, and nothing has started.
#include "unit/runtime/runtime_support.hpp"

#include <stdexcept>

namespace rota::test {
namespace {

void expect_refused(const runtime_options& o, const std::string& field, const std::string& range) {
  const std::size_t threads = threads_of_process();
  const std::size_t files = open_files();
  try {
    const runtime rt(o);
    FAIL() << field << " was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(range), std::string::npos) << e.what();
  }
  EXPECT_EQ(threads_of_process(), threads);
  EXPECT_EQ(open_files(), files);
}

TEST(runtime_options, workers) {
  runtime_options o;
  o.workers = 4097;
  expect_refused(o, "workers", "1..4096");
  o.workers = 1'000'000;
  expect_refused(o, "workers", "not 1000000");
}

TEST(runtime_options, backend) {
  runtime_options o;
  o.backend = io_backend::uring;
  expect_refused(o, "backend", "epoll");
  o.backend = static_cast<io_backend>(77);
  expect_refused(o, "backend", "epoll");
}

TEST(runtime_options, durations_are_not_negative) {
  runtime_options o;
  o.watchdog = -1ns;
  expect_refused(o, "watchdog", "0 (never) or more");
  o = {};
  o.shutdown_grace = -5s;
  expect_refused(o, "shutdown_grace", "0 or more");
  o = {};
  o.blocking.keep_alive = -1ns;
  expect_refused(o, "keep_alive", "0 or more");
}

TEST(runtime_options, threads_of_the_pool) {
  runtime_options o;
  o.blocking.max_threads = 0;
  expect_refused(o, "max_threads", "1..65536");
  o.blocking.max_threads = 70'000;
  expect_refused(o, "max_threads", "1..65536");
  o.blocking.max_threads = 3;
  o.blocking.min_threads = 4;
  expect_refused(o, "min_threads", "max_threads");
}

TEST(runtime_options, the_longest_durations_are_legal) {
  runtime_options o = with_workers(1);
  o.watchdog = std::chrono::nanoseconds::max();
  o.blocking.keep_alive = std::chrono::nanoseconds::max();
  o.shutdown_grace = std::chrono::nanoseconds::max();
  runtime rt(o);
  EXPECT_EQ(rt.spawn_blocking([] { return 3; }).join(), 3);
  EXPECT_EQ(rt.spawn_blocking([] { return 4; }).join(), 4) << "its thread went to sleep in between";
}

TEST(runtime_options, zero_workers_means_as_many_as_there_are_processors) {
  const runtime rt(with_workers(0));
  EXPECT_GE(rt.stats().num_workers, 1U);
  EXPECT_LE(rt.stats().num_workers, std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace rota::test
