// The whole program in a runtime: its output does not depend on the schedule, and it ends when asked to.
#include "tree_hash/pipeline.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include <rota/finally.hpp>
#include <rota/runtime.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include "scratch_tree.hpp"
#include "tree_hash/output.hpp"
#include "tree_hash/run.hpp"

namespace tree_hash::testing::pipeline_test {
namespace {

namespace fs = std::filesystem;

/// The whole state of the program, with files for its streams.
struct program {
  explicit program(const std::string& root, unsigned threads = 2, int out_fd = -1)
      : out(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)),
        errors(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)),
        tree(root, 16, done),
        lines(root, directories::all),
        streams(out_fd >= 0 ? out_fd : out.get(), errors.get(), bar::never),
        work(tree, lines, streams, done, threads) {}

  void run(unsigned workers = 1) {
    rota::runtime runtime(rota::runtime_options{.workers = workers});
    runtime.block_on(work.run());
  }
  static std::string text_of(const unique_fd& file) {
    std::string text(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }
  [[nodiscard]] std::string output() const { return text_of(out); }
  [[nodiscard]] std::string complaints() const { return text_of(errors); }

  unique_fd out;
  unique_fd errors;
  counts done;
  walk tree;
  report lines;
  screen streams;
  pipeline work;
};

std::string output_of(const scratch_tree& tree) {
  program p(tree.root());
  p.run();
  return p.output();
}

void fill(const scratch_tree& tree) {
  for (int i = 0; i < 300; ++i) {
    const std::string name =
        "d" + std::to_string(i % 7) + "/e" + std::to_string(i % 3) + "/f" + std::to_string(i);
    tree.write(name, std::string(static_cast<std::size_t>(i * i), 'x'));
  }
  tree.write("large", std::string(3'000'000, 'y'));
}

TEST(a_tree, has_the_same_output_for_any_number_of_threads) {
  const scratch_tree tree;
  fill(tree);
  const std::string expected = output_of(tree);
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 301 + 21 + 7 + 1);
  for (const unsigned threads : {1U, 3U, 16U}) {
    for (const unsigned workers : {1U, 4U}) {
      program p(tree.root(), threads);
      p.run(workers);
      EXPECT_EQ(p.output(), expected);
      EXPECT_EQ(p.complaints(), "");
      const tally end = p.done.now();
      EXPECT_EQ(end.files_done, 301U);
      EXPECT_EQ(end, (tally{end.files_found, end.files_done, end.bytes_found, end.bytes_done}));
    }
  }
}

TEST(a_tree, changes_its_digest_with_a_name_a_byte_or_a_kind) {
  const scratch_tree tree;
  const auto root_digest = [&] {
    const std::string text = output_of(tree);
    return text.substr(text.rfind('#'));
  };
  tree.write("a/b", "1");
  const std::string first = root_digest();
  tree.write("a/b", "2");
  const std::string second = root_digest();
  fs::rename(tree.at("a/b"), tree.at("a/c"));
  const std::string third = root_digest();
  fs::remove(tree.at("a/c"));
  fs::create_symlink("2", tree.at("a/c"));
  const std::string fourth = root_digest();
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_NE(third, fourth);
  fs::remove(tree.at("a/c"));
  tree.write("a/b", "1");
  EXPECT_EQ(root_digest(), first);
}

TEST(a_tree, with_an_unreadable_file_still_hashes_the_others) {
  const scratch_tree tree;
  tree.write("a", "1");
  tree.write("b", "2");
  fs::permissions(tree.at("a"), fs::perms::none);
  const unprivileged user;
  program p(tree.root());
  p.run();
  EXPECT_EQ(p.lines.failures(), 1U);
  EXPECT_EQ(p.output(),
            "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35  " + tree.at("b") + "\n");
  EXPECT_NE(p.complaints().find(tree.at("a") + ": Permission denied\n"), std::string::npos);
}

TEST(a_tree, fails_when_its_output_cannot_be_written) {
  const scratch_tree tree;
  fill(tree);
  const unique_fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  program p(tree.root(), 2, full.get());
  try {
    p.run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_space_on_device);
  }
}

rota::task<void> until_small_files_are_read(const counts& done, std::uint64_t files) {
  for (;;) {
    const tally now = done.now();
    // The endless file is being read, too.
    if (now.files_done == files && now.bytes_done > files) co_return;
    co_await rota::yield();
  }
}

/// Returns 1 if the work was cancelled.
rota::task<std::size_t> cancel_when_read(program& p, std::uint64_t files) {
  const auto winner = co_await rota::when_any(p.work.run(), until_small_files_are_read(p.done, files));
  co_return winner.index();
}

TEST(a_cancelled_tree, ends_with_all_its_jobs_and_counts_what_they_did) {
  const scratch_tree tree;
  for (const char* name : {"a", "b", "c"}) tree.write(name, "1");
  tree.write_endless("z");
  {
    program p(tree.root());
    {
      rota::runtime runtime(rota::runtime_options{.workers = 2});
      EXPECT_EQ(runtime.block_on(cancel_when_read(p, 3)), 1U);
      EXPECT_EQ(runtime.stats().alive_tasks, 0U);
    }
    const tally end = p.done.now();
    EXPECT_EQ(end.files_done, 3U);
    EXPECT_EQ(end.files_found, 4U);
    EXPECT_EQ(end.bytes_found, 3 + scratch_tree::endless);
    EXPECT_GT(end.bytes_done, 3U);
    EXPECT_LT(end.bytes_done, end.bytes_found);
  }
  EXPECT_EQ(open_below(tree.root()), 0U);
}

auto handler_of(int number) {
  struct sigaction now{};
  EXPECT_EQ(::sigaction(number, nullptr, &now), 0);
  return now.sa_handler;
}

/// Raises the signal on this thread, since workers block all signals.
void raise_when_caught(int number) {
  while (handler_of(number) == SIG_DFL) std::this_thread::yield();
  ASSERT_EQ(std::raise(number), 0);
}

struct stubborn_work {
  std::atomic<bool> is_asked{false};
  std::atomic<bool> may_end{false};

  /// Does not end when asked to, like work that waits for a disk.
  rota::task<void> run() {
    const auto cleanup = [this] { return hang(); };
    co_await rota::finally(for_ever(), cleanup, std::chrono::hours::max());
  }
  static rota::task<void> for_ever() { co_await rota::sleep_for(std::chrono::hours::max()); }
  rota::task<void> hang() {
    is_asked = true;
    while (!may_end) co_await rota::yield();
  }
};

TEST(a_signal, restores_the_default_handler_while_the_cancelled_work_still_runs) {
  screen nowhere(-1, -1, bar::never);
  const counts none;
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, SIG_DFL);
    stubborn_work work;
    rota::runtime runtime(rota::runtime_options{.workers = 2});
    auto end = runtime.spawn(run_until_signal(work.run(), nowhere, none));
    raise_when_caught(number);
    while (!work.is_asked) std::this_thread::yield();
    EXPECT_EQ(handler_of(number), SIG_DFL);
    work.may_end = true;
    EXPECT_EQ(end.join(), number);
  }
}

TEST(a_signal, cancels_the_work) {
  const scratch_tree tree;
  tree.write_endless("z");
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, SIG_DFL);
    program p(tree.root());
    rota::runtime runtime(rota::runtime_options{.workers = 2});
    auto end = runtime.spawn(run_until_signal(p.work.run(), p.streams, p.done));
    runtime.block_on(until_small_files_are_read(p.done, 0));
    raise_when_caught(number);
    EXPECT_EQ(end.join(), number);
    EXPECT_EQ(handler_of(number), SIG_DFL);
  }
}

TEST(a_signal, that_does_not_come_is_not_waited_for) {
  const scratch_tree tree;
  tree.write("a", "1");
  program p(tree.root());
  rota::runtime runtime(rota::runtime_options{.workers = 2});
  EXPECT_EQ(runtime.block_on(run_until_signal(p.work.run(), p.streams, p.done)), std::nullopt);
}

TEST(a_stalled_output, does_not_delay_a_cancellation) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const unique_fd nobody_reads(ends[0]);
  const unique_fd in(ends[1]);
  const scratch_tree tree;
  for (int i = 0; i < 2'000; ++i) tree.write("f" + std::to_string(i), "1");
  program p(tree.root(), 2, in.get());
  rota::runtime runtime(rota::runtime_options{.workers = 2});
  fs::resize_file(tree.at("f999"), scratch_tree::endless);
  EXPECT_EQ(runtime.block_on(cancel_when_read(p, 1'999)), 1U);
}

/// A terminal, and the master end that shows it.
struct terminal_pair {
  terminal_pair() {
    EXPECT_EQ(::grantpt(shown.get()), 0);
    EXPECT_EQ(::unlockpt(shown.get()), 0);
    std::array<char, 64> name{};
    EXPECT_EQ(::ptsname_r(shown.get(), name.data(), name.size()), 0);
    in = unique_fd(::open(name.data(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    EXPECT_EQ(::isatty(in.get()), 1);
  }
  unique_fd shown{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  unique_fd in;
};

TEST(a_stalled_terminal, does_not_delay_a_cancellation) {
  const terminal_pair terminal;
  const scratch_tree tree;
  for (int i = 0; i < 2'000; ++i) tree.write("f" + std::to_string(i), "1");
  fs::resize_file(tree.at("f999"), scratch_tree::endless);
  program p(tree.root(), 2, terminal.in.get());
  rota::runtime runtime(rota::runtime_options{.workers = 2});
  EXPECT_EQ(runtime.block_on(cancel_when_read(p, 1'999)), 1U);
}

TEST(a_terminal, is_reopened_without_changing_the_flags_of_the_original) {
  const terminal_pair terminal;
  const unique_fd again = open_terminal_again(terminal.in.get());
  ASSERT_TRUE(again.is_open());
  EXPECT_NE(::fcntl(again.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(terminal.in.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_FALSE(open_terminal_again(terminal.shown.get()).is_open());
  EXPECT_FALSE(open_terminal_again(-1).is_open());
}

TEST(an_output, whose_reader_has_gone_is_an_error) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const unique_fd in(ends[1]);
  ::close(ends[0]);
  EXPECT_EQ(write_all(in.get(), "text\n"), std::errc::broken_pipe);
  std::signal(SIGPIPE, before);
}

TEST(an_output, takes_lines_of_any_length) {
  const unique_fd file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const std::string text = std::string(10'000, 'a') + "\n" + std::string(5'000, 'b') + "\nshort\n";
  EXPECT_FALSE(write_all(file.get(), text));
  EXPECT_EQ(program::text_of(file), text);
}

}  // namespace
}  // namespace tree_hash::testing::pipeline_test
