// Options out of range are refused with field and range, and nothing is started.
#include "unit/runtime/runtime_support.hpp"

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace rota::test::options_test {
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
  EXPECT_LE(threads_of_process(), threads);  // one of a test before may still have been ending
  EXPECT_EQ(open_files(), files);
}

TEST(runtime_options, number_of_workers_out_of_range_is_refused) {
  runtime_options o;
  o.workers = 4097;
  expect_refused(o, "workers", "1..4096");
  o.workers = 1'000'000;
  expect_refused(o, "workers", "not 1000000");
}

TEST(runtime_options, run_takes_options_with_a_task_or_a_function) {
  std::atomic<int> threads{0};
  runtime_options counted = with_workers(3);
  counted.blocking.on_thread_start = [&threads](unsigned /*index*/) { ++threads; };
  const auto five = []() -> task<int> { co_return 5; };
  EXPECT_EQ(run(five(), counted), 5);
  EXPECT_EQ(threads.exchange(0), 3);
  EXPECT_EQ(run(five, counted), 5);
  EXPECT_EQ(threads, 3);
  EXPECT_EQ(run([]() -> task<int> { co_return 5; }, {.workers = 1}), 5);
  EXPECT_EQ(
      run([](const runtime_options& mine) -> task<unsigned> { co_return mine.workers; }, with_workers(2)), 2U)
      << "a function that takes options gets them";
  EXPECT_THROW(run(five, with_workers(5000)), std::invalid_argument);
}

TEST(runtime_options, unknown_backend_is_refused) {
  runtime_options o;
  o.backend = static_cast<io_backend>(77);
  expect_refused(o, "backend", "automatic, epoll or uring");
}

/// Sets the environment variable during its life, or unsets it if `io` is null.
class environment {
 public:
  explicit environment(const char* io) {
    if (io == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, io, 1);
    }
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() { before_.has_value() ? ::setenv(name, before_->c_str(), 1) : ::unsetenv(name); }

 private:
  static constexpr const char* name = "ROTA_IO";
  static std::optional<std::string> now() {
    const char* const said = std::getenv(name);
    return said == nullptr ? std::nullopt : std::optional<std::string>(said);
  }
  const std::optional<std::string> before_ = now();
};

io_backend backend_in_use(io_backend asked) {
  runtime_options o = with_workers(1);
  o.backend = asked;
  return runtime(o).stats().io_backend;
}

/// Expects a ring, or an error that names uring and leaves nothing started.
void expect_ring_or_nothing(io_backend asked) {
  const std::size_t threads = threads_of_process();
  const std::size_t files = open_files();
  try {
    EXPECT_EQ(backend_in_use(asked), io_backend::uring);
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("uring"), std::string::npos) << e.what();
  }
  // A joined thread may stay listed for a moment. One of a test before may still have been ending.
  wait_until([threads] { return threads_of_process() <= threads; });
  EXPECT_EQ(open_files(), files);
}

TEST(runtime_options, requested_uring_is_used_or_is_an_error) {
  const environment none(nullptr);
  expect_ring_or_nothing(io_backend::uring);
  EXPECT_EQ(backend_in_use(io_backend::automatic), io_backend::epoll);
}

TEST(runtime_options, environment_chooses_the_backend_if_the_program_does_not) {
  {
    const environment says("epoll");
    EXPECT_EQ(backend_in_use(io_backend::automatic), io_backend::epoll);
    expect_ring_or_nothing(io_backend::uring);
  }
  const environment says("uring");
  expect_ring_or_nothing(io_backend::automatic);
  EXPECT_EQ(backend_in_use(io_backend::epoll), io_backend::epoll);
}

TEST(runtime_options, invalid_backend_in_the_environment_is_refused) {
  for (const char* const text : {"", "automatic", "Epoll", "epoll ", "io_uring", "0"}) {
    const environment says(text);
    expect_refused({}, "ROTA_IO", std::string("must be epoll or uring, not '") + text + "'");
    EXPECT_EQ(backend_in_use(io_backend::epoll), io_backend::epoll) << "who chooses does not ask";
  }
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

TEST(runtime_options, thread_limits_of_the_pool_out_of_range_are_refused) {
  runtime_options o;
  o.blocking.max_threads = 0;
  expect_refused(o, "max_threads", "1..65536");
  o.blocking.max_threads = 70'000;
  expect_refused(o, "max_threads", "1..65536");
  o.blocking.max_threads = 3;
  o.blocking.min_threads = 4;
  expect_refused(o, "min_threads", "max_threads");
}

TEST(runtime_options, invalid_niceness_and_rejection_policy_are_refused) {
  runtime_options o;
  for (const int nice : {-21, 20}) {
    o.blocking.nice = nice;
    expect_refused(o, "blocking.nice", "-20..19");
  }
  o = {};
  for (const auto full : {pool::rejection::discard_newest,
                          pool::rejection::discard_queued,
                          pool::rejection::custom,
                          static_cast<pool::rejection>(99)}) {
    o.blocking.on_full = full;
    expect_refused(o, "blocking.on_full", "abort, caller_runs or block");
  }
}

struct last_in {
  std::vector<pool::queued_work> works;
  void set(pool::queued_work work) { works.push_back(work); }
  std::optional<pool::queued_work> get() { return std::nullopt; }
  std::optional<pool::queued_work> steal() { return std::nullopt; }
  std::optional<pool::queued_work> discard() { return std::nullopt; }
  [[nodiscard]] std::size_t size() const { return works.size(); }
};

// Each field of pool_options that does not apply to this pool is refused.
TEST(runtime_options, pool_options_that_do_not_apply_are_refused) {
  using pool::pool_options;
  struct field {
    const char* name;
    void (*change)(pool_options& o);
  };
  const std::vector<field> all{
      {"worker_queue_limit", [](pool_options& o) { o.worker_queue_limit = 1; }},
      {"queue", [](pool_options& o) { o.queue = pool::queue_order::lifo; }},
      {"custom", [](pool_options& o) { o.custom = pool::custom_queue::of<last_in>(); }},
      {"priorities", [](pool_options& o) { o.priorities = pool::priority_scope::global; }},
      {"aging", [](pool_options& o) { o.aging = 1ns; }},
      {"steal", [](pool_options& o) { o.steal = pool::steal_amount::one; }},
      {"start", [](pool_options& o) { o.start = pool::start_mode::suspended; }},
      {"pause", [](pool_options& o) { o.pause = pool::pause_mode::queued_too; }},
      {"choose_rejection",
       [](pool_options& o) { o.choose_rejection = [](int, std::size_t) { return pool::rejection::abort; }; }},
      {"time_one_in", [](pool_options& o) { o.time_one_in = 1; }},
      {"work_timeout", [](pool_options& o) { o.work_timeout = {1s}; }},
      {"work_timeout", [](pool_options& o) { o.work_timeout.then = pool::on_timeout::notify; }},
      {"total_timeout", [](pool_options& o) { o.total_timeout = {1s}; }},
      {"total_timeout", [](pool_options& o) { o.total_timeout.from = pool::timeout_from::submit; }},
      {"running_timer", [](pool_options& o) { o.running_timer.interval = 1s; }},
      {"running_timer", [](pool_options& o) { o.running_timer.elapsed = [](std::chrono::nanoseconds) {}; }},
      {"hill_climbing", [](pool_options& o) { o.hill_climbing.period = 1ms; }},
      {"hill_climbing", [](pool_options& o) { o.hill_climbing.noise_percent = 6; }},
      {"default_callback", [](pool_options& o) { o.default_callback = [](const pool::work_end&) {}; }},
      {"force_grace", [](pool_options& o) { o.force_grace = 2s; }},
      {"max_abandoned", [](pool_options& o) { o.max_abandoned = 0; }},
      {"shutdown_grace", [](pool_options& o) { o.shutdown_grace = 0s; }},
  };
  for (const field& each : all) {
    runtime_options o;
    each.change(o.blocking);
    expect_refused(
        o, std::string("blocking.") + each.name + " must be as it is by default", "does not have it");
  }
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
}  // namespace rota::test::options_test
