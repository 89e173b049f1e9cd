// One function for each use of a pool: find the one that you need. docs/pool.md explains the rest.
#include <rota/pool/events.hpp>
#include <rota/pool/fetch_if.hpp>
#include <rota/pool/parallel.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/pool/watch.hpp>
#include <rota/stop_token.hpp>
#include <rota/task.hpp>
#include <rota/time.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace pool = rota::pool;
namespace this_work = rota::pool::this_work;
using namespace std::chrono_literals;

namespace {

int wrong = 0;
void expect(const char* what, bool right) {
  std::printf("%-20s %s\n", what, right ? "as it should be" : "WRONG");
  wrong += right ? 0 : 1;
}

// A function that returns a value; one that throws; one with arguments; and functions without a handle.
void sync(pool::thread_pool& p) {
  auto answer = p.submit([] { return 42; });
  auto bad = p.submit([]() -> int { throw std::runtime_error("no"); });
  auto product = p.submit_with({}, [](int a, int b) { return a * b; }, 6, 7);
  std::atomic<int> sum{0};
  p | [&] { sum += 1; } | [&] { sum += 2; };
  const pool::work_id last = p + [&] { sum += 3; };
  p.wait(last);
  p.wait_idle();
  expect("sync",
         answer.fetch().value() == 42 && bad.fetch().has_exception() && product.fetch().value() == 42 &&
             sum == 6);
}

// A coroutine as a job. While it waits, its thread runs other jobs. It is one job from its first line to
// its last.
void async(pool::thread_pool& p) {
  auto w = p.submit(
      []() -> rota::task<int> {
        co_await rota::sleep_for(1ms);
        co_return 7;
      },
      {.name = "sleepy"});
  expect("async", w.fetch().value() == 7);
}

// A callback runs when the job has ended, before the waiters go on. A job without a callback gets the
// default callback of the pool.
void callback() {
  int defaults = 0;  // one thread: one callback at a time
  pool::thread_pool p(
      {.max_threads = 1, .default_callback = [&](const pool::work_end& /*end*/) { ++defaults; }});
  int seen = 0;
  auto own = p.submit([] { return 5; }, {.callback = [&](const pool::work_end& end) {
                        if (const int* const value = end.value<int>()) seen = *value;
                      }});
  auto plain = p.submit([] {});
  own.wait();
  plain.wait();
  expect("callback", seen == 5 && defaults == 1);
}

// Stored results can be fetched without a handle: by id, by a predicate, or by group.
void results_by_id(pool::thread_pool& p) {
  const pool::work_id id = p.submit([] { return 9; }, {.name = "nine", .store_result = true}).id();
  const auto found = p.fetch<int>(id);  // waits for the result
  const auto again = p.fetch<int>(id);  // empty: the first fetch has taken the result
  for (int i = 0; i < 10; ++i) p.submit([i] { return i; }, {.store_result = true});
  p.wait_idle();
  const auto large = pool::fetch_if<int>(p, [](const pool::work_end& end) { return *end.value<int>() > 6; });
  expect("results by id",
         found.has_value() && found->value() == 9 && !again.has_value() && large.size() == 3 &&
             p.clear_results() == 7);
  const std::array ids{p.submit([] { return 1; }, {.group = "three", .store_result = true}).id(),
                       p.submit([] { return 2; }, {.group = "three", .store_result = true}).id()};
  p.submit([] { return 3; }, {.group = "three", .store_result = true});
  const auto two = p.fetch<int>(ids);        // in the order of `ids`; waits for both
  const auto third = p.fetch<int>("three");  // the one that is left
  expect("results of several",
         two[0]->value() == 1 && two[1]->value() == 2 && third.size() == 1 && third[0].second.value() == 3);
}

// The queued job with the largest priority begins first. The first job keeps the only thread busy, so that
// all others are queued.
void priority() {
  pool::thread_pool p({.max_threads = 1});
  std::atomic<bool> all_there{false};
  std::string order;
  p.submit([&] {
    while (!all_there) std::this_thread::yield();
  });
  p.submit([&] { order += 'c'; }, {.priority = -1});
  p.submit([&] { order += 'b'; });
  p.submit([&] { order += 'a'; }, {.priority = 10});
  all_there = true;
  p.wait_idle();
  expect("priority", order == "abc");
}

// Nothing begins before start(). Then the jobs begin in the order of their submission.
void start_suspended() {
  pool::thread_pool p({.max_threads = 1, .start = pool::start_mode::suspended});
  int ran = 0;
  auto w = p.submit([&] { ++ran; });
  const bool is_held = w.status() == pool::work_status::suspended;
  p.start();
  w.wait();
  expect("start suspended", is_held && ran == 1);
}

// A group is waited for, stopped and limited as a whole.
void group(pool::thread_pool& p) {
  std::atomic<int> now{0}, most{0};
  p.limit_group("downloads", 1);
  for (int i = 0; i < 3; ++i) {
    p.submit(
        [&] {
          most = std::max(most.load(), ++now);
          --now;
        },
        {.group = "downloads"});
  }
  p.wait("downloads");
  expect("group", most == 1);
}

// A job that starts after others, with or without their results. If one of them fails, it fails without
// having run.
void dependency(pool::thread_pool& p) {
  auto a = p.submit([] { return 1; });
  auto b = p.submit([] { return 2; });
  auto sum = p.submit_when({}, [](int x, int y) { return x + y; }, a, b);
  auto after = p.submit([] {}, {.after = {sum.id()}});
  auto bad = p.submit([] { throw std::runtime_error("no"); });
  auto never = p.submit([] {}, {.after = {bad.id()}});
  pool::work_id root;
  try {
    never.fetch().value();
  } catch (const pool::dependency_failed& e) {
    root = e.root();
  }
  after.wait();
  expect("dependency", sum.fetch().value() == 3 && root == bad.id() && bad.fetch().has_exception());
}

// A retry: after a failure the job is tried again.
void retry(pool::thread_pool& p) {
  int attempts = 0;
  auto w = p.submit(
      [&] {
        if (++attempts < 3) throw std::runtime_error("not yet");
      },
      {.retry = {.limit = 5, .backoff = 1ms}});
  expect("retry", w.fetch().has_value() && attempts == 3);
}

// A time limit: when it expires, the job is asked to stop.
void timeout(pool::thread_pool& p) {
  auto w = p.submit([] { this_work::sleep_for(1h); }, {.timeout = 5ms});
  const auto end = w.fetch();
  expect("timeout", end.is_cancelled() && end.reason() == rota::cancel_reason::timeout);
}

// Cancel and stop. A job that has not begun is removed. A running job is asked to stop; it notices that at
// a checkpoint or when it checks its token.
void control(pool::thread_pool& p) {
  std::atomic<int> turns{0};
  auto loop = p.submit([&] {
    for (;; ++turns) this_work::checkpoint();  // a pause or a stop takes effect here
  });
  // the token is the last parameter; needs <rota/stop_token.hpp>
  auto other = p.submit([](const std::stop_token& asked) {
    while (!asked.stop_requested()) std::this_thread::yield();
  });
  auto later = p.submit([] {}, {.after = {loop.id()}});
  const bool is_taken_back = later.cancel();  // it depends on the first job, and so has not begun
  while (turns == 0 || other.status() != pool::work_status::running) std::this_thread::yield();
  loop.pause();
  while (loop.status() != pool::work_status::paused) std::this_thread::yield();
  loop.resume();
  p.stop_all();
  other.wait();
  expect("control",
         is_taken_back && loop.fetch().is_cancelled() && loop.status() == pool::work_status::stopped &&
             other.status() == pool::work_status::succeeded);  // it has checked its token, and returned
}

// A full queue. rejection::abort: submit() throws. rejection::block waits; caller_runs runs the job on the
// calling thread; discard_... drops one job.
void rejection() {
  pool::thread_pool p({.max_threads = 1, .queue_limit = 1, .on_full = pool::rejection::abort});
  std::atomic<bool> open{false};
  auto running = p.submit([&] {
    while (!open) std::this_thread::yield();
  });
  while (running.status() != pool::work_status::running) std::this_thread::yield();
  auto waits = p.submit([] {});
  bool is_full = false;
  try {
    p.submit([] {});
  } catch (const rota::error& e) {
    is_full = e.code() == rota::errc::queue_full;
  }
  open = true;
  waits.wait();
  expect("rejection", is_full);
}

// A parallel loop over the threads of the pool and the calling thread.
void loops(pool::thread_pool& p) {
  std::vector<int> squares(1000);
  pool::for_index(p, 0, 1000, [&](int i) { squares[static_cast<std::size_t>(i)] = i * i; });
  const long sum = pool::reduce(p, 0, 1000, 0L, [](int i) { return long{i} * i; }, std::plus<>());
  expect("loops", sum == std::accumulate(squares.begin(), squares.end(), 0L));
}

// A watch submits a job for each item of a queue, at most two at a time. An item that fails is put back, at
// most three times.
void watching(pool::thread_pool& p) {
  pool::source<int> numbers(100);
  std::atomic<int> sum{0};
  pool::watch_options how;
  how.most = 2;
  const pool::watch w = pool::watch_source(
      p,
      numbers,
      [&sum](int& n, unsigned returned) {
        if (n == 2 && returned == 0) throw std::runtime_error("not yet");
        sum += n;
      },
      how);
  for (int i = 1; i <= 4; ++i) static_cast<void>(numbers.try_push(i));
  w.wait();  // without it, the end of the watch would leave the items that have not begun in the source
  expect("watching", sum == 10 && w.stats().put_back == 1);
}

// An observer is told of every event, also of exceptions that no other code catches.
class counter final : public pool::observer {
 public:
  void work_ended(const pool::work_end& /*end*/) override { ++ended; }
  std::atomic<int> ended{0};
};
void events() {
  counter seen;  // outlives its subscription, which ends before the pool
  pool::thread_pool p({.max_threads = 1});
  const pool::subscription told = p.subscribe(seen);
  for (int i = 0; i < 3; ++i) p.submit([] {});
  p.wait_idle();
  expect("events", seen.ended == 3);
}

// Current counts and totals.
void status() {
  pool::thread_pool p({.min_threads = 2, .max_threads = 2, .time_one_in = 1});
  p.submit_bulk(10, [](std::size_t) {}, {});
  p.wait_idle();
  const pool::pool_stats s = p.stats();
  expect("status", s.threads == 2 && s.submitted == 10 && s.succeeded == 10 && s.outstanding == 0);
}

// Nested jobs: a job waits for jobs that it has submitted. They go to the queue of its own thread. That
// thread takes the newest first. An idle thread steals the oldest, which is the largest piece. A waiting job
// runs other jobs meanwhile.
long sum_of(pool::thread_pool& p, std::span<const long> numbers) {
  if (numbers.size() <= 100) return std::accumulate(numbers.begin(), numbers.end(), 0L);
  const auto half = numbers.size() / 2;
  auto left = p.submit([&p, part = numbers.first(half)] { return sum_of(p, part); },
                       {.where = pool::placement::local});
  const long right = sum_of(p, numbers.subspan(half));
  return right + left.fetch(rota::help).value();
}
void divide_and_conquer() {
  pool::thread_pool p(
      {.max_threads = 2, .queue = pool::queue_order::deque, .steal = pool::steal_amount::one});
  std::vector<long> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0L);
  auto w = p.submit([&] { return sum_of(p, numbers); });
  expect("divide and conquer", w.fetch().value() == 4'999'950'000);
}

}  // namespace

int main() {
  pool::thread_pool p({.max_threads = 4});
  sync(p);
  async(p);
  callback();
  results_by_id(p);
  priority();
  start_suspended();
  group(p);
  dependency(p);
  retry(p);
  timeout(p);
  control(p);
  rejection();
  loops(p);
  watching(p);
  events();
  status();
  divide_and_conquer();
  return wrong;
}
