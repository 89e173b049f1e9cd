// Opening FIFOs: it waits for the other side, a cancellation ends the wait, and no peer is misled.
#include "unit/fs/fs_support.hpp"

#include <rota/cancel.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace rota::fs::fifo_test {
namespace {

using namespace std::chrono_literals;
using test::as_bytes_of;
using test::as_text;
using test::fails;
using test::must;
using test::wait_until;
using test::with_workers;

class fs_fifo : public test::fs_test {
 protected:
  fs_fifo() { EXPECT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0); }

  /// Returns true if a descriptor has the FIFO open for reading.
  [[nodiscard]] bool has_reader() const {
    const int fd = ::open(at("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd != -1) ::close(fd);
    return fd != -1;
  }
  [[nodiscard]] task<result<file>> open_to_read() const { return file::open(at("fifo")); }
  [[nodiscard]] task<result<file>> open_to_write() const { return open_options().write().open(at("fifo")); }
  /// Opens as a shell's `>` does: a ring passes such an open to a kernel thread at once.
  [[nodiscard]] task<result<file>> create() const { return file::create(at("fifo")); }
};

bool is_blocking(const file& f) { return (::fcntl(f.native_handle(), F_GETFL) & O_NONBLOCK) == 0; }

TEST_F(fs_fifo, an_open_that_waits_for_the_other_side_ends_at_its_deadline) {
  run_it([&]() -> task<void> {
    for (const auto limit : {0ms, 1ms, 30ms}) {
      const auto read = co_await timeout(limit, open_to_read());
      EXPECT_FALSE(read.has_value());
      EXPECT_FALSE(has_reader()) << "left open";
      const auto written = co_await timeout(limit, open_to_write());
      EXPECT_FALSE(written.has_value());
      const auto made = co_await timeout(limit, create());
      EXPECT_FALSE(made.has_value());
    }
  });
}

TEST_F(fs_fifo, a_shutdown_ends_an_open_that_waits) {
  const std::size_t files = test::files_alone();
  {
    runtime rt(with_workers(2));
    std::atomic<int> begun{0};
    const auto reads = [&]() -> task<void> {
      ++begun;
      static_cast<void>(co_await open_to_read());
      ADD_FAILURE() << "no writer came";
    };
    static_cast<void>(rt.spawn(reads));
    wait_until([&] { return begun == 1; });
  }
  // A shutdown may leave the closure to its thread, which ends within 5 ms.
  wait_until([&] { return test::open_files() == files; });
}

TEST_F(fs_fifo, the_limit_of_a_shield_ends_an_open_that_it_covers) {
  run_it([&]() -> task<void> {
    const auto waits = [&]() -> task<void> {
      const auto guard = shield(30ms);
      static_cast<void>(co_await open_to_write());
      ADD_FAILURE() << "no reader came";
    };
    const auto in_time = co_await timeout(1ms, waits());
    EXPECT_FALSE(in_time.has_value());
  });
}

TEST_F(fs_fifo, open_that_waits_in_a_job_of_a_pool_ends_at_its_deadline) {
  pool::thread_pool pool;
  bool in_time = true;
  const auto works = [&]() -> task<void> {
    const auto opened = co_await timeout(1ms, open_to_read());
    in_time = opened.has_value();
  };
  pool.submit(works).wait();
  EXPECT_FALSE(in_time);
}

/// The writer writes only after the open has returned.
TEST_F(fs_fifo, an_open_to_read_returns_when_a_writer_has_opened_it) {
  std::atomic<bool> opened{false};
  std::thread writer([&] {
    const int fd = ::open(at("fifo").c_str(), O_WRONLY | O_CLOEXEC);
    wait_until([&] { return opened.load(); });
    EXPECT_EQ(::write(fd, "text", 4), 4);
    ::close(fd);
  });
  run_it([&]() -> task<void> {
    file f = must(co_await open_to_read());
    opened = true;
    EXPECT_TRUE(is_blocking(f));
    std::array<std::byte, 8> some;
    const std::size_t got = must(co_await f.read(some));
    EXPECT_EQ(as_text(std::span(some).first(got)), "text");
    const std::size_t end = must(co_await f.read(some));
    EXPECT_EQ(end, 0U);
  });
  writer.join();
}

TEST_F(fs_fifo, open_to_read_returns_if_the_writer_has_already_closed_it) {
  std::thread writer([&] { ::close(::open(at("fifo").c_str(), O_WRONLY | O_CLOEXEC)); });
  run_it([&]() -> task<void> {
    file f = must(co_await open_to_read());
    std::array<std::byte, 8> some;
    const std::size_t end = must(co_await f.read(some));
    EXPECT_EQ(end, 0U);
  });
  writer.join();
}

TEST_F(fs_fifo, an_open_to_write_returns_when_a_reader_has_opened_it) {
  for (const bool creates : {false, true}) {
    std::atomic<bool> waits{false};
    std::string got(8, '\0');
    std::thread reader([&] {
      wait_until([&] { return waits.load(); });
      const int fd = ::open(at("fifo").c_str(), O_RDONLY | O_CLOEXEC);
      got.resize(static_cast<std::size_t>(::read(fd, got.data(), got.size())));
      ::close(fd);
    });
    run_it([&]() -> task<void> {
      waits = true;
      auto opening = creates ? create() : open_to_write();
      file f = must(co_await std::move(opening));
      EXPECT_TRUE(is_blocking(f));
      const std::size_t put = must(co_await f.write(as_bytes_of("text")));
      EXPECT_EQ(put, 4U);
      reader.join();  // so that its descriptor is not counted
    });
    EXPECT_EQ(got, "text");
  }
}

TEST_F(fs_fifo, two_tasks_can_open_both_sides_and_pass_data) {
  run_it([&]() -> task<void> {
    const auto writes = [&]() -> task<void> {
      file f = must(co_await open_to_write());
      must(co_await f.write(as_bytes_of("text")));
    };
    const auto reads = [&]() -> task<void> {
      file f = must(co_await open_to_read());
      std::array<std::byte, 8> some;
      const std::size_t got = must(co_await f.read(some));
      EXPECT_EQ(got, 4U);
    };
    co_await when_all(writes(), reads());
  });
}

TEST_F(fs_fifo, open_for_both_directions_or_with_o_nonblock_does_not_wait) {
  run_it([&]() -> task<void> {
    co_await fails(open_options().write().custom_flags(O_NONBLOCK).open(at("fifo")), ENXIO);
    const file reads = must(co_await open_options().read().custom_flags(O_NONBLOCK).open(at("fifo")));
    EXPECT_FALSE(is_blocking(reads));
    const file both = must(co_await open_options().read().write().open(at("fifo")));
    EXPECT_TRUE(is_blocking(both));
  });
}

/// An anonymous pipe has had both ends from the start: no open waits, even after its writer has gone.
TEST_F(fs_fifo, open_of_a_pipe_by_its_descriptor_does_not_wait) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  run_it([&]() -> task<void> {
    const file again = must(co_await file::open(path));
    EXPECT_TRUE(again);
    ::close(ends[1]);
    file last = must(co_await file::open(path));
    std::array<std::byte, 8> some;
    const std::size_t end = must(co_await last.read(some));
    EXPECT_EQ(end, 0U);
    ends[1] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  });
  for (const int each : ends) ::close(each);
}

TEST_F(fs_fifo, other_file_types_are_opened_in_blocking_mode) {
  folder.write("f", "content");
  const int listens = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, at("s").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listens, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  run_it([&]() -> task<void> {
    const file plain = must(co_await file::open(at("f")));
    EXPECT_TRUE(is_blocking(plain));
    const file appends = must(co_await open_options().append().open(at("f")));
    EXPECT_EQ(::fcntl(appends.native_handle(), F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK),
              O_WRONLY | O_APPEND);
    const file made = must(co_await file::create(at("new")));
    EXPECT_TRUE(is_blocking(made));
    const file listed = must(co_await file::open(folder.root()));
    EXPECT_TRUE(is_blocking(listed));
    const file device = must(co_await file::open("/dev/null"));
    EXPECT_TRUE(is_blocking(device));
    co_await fails(file::open(at("s")), ENXIO);
    co_await fails(open_options().write().open(at("s")), ENXIO);
  });
  ::close(listens);
}

}  // namespace
}  // namespace rota::fs::fifo_test
