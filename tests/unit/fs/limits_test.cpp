// Limits of the system while files are written and opened: the error is returned, and nothing leaks.
#include "unit/fs/fs_support.hpp"

#include <rota/fs/directory.hpp>
#include <rota/fs/temporary.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/time.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

/// Defined in builds with UndefinedBehaviorSanitizer, which probes memory by a pipe and fails without one.
extern "C" [[gnu::weak]] void
__ubsan_handle_dynamic_type_cache_miss();  // NOLINT(bugprone-reserved-identifier)

namespace rota::fs::limits_test {
namespace {

using test::as_bytes_of;
using test::content_of;
using test::fails;
using test::gives;
using test::must;
using test::numbered;

/// Sets a limit of the process during its lifetime.
class limited {
 public:
  limited(__rlimit_resource what, rlim_t soft) : what_(what) {
    EXPECT_EQ(::getrlimit(what, &before_), 0);
    rlimit now = before_;
    now.rlim_cur = soft;
    EXPECT_EQ(::setrlimit(what, &now), 0);
  }
  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;
  ~limited() { ::setrlimit(what_, &before_); }

 private:
  __rlimit_resource what_;
  rlimit before_{};
};

class fs_limits : public test::fs_test {
 protected:
  void SetUp() override { before_ = std::signal(SIGXFSZ, SIG_IGN); }
  void TearDown() override { std::signal(SIGXFSZ, before_); }

 private:
  void (*before_)(int) = nullptr;
};

/// The system accepts a part and then refuses: the part is written, and the error is returned.
TEST_F(fs_limits, write_stops_at_the_size_limit_and_then_fails) {
  const std::string bytes = numbered(200'000);
  constexpr std::size_t room = 100'001;
  run_it([&]() -> task<void> {
    file f = must(co_await file::create_new(at("f")));
    const limited size(RLIMIT_FSIZE, room);
    co_await gives(f.write(as_bytes_of(bytes)), room);
    EXPECT_EQ(f.position(), room);
    co_await fails(f.write(as_bytes_of(bytes)), EFBIG);
    EXPECT_EQ(f.position(), room);
    co_await fails(f.write_all_at(as_bytes_of(bytes), 0), EFBIG);
    co_await fails(f.set_len(room + 1), EFBIG);
    co_await fails(f.preallocate(0, room + 1), EFBIG);
    co_await fails(fs::write(at("g"), as_bytes_of(bytes)), EFBIG);
  });
  EXPECT_TRUE(content_of(at("f")) == bytes.substr(0, room));
  EXPECT_TRUE(content_of(at("g")) == bytes.substr(0, room));
}

TEST_F(fs_limits, failed_atomic_replacement_without_space_keeps_the_old_file) {
  folder.write("f", "before");
  run_it([&]() -> task<void> {
    const limited size(RLIMIT_FSIZE, 1000);
    co_await fails(write_atomically(at("f"), std::string(1001, 'x')), EFBIG);
  });
  EXPECT_EQ(content_of(at("f")), "before");
  EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U);
}

TEST_F(fs_limits, opens_fail_without_descriptors_and_succeed_later) {
  if (&__ubsan_handle_dynamic_type_cache_miss != nullptr) GTEST_SKIP() << "this sanitizer needs descriptors";
  folder.write("d/f", "x");
  run_it([&]() -> task<void> {
    const file known = must(co_await file::open(at("d/f")));
    {
      const limited files(RLIMIT_NOFILE, 3);
      co_await fails(file::open(at("d/f")), EMFILE);
      co_await fails(fs::read(at("d/f")), EMFILE);
      co_await fails(fs::write(at("g"), "x"), EMFILE);
      co_await fails(write_atomically(at("d/f"), "y"), EMFILE);
      co_await fails(fs::copy(at("d/f"), at("h")), EMFILE);
      co_await fails(read_dir(at("d")), EMFILE);
      co_await fails(remove_dir_all(at("d")), EMFILE);
      co_await fails(temp_file(folder.root()), EMFILE);
      walk through(at("d"));
      const auto root = co_await through.next();
      EXPECT_EQ(root->error.value(), EMFILE);
      const auto end = co_await through.next();
      EXPECT_FALSE(end.has_value());
      std::array<std::byte, 1> one;
      must(co_await known.read_exact_at(one, 0));
    }
    must(co_await file::open(at("d/f")));
  });
  EXPECT_EQ(content_of(at("d/f")), "x");
  EXPECT_EQ(test::entries_of(folder.root().c_str()), 1U);
}

// The wait for a FIFO's writer needs two descriptors for each check.
TEST_F(fs_limits, a_moment_without_descriptors_does_not_end_the_wait_for_a_fifo) {
  if (&__ubsan_handle_dynamic_type_cache_miss != nullptr) GTEST_SKIP() << "this sanitizer needs descriptors";
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  run_it([&]() -> task<void> {
    const std::size_t before = test::open_files();
    auto reading = spawn([](std::string path) { return file::open(std::move(path)); }, at("fifo"));
    while (test::open_files() < before + 2) co_await sleep_for(std::chrono::milliseconds(1));
    {
      const limited files(RLIMIT_NOFILE, 3);
      co_await sleep_for(std::chrono::milliseconds(30));
    }
    const bool ended = reading.is_done();
    EXPECT_FALSE(ended);
    if (ended) co_return;  // the open for writing would wait for ever
    const file writer = must(co_await open_options().write().open(at("fifo")));
    const file reader = must(co_await reading);
    EXPECT_NE(reader.native_handle(), writer.native_handle());
  });
}

}  // namespace
}  // namespace rota::fs::limits_test
