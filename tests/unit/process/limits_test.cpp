// Starting a command when descriptors run out.
#include "support/sanitized.hpp"
#include "unit/process/process_support.hpp"

#include <fcntl.h>
#include <sys/resource.h>

namespace rota::test::limits_test {
namespace {

std::atomic<int> ends_heard{0};
void count_end(int) { ++ends_heard; }

/// Limits this process to `more` further descriptors.
class limited_files {
 public:
  explicit limited_files(unsigned more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    // Counts the free numbers below the limit.
    rlimit now = before_;
    now.rlim_cur = 0;
    for (unsigned free = 0; free < more || ::fcntl(static_cast<int>(now.rlim_cur), F_GETFD) != -1;
         ++now.rlim_cur) {
      if (::fcntl(static_cast<int>(now.rlim_cur), F_GETFD) == -1) ++free;
    }
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  limited_files(const limited_files&) = delete;
  limited_files& operator=(const limited_files&) = delete;
  ~limited_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class limits : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &before_), 0);
    if (needs_descriptors_itself) GTEST_SKIP() << "the sanitizer needs what is short here";
    ends_heard = 0;
    struct sigaction counted{};
    counted.sa_handler = count_end;
    counted.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGCHLD, &counted, &before_), 0);
  }
  void TearDown() override { ::sigaction(SIGCHLD, &before_, nullptr); }
  struct sigaction before_{};
};

/// The test counts each process that has begun by its end.
TEST_F(limits, no_process_is_started_without_a_free_descriptor) {
  runtime rt(with_workers(1));
  const auto try_it = [&rt] { return rt.block_on(command("true").run()); };
  EXPECT_TRUE(demand(try_it()).is_success());
  const int before = ends_heard;
  {
    const limited_files none(0);
    const auto refused = try_it();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), std::errc::too_many_files_open);
  }
  EXPECT_EQ(ends_heard, before) << "one had begun";
  {
    const limited_files one(1);
    EXPECT_TRUE(demand(try_it()).is_success()) << "it needs no more than one";
  }
}

/// EMFILE at every open, also between the pipes.
TEST_F(limits, output_that_runs_out_of_descriptors_leaks_nothing) {
  runtime rt(with_workers(1));
  const auto try_it = [&rt] { return rt.block_on(command("cat").output()); };
  EXPECT_TRUE(try_it().has_value());
  const std::size_t files = open_files();
  bool was_enough = false;
  for (unsigned more = 0; !was_enough; ++more) {
    {
      const limited_files some(more);
      const auto got = try_it();
      was_enough = got.has_value();
      if (!was_enough) {
        EXPECT_EQ(got.error(), std::errc::too_many_files_open) << more;
      }
    }
    EXPECT_EQ(open_files(), files) << more;
    EXPECT_FALSE(has_children()) << more;
  }
}

/// Another thread opens and closes the last free descriptors all the time.
TEST_F(limits, run_that_loses_a_race_for_the_last_descriptor_leaks_nothing) {
  runtime rt(with_workers(1));
  const auto try_it = [&rt] { return rt.block_on(command("true").run()); };
  EXPECT_TRUE(demand(try_it()).is_success());
  const std::size_t files = open_files();
  {
    const limited_files two(2);
    std::atomic<bool> over = false;
    std::thread greedy([&over] {
      while (!over) {
        const int one = ::dup(0);
        const int two_of_them = ::dup(0);
        if (one != -1) ::close(one);
        if (two_of_them != -1) ::close(two_of_them);
      }
    });
    for (int i = 0; i < 200; ++i) {
      const auto got = try_it();
      EXPECT_TRUE(got.has_value() || got.error() == std::errc::too_many_files_open);
    }
    over = true;
    greedy.join();
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace rota::test::limits_test
