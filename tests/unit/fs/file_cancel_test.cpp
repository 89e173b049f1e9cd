// Cancelled operations: before the start, while the kernel or a pool thread runs them, and at the end.
#include "unit/fs/fs_support.hpp"

#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/time.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::fs::file_cancel_test {
namespace {

using namespace std::chrono_literals;
using test::as_bytes_of;
using test::as_text;
using test::content_of;
using test::fails;
using test::must;
using test::numbered;
using test::open_files;
using test::said;
using test::wait_until;
using test::with_workers;

using fs_cancel = test::fs_test;

bool on_the_ring() {
  const char* const said_so = std::getenv("ROTA_IO");
  return said_so != nullptr && std::string_view(said_so) == "uring";
}

task<void> end_of(join_handle<void>& h) { static_cast<void>(co_await h.result()); }

/// Occupies the only blocking thread.
struct busy_pool {
  explicit busy_pool(runtime& rt)
      : held(rt.spawn_blocking([this] {
          is_held = true;
          wait_until([this] { return done.load(); });
        })) {
    wait_until([this] { return is_held.load(); });
  }
  busy_pool(const busy_pool&) = delete;
  busy_pool& operator=(const busy_pool&) = delete;
  ~busy_pool() {
    done = true;
    held.join();
  }
  std::atomic<bool> is_held{false};
  std::atomic<bool> done{false};
  join_handle<void> held;
};

runtime_options one_thread_for_closures() {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 1;
  return o;
}

struct pipe_pair {
  pipe_pair() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
  pipe_pair(const pipe_pair&) = delete;
  pipe_pair& operator=(const pipe_pair&) = delete;
  ~pipe_pair() {
    for (const int each : ends) ::close(each);
  }
  std::array<int, 2> ends{};
};

/// Reads into memory of its own frame, which a cancellation frees.
task<void> read_for_ever(file f, std::atomic<int>& begun) {
  const auto buffer = std::make_unique<std::array<std::byte, 64>>();
  ++begun;
  static_cast<void>(co_await f.read(*buffer));
}

/// The kernel or a blocked thread has the read. The write ends it, and its buffer must still exist.
TEST_F(fs_cancel, buffer_of_a_cancelled_read_lives_until_the_read_has_ended) {
  const std::size_t files = test::files_alone();
  {
    runtime rt(with_workers(2));
    for (int round = 0; round < 100; ++round) {
      const pipe_pair p;
      std::atomic<int> begun{0};
      join_handle<void> reader = rt.spawn(read_for_ever(must(file::adopt(::dup(p.ends[0]))), begun));
      if (round % 3 != 0) wait_until([&] { return begun == 1; });
      if (round % 3 == 1) std::this_thread::yield();
      reader.cancel();
      EXPECT_EQ(::write(p.ends[1], "0123456789", 10), 10);
      rt.block_on(end_of(reader));
    }
    EXPECT_EQ(rt.stats().alive_tasks, 0U);
  }
  EXPECT_EQ(test::files_alone(), files);
}

TEST_F(fs_cancel, cancelled_read_on_the_ring_ends_at_once) {
  if (!on_the_ring()) GTEST_SKIP() << "a thread that blocks in a read cannot be called back";
  runtime rt(with_workers(2));
  const pipe_pair p;
  std::atomic<int> begun{0};
  join_handle<void> reader = rt.spawn(read_for_ever(must(file::adopt(::dup(p.ends[0]))), begun));
  wait_until([&] { return rt.stats().io.operations == 1; });
  reader.cancel();
  rt.block_on(end_of(reader));
  EXPECT_EQ(rt.stats().io.cancelled, 1U);
}

/// A cancelled operation in the queue is never started.
TEST_F(fs_cancel, cancelled_operation_in_the_queue_is_never_started) {
  if (on_the_ring()) GTEST_SKIP() << "there is no line of threads";
  runtime rt(one_thread_for_closures());
  {
    busy_pool busy(rt);
    std::atomic<bool> begun{false};
    const auto makes = [&]() -> task<void> {
      begun = true;
      static_cast<void>(co_await file::create(at("never")));
      ADD_FAILURE() << "it was cancelled";
    };
    join_handle<void> h = rt.spawn(makes);
    wait_until(
        [&] { return begun.load() && rt.stats().blocking_queued == 1; });  // its closure is in the line
    h.cancel();
    // On the only worker, not on this thread: after two of them the cancellation has reached the closure.
    for (int i = 0; i < 2; ++i) test::join_on_worker(rt.spawn([]() -> task<void> { co_return; }));
    busy.done = true;
    rt.block_on(end_of(h));
  }
  EXPECT_FALSE(std::filesystem::exists(at("never")));
}

/// The cursor reflects completed reads and writes only: a cancelled task can repeat its operation.
TEST_F(fs_cancel, a_cancelled_operation_leaves_the_cursor_and_can_be_made_again) {
  const std::string bytes = numbered(50'000);
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    const auto writes = [&](std::size_t from) -> task<void> {
      static_cast<void>(co_await f.write(as_bytes_of(bytes).subspan(from, 100)));
    };
    for (std::size_t round = 0; f.position() < bytes.size(); ++round) {
      const std::uint64_t before = f.position();
      join_handle<void> h = spawn(writes(before));
      if (round % 4 != 0) co_await yield();
      if (round % 4 < 3) h.cancel();
      const auto end = co_await h.result();
      EXPECT_EQ(f.position(), end.is_cancelled() ? before : before + 100);
      if (end.is_cancelled()) must(f.seek_to(before));
    }
  });
  EXPECT_TRUE(content_of(at("f")) == bytes);
}

task<void> opens_for_nobody(std::atomic<bool>& begun, std::string path) {
  begun = true;
  static_cast<void>(co_await file::open(path));
}

TEST_F(fs_cancel, file_opened_by_a_cancelled_open_is_closed) {
  folder.write("f", "x");
  runtime rt(with_workers(2));
  rt.block_on([]() -> task<void> { co_await yield(); });
  const std::size_t files = open_files();
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> begun{false};
    join_handle<void> h = rt.spawn(opens_for_nobody(begun, at("f")));
    if (i % 3 != 0) wait_until([&] { return begun.load(); });
    h.cancel();
    rt.block_on(end_of(h));
  }
  EXPECT_EQ(open_files(), files);
}

TEST_F(fs_cancel, close_closes_the_file_even_if_it_is_cancelled) {
  folder.write("f", "x");
  runtime rt(with_workers(2));
  rt.block_on([]() -> task<void> { co_await yield(); });
  const std::size_t files = open_files();
  for (int i = 0; i < 100; ++i) {
    file f = rt.block_on([&]() -> task<file> { co_return must(co_await file::open(at("f"))); });
    auto closes = [](file mine) -> task<void> { static_cast<void>(co_await std::move(mine).close()); };
    join_handle<void> h = rt.spawn(closes, std::move(f));
    if (i % 2 != 0) std::this_thread::yield();
    h.cancel();
    rt.block_on(end_of(h));
  }
  EXPECT_EQ(open_files(), files);
}

TEST_F(fs_cancel, shutdown_ends_running_file_operations) {
  for (const unsigned workers : {1U, 2U}) {
    folder.write("f", numbered(100'000));
    runtime rt(with_workers(workers));
    std::atomic<int> begun{0};
    std::atomic<int> gone{0};
    const auto works = [&]() -> task<void> {
      const test::witness mine(gone);
      file f = must(co_await open_options().read().write().open(at("f")));
      std::vector<std::byte> some(1000);
      ++begun;
      for (;;) {
        must(co_await f.write_at(some, 0));
        must(co_await f.sync_data());
      }
    };
    for (int i = 0; i < 20; ++i) static_cast<void>(rt.spawn(works));
    wait_until([&] { return begun == 20; });
    // A grace period: without one, a thread that is in a sync would be left behind with its task.
    const shutdown_report r = rt.shutdown(1h);
    EXPECT_EQ(gone, 20);
    EXPECT_TRUE(r.survivors.empty());
  }
}

/// A clean-up's file is written although the pool accepts no more work.
TEST_F(fs_cancel, a_clean_up_writes_its_file_while_the_runtime_shuts_down) {
  runtime_options o = with_workers(2);
  o.shutdown_grace = 1h;
  std::atomic<bool> begun{false};
  {
    runtime rt(o);
    const auto saves = [&]() -> task<void> {
      const auto waits = [&]() -> task<void> {
        begun = true;
        co_await sleep_for(1h);
      };
      const auto cleans = [&](const outcome<void>& /*end*/) -> task<void> {
        file f = must(co_await file::create(at("f")));
        must(co_await f.write_all_at(as_bytes_of("cleaned"), 0));
        must(co_await f.sync_all());
        must(co_await std::move(f).close());
      };
      co_await finally(waits(), cleans, 1h);
    };
    static_cast<void>(rt.spawn(saves));
    wait_until([&] { return begun.load(); });
  }
  EXPECT_EQ(content_of(at("f")), "cleaned");
}

/// A limit that passes while a shield holds it off must not cancel the closure either.
TEST_F(fs_cancel, shielded_operation_completes_although_the_timeout_has_passed) {
  run_it([&]() -> task<void> {
    const auto saves = [&]() -> task<void> {
      const auto guard = shield(1h);
      file f = must(co_await file::create(at("f")));
      wait_until([] { return this_task::cancel_requested(); });
      must(co_await f.write(as_bytes_of("saved")));
      must(co_await std::move(f).close());
    };
    const auto in_time = co_await timeout(1ms, saves());
    static_cast<void>(in_time);
  });
  EXPECT_EQ(content_of(at("f")), "saved");
}

TEST_F(fs_cancel, full_pool_queue_is_an_error_and_not_a_cancellation) {
  if (on_the_ring()) GTEST_SKIP() << "the pool is not asked";
  runtime_options o = one_thread_for_closures();
  o.blocking.queue_limit = 1;
  runtime rt(o);
  busy_pool busy(rt);
  std::atomic<int> refused{0};
  const auto opens = [&]() -> task<void> {
    const result<file> f = co_await file::open("/dev/null");
    if (f.has_value()) co_return;
    EXPECT_EQ(f.error(), errc::queue_full);
    ++refused;
  };
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 10; ++i) all.push_back(rt.spawn(opens));
  wait_until([&] { return refused == 9; });
  busy.done = true;
  for (auto& each : all) each.join();
  EXPECT_EQ(refused, 9) << "one waits";
}

}  // namespace
}  // namespace rota::fs::file_cancel_test
