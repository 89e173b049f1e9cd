// Calls of several steps under a shield are completed, for any cancellation and any end meanwhile.
#include "unit/fs/fs_support.hpp"

#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/fs/directory.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/time.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace rota::fs::shield_test {
namespace {

using namespace std::chrono_literals;
using test::as_bytes_of;
using test::content_of;
using test::gives;
using test::must;
using test::numbered;
using test::wait_until;
using test::with_workers;

constexpr std::size_t large = 5'000'000;  // needs more than one step
constexpr int names = 1000;               // more than a walk reads in one batch

class fs_shielded : public test::fs_test {
 protected:
  void SetUp() override {
    bytes = numbered(large);
    folder.write("from", bytes);
    for (int i = 0; i < names; ++i)
      folder.write("tree/" + std::to_string(i % 9) + "/" + std::to_string(i), "");
    folder.write("gone/a/b/c", "");
  }
  /// Makes all calls that need several steps.
  task<void> does_all() const {
    must(co_await fs::write(at("written"), as_bytes_of(bytes)));
    must(co_await append(at("written"), as_bytes_of(bytes)));
    must(co_await write_atomically(at("whole"), as_bytes_of(bytes)));
    co_await gives(fs::copy(at("from"), at("copy")), large);
    const std::string got = must(co_await read_to_string(at("from")));
    EXPECT_EQ(got.size(), large);
    must(co_await create_dir_all(at("made/a/b/c")));
    must(co_await remove_dir_all(at("gone")));
    temp_dir mine = must(co_await temp_dir::create_in(folder.root(), "mine."));
    must(co_await mine.remove());
    walk through(at("tree"));
    int found = 0;
    for (;;) {
      const auto each = co_await through.next();
      if (!each) break;
      ++found;
    }
    EXPECT_EQ(found, names + 9 + 1);
  }
  void all_is_done() const {
    EXPECT_EQ(std::filesystem::file_size(at("written")), 2 * large);
    EXPECT_TRUE(content_of(at("whole")) == bytes);
    EXPECT_TRUE(content_of(at("copy")) == bytes);
    EXPECT_TRUE(std::filesystem::is_directory(at("made/a/b/c")));
    EXPECT_FALSE(std::filesystem::exists(at("gone")));
  }

  std::string bytes;
};

TEST_F(fs_shielded, cleanup_completes_while_the_runtime_shuts_down) {
  runtime_options o = with_workers(2);
  o.shutdown_grace = 1h;
  std::atomic<bool> begun{false};
  {
    runtime rt(o);
    const auto works = [&]() -> task<void> {
      const auto waits = [&]() -> task<void> {
        begun = true;
        co_await sleep_for(1h);
      };
      const auto cleans = [&](const outcome<void>& /*end*/) -> task<void> { co_await does_all(); };
      co_await finally(waits(), cleans, 1h);
    };
    static_cast<void>(rt.spawn(works));
    wait_until([&] { return begun.load(); });
  }
  all_is_done();
}

TEST_F(fs_shielded, calls_complete_in_a_task_that_is_already_cancelled) {
  runtime rt(with_workers(2));
  std::atomic<bool> begun{false};
  const auto works = [&]() -> task<void> {
    const auto guard = shield(1h);
    begun = true;
    wait_until([] { return this_task::cancel_requested(); });
    co_await does_all();
  };
  join_handle<void> h = rt.spawn(works);
  wait_until([&] { return begun.load(); });
  h.cancel();
  rt.block_on([&]() -> task<void> { static_cast<void>(co_await h.result()); });
  all_is_done();
}

/// The pool's thread may block, so all calls run in place.
TEST_F(fs_shielded, calls_complete_in_a_pool_job_whose_timeout_has_passed) {
  pool::thread_pool pool;
  const auto works = [&]() -> task<void> {
    const auto saves = [&]() -> task<void> {
      const auto guard = shield(1h);
      wait_until([] { return this_task::cancel_requested(); });
      co_await does_all();
    };
    static_cast<void>(co_await timeout(1ms, saves()));
  };
  pool.submit(works).wait();
  all_is_done();
}

/// Without a shield: a cancelled walk must not take the entries that it has not read for the end.
TEST_F(fs_shielded, cancelled_walk_in_place_continues_later_without_losing_entries) {
  pool::thread_pool pool;
  int found = 0;
  const auto works = [&]() -> task<void> {
    walk through(at("tree"));
    const auto first = [&]() -> task<bool> {
      wait_until([] { return this_task::cancel_requested(); });
      const auto each = co_await through.next();
      co_return each.has_value();
    };
    const auto in_time = co_await timeout(1ms, first());
    EXPECT_FALSE(in_time.has_value());
    for (;;) {
      const auto each = co_await through.next();
      if (!each) break;
      ++found;
    }
  };
  pool.submit(works).wait();
  EXPECT_EQ(found, names + 9 + 1);
}

/// A thread runs the closure when the shutdown comes, which cancels the closure as well as the task.
TEST_F(fs_shielded, running_write_completes_while_the_runtime_shuts_down) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  std::atomic<bool> begun{false};
  std::atomic<bool> sees_it{false};
  std::atomic<bool> cancelled{false};
  std::size_t got = 0;
  std::thread reader([&] {
    const int fd = ::open(at("fifo").c_str(), O_RDONLY | O_CLOEXEC);
    std::array<char, 4096> some;
    got += static_cast<std::size_t>(::read(fd, some.data(), some.size()));
    begun = true;
    wait_until([&] { return cancelled.load(); });
    for (;;) {
      const ssize_t more = ::read(fd, some.data(), some.size());
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    ::close(fd);
  });
  // Until the reader has opened the FIFO, fs::write() fails, and so does this open(2).
  int early = -1;
  wait_until([&] { return (early = ::open(at("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; });
  runtime_options o = with_workers(2);
  o.shutdown_grace = 1h;
  {
    runtime rt(o);
    const auto writes = [&]() -> task<void> {
      const auto guard = shield(1h);
      const result<void> written = co_await fs::write(at("fifo"), as_bytes_of(bytes));
      EXPECT_TRUE(written.has_value()) << test::said(written);
      begun = true;  // also after a failure, so that no wait is endless
    };
    const auto sees = [&]() -> task<void> {
      const auto waits = [&]() -> task<void> {
        sees_it = true;
        co_await sleep_for(1h);
      };
      const auto tells = [&](const outcome<void>& /*end*/) -> task<void> {
        cancelled = true;
        co_return;
      };
      co_await finally(waits(), tells, 1h);
    };
    // The last registered task is cancelled last: the closure is cancelled by then, or a moment later.
    static_cast<void>(rt.spawn(writes));
    wait_until([&] { return begun.load(); });
    ::close(early);
    static_cast<void>(rt.spawn(sees));
    wait_until([&] { return sees_it.load(); });
  }
  reader.join();
  EXPECT_EQ(got, large);
}

}  // namespace
}  // namespace rota::fs::shield_test
