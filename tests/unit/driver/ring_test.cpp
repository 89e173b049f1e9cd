// The ring against the kernel: files and pipes, small queues, cancellation, and threads that end.
#include "driver/io_driver.hpp"
#include "driver/op_leaf.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace rota::driver::ring_test {
namespace {

using namespace std::chrono_literals;
namespace sys = base::sys;
using test::wait_until;
using test::with_workers;

/// Returns true if this system has io_uring.
bool has_ring() {
  static const bool answer = ring::make({}).has_value();
  return answer;
}

runtime_options on_ring(unsigned workers) {
  runtime_options o = with_workers(workers);
  o.backend = io_backend::uring;
  return o;
}

class ring_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_ring()) GTEST_SKIP() << "no io_uring here";
  }
};

/// A driver that the test drives by hand.
class hand_driven : public ring_test {
 protected:
  void open(const ring::sizes& sizes) { ASSERT_FALSE(driver.open(io_backend::uring, sizes)); }

  /// Waits until `ended` has reached `count`.
  void drive_until(const unsigned& ended, unsigned count) {
    std::array<event, 64> found;
    while (ended < count) {
      const unsigned n = driver.wait(base::never, found.data(), static_cast<unsigned>(found.size()));
      driver.dispatch(found.data(), n);
    }
  }
  ring& files() { return *driver.completions(); }

  io_driver driver;
};

struct ended_count {
  unsigned count = 0;
  waker make_waker() noexcept { return {this, &vtable}; }
  static void wake(void* self) noexcept { ++static_cast<ended_count*>(self)->count; }
  static void* clone(void* self) noexcept { return self; }
  static void drop(void*) noexcept {}
  static constexpr waker_vtable vtable{wake, wake, clone, drop};
};

/// Starts `count` no-op operations at once, and checks that each ends once.
void do_nothings(io_driver& driver, ring& files, unsigned count) {
  ended_count ended;
  std::vector<operation*> all;
  for (unsigned i = 0; i < count; ++i) {
    all.push_back(files.take());
    ASSERT_NE(all.back(), nullptr);
    sys::prepare_nothing(all.back()->request);
    files.start(*all.back(), ended.make_waker());
  }
  std::array<event, 64> found;
  while (ended.count < count)
    driver.dispatch(found.data(),
                    driver.wait(base::never, found.data(), static_cast<unsigned>(found.size())));
  EXPECT_EQ(ended.count, count);
  for (operation* const each : all) {
    EXPECT_TRUE(each->is_done());
    EXPECT_EQ(each->result(), 0);
    files.give_back(*each);
  }
  EXPECT_EQ(files.in_flight(), 0U);
}

TEST_F(hand_driven, ten_thousand_operations_pass_through_a_queue_of_four) {
  open({.entries = 4, .completions = 8, .most_in_flight = 8});
  do_nothings(driver, files(), 10'000);
  EXPECT_EQ(driver.stats().operations, 10'000U);
  EXPECT_EQ(driver.stats().overflows, 0U) << "no more are in flight than there is room for";
}

TEST_F(hand_driven, overflowed_completions_are_fetched_and_counted) {
  open({.entries = 64, .completions = 64, .most_in_flight = 10'000});
  do_nothings(driver, files(), 10'000);
  EXPECT_GT(driver.stats().overflows, 0U);
}

TEST_F(hand_driven, queued_operation_is_cancelled_at_once) {
  open({.entries = 4, .completions = 8, .most_in_flight = 1});
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::array<std::byte, 8> buffer{};
  ended_count ended;
  operation& first = *files().take();
  operation& second = *files().take();
  sys::prepare_read(first.request, ends[0], buffer, ~std::uint64_t{0});
  sys::prepare_nothing(second.request);
  files().start(first, ended.make_waker());
  files().start(second, ended.make_waker());
  EXPECT_EQ(files().cancel(second), cancel_progress::ended);
  EXPECT_EQ(second.result(), -ECANCELED);
  files().give_back(second);
  EXPECT_EQ(files().cancel(first), cancel_progress::pending);
  drive_until(ended.count, 1);
  EXPECT_EQ(first.result(), -ECANCELED);
  files().give_back(first);
  EXPECT_EQ(driver.stats().cancelled, 1U) << "the other one never came to the kernel";
  ::close(ends[0]);
  ::close(ends[1]);
}

// When a thread ends, the kernel drops what it submitted: here all operations, since the pipe is empty.
TEST_F(hand_driven, operations_outlive_the_thread_that_submitted_them) {
  open({});
  constexpr unsigned count = 100;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::array<std::array<std::byte, 1>, count> buffers{};
  ended_count ended;
  std::vector<operation*> all;
  std::thread([&] {
    for (auto& each : buffers) {
      all.push_back(files().take());
      sys::prepare_read(all.back()->request, ends[0], each, ~std::uint64_t{0});
      files().start(*all.back(), ended.make_waker());
    }
    driver.flush();
  }).join();
  const std::string bytes(count, 'x');
  ASSERT_EQ(::write(ends[1], bytes.data(), count), static_cast<ssize_t>(count));
  drive_until(ended.count, count);
  for (operation* const each : all) {
    EXPECT_EQ(each->result(), 1) << "it was cancelled, and nobody had asked for it";
    files().give_back(*each);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(hand_driven, a_child_has_no_ring_and_leaves_its_parents_alone) {
  open({});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(driver.completions() == nullptr ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  do_nothings(driver, files(), 10);
}

// ---- tasks

ring& ring_here() {
  const core::header* const task = core::current_task();
  return *task->owner->ops->io(*task->owner)->completions();
}

task<std::int32_t> read_some(int fd, std::span<std::byte> into, std::uint64_t at) {
  ring& files = ring_here();
  operation* const op = files.take();
  sys::prepare_read(op->request, fd, into, at);
  co_return co_await op_leaf(files, *op, "file read");
}

task<bool> read_this_program(int fd) {
  std::vector<std::byte> by_ring(100'000);
  const std::int32_t got = co_await read_some(fd, by_ring, 64);
  std::vector<std::byte> by_call(100'000);
  const auto expected = ::pread(fd, by_call.data(), by_call.size(), 64);
  const bool same = by_ring == by_call;
  co_return got == expected&& same;
}

TEST_F(ring_test, tasks_on_workers_and_on_the_calling_thread_read_files) {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  runtime on(on_ring(2));
  EXPECT_EQ(on.stats().io_backend, io_backend::uring);
  EXPECT_TRUE(on.block_on(read_this_program(fd)));
  std::vector<join_handle<bool>> all;
  for (int i = 0; i < 100; ++i) all.push_back(on.spawn(read_this_program(fd)));
  for (auto& each : all) EXPECT_TRUE(each.join());
  EXPECT_EQ(on.stats().io.operations, 101U);
  ::close(fd);
}

task<void> end_of(join_handle<void>& h) { static_cast<void>(co_await h.result()); }

/// A pipe from which a read waits until the test writes.
struct empty_pipe {
  empty_pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
  empty_pipe(const empty_pipe&) = delete;
  empty_pipe& operator=(const empty_pipe&) = delete;
  ~empty_pipe() {
    for (const int each : ends) ::close(each);
  }
  std::array<int, 2> ends{};
};

/// Reads into memory of its own frame, which a cancellation frees.
task<void> read_for_ever(int fd, std::atomic<int>& begun) {
  const auto buffer = std::make_unique<std::array<std::byte, 64>>();
  ++begun;
  co_await read_some(fd, *buffer, ~std::uint64_t{0});
}

TEST_F(ring_test, frames_of_a_cancelled_task_stay_until_the_kernel_is_done) {
  const empty_pipe p;
  std::atomic<int> begun{0};
  runtime on(on_ring(2));
  for (int round = 0; round < 200; ++round) {
    join_handle<void> reader = on.spawn(read_for_ever(p.ends[0], begun));
    wait_until([&] { return begun == round + 1; });
    if (round % 2 == 0) std::this_thread::yield();
    reader.cancel();
    // These bytes must not go into freed memory.
    ASSERT_EQ(::write(p.ends[1], "0123456789", 10), 10);
    on.block_on(end_of(reader));
    std::array<char, 64> rest;
    ASSERT_EQ(::fcntl(p.ends[0], F_SETFL, O_NONBLOCK), 0);
    // A read that was cancelled in time has consumed no byte.
    const ssize_t left = ::read(p.ends[0], rest.data(), rest.size());
    ASSERT_TRUE(left == 10 || (left == -1 && errno == EAGAIN)) << left << ", errno " << errno;
    ASSERT_EQ(::fcntl(p.ends[0], F_SETFL, 0), 0);
  }
  EXPECT_EQ(on.stats().alive_tasks, 0U);
}

TEST_F(ring_test, shutdown_ends_operations_that_the_kernel_holds) {
  for (const unsigned workers : {1U, 2U}) {
    const empty_pipe p;
    std::atomic<int> begun{0};
    runtime on(on_ring(workers));
    for (int i = 0; i < 50; ++i) static_cast<void>(on.spawn(read_for_ever(p.ends[0], begun)));
    wait_until([&] { return begun == 50; });
    const shutdown_report r = on.shutdown(0ms);
    EXPECT_EQ(r.cancelled, 50U);
    EXPECT_TRUE(r.survivors.empty());
  }
}

/// An operation that a worker has prepared is submitted although that worker stays in user code.
TEST_F(ring_test, prepared_operation_is_submitted_while_its_worker_computes) {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  std::atomic<bool> is_read{false};
  runtime on(on_ring(2));
  auto reader = [](int file, std::atomic<bool>& done) -> task<void> {
    std::array<std::byte, 16> buffer;
    co_await read_some(file, buffer, 0);
    done = true;
  };
  auto computes = [&](int file) -> task<void> {
    join_handle<void> h = spawn(reader(file, is_read));
    co_await yield();
    wait_until([&] { return is_read.load(); });
    co_await h;
  };
  join_handle<void> all = on.spawn(computes(fd));
  all.join();
  ::close(fd);
}

task<void> opens_for_nobody(std::atomic<bool>& begun, std::string path) {
  ring& files = ring_here();
  operation* const op = files.take();
  struct how_to_open {
    std::uint64_t flags = O_RDONLY | O_CLOEXEC;
    std::uint64_t mode = 0;
    std::uint64_t resolve = 0;
  } how;
  sys::prepare_open(op->request, AT_FDCWD, path.c_str(), reinterpret_cast<open_how*>(&how));
  begun = true;
  const std::int32_t fd = co_await op_leaf(files, *op, "file open", op_leaf::yields::descriptor);
  if (fd >= 0) ::close(fd);
}

TEST_F(ring_test, descriptor_opened_for_a_cancelled_task_is_closed) {
  runtime on(on_ring(2));
  const std::size_t files = test::open_files();
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> begun{false};
    join_handle<void> h = on.spawn(opens_for_nobody(begun, "/proc/self/exe"));
    if (i % 3 != 0) wait_until([&] { return begun.load(); });
    h.cancel();
    on.block_on(end_of(h));
  }
  EXPECT_EQ(test::open_files(), files);
}

}  // namespace
}  // namespace rota::driver::ring_test
