// Commands: how they end, and which processes they leave behind.
#include "build/command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "build/process_groups.hpp"
#include "support/scratch_folder.hpp"

namespace command_test {
namespace {

using namespace build;
using namespace std::chrono_literals;

constexpr auto long_grace = std::chrono::milliseconds(1h);

command_end run(const std::string& command) {
  process_groups groups;
  return run_command(command, groups, {}, long_grace);
}

/// A named pipe: opening one end waits for the other end.
class meeting {
 public:
  explicit meeting(const rota::test::scratch_folder& folder, const char* name) : path_(folder.at(name)) {
    if (::system(("mkfifo " + path_).c_str()) != 0) throw std::runtime_error("mkfifo");
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Reads one line; waits for its writer.
  [[nodiscard]] std::string read() const {
    std::ifstream in(path_);
    std::string line;
    std::getline(in, line);
    return line;
  }

 private:
  std::string path_;
};

TEST(build_command, gives_both_outputs_as_they_came) {
  const command_end end = run("echo one; echo two >&2; printf three");
  EXPECT_TRUE(end.is_good);
  EXPECT_EQ(end.output, "one\ntwo\nthree");
  EXPECT_EQ(end.how, "exit code 0");
}

TEST(build_command, returns_output_that_exceeds_a_pipe_buffer) {
  const command_end end = run("head -c 1000000 /dev/zero | tr '\\0' x");
  EXPECT_EQ(end.output, std::string(1'000'000, 'x'));
}

TEST(build_command, has_an_empty_standard_input) { EXPECT_EQ(run("cat; echo end").output, "end\n"); }

TEST(build_command, says_how_it_ended) {
  EXPECT_EQ(run("exit 3").how, "exit code 3");
  EXPECT_FALSE(run("exit 3").is_good);
  EXPECT_EQ(run("no_such_command_at_all").how, "exit code 127");
  const command_end killed = run("kill -9 $$");
  EXPECT_FALSE(killed.is_good);
  EXPECT_FALSE(killed.was_stopped);
  EXPECT_EQ(killed.how, "killed by signal 9 (Killed)");
}

TEST(build_command, says_that_it_did_not_start) {
  const command_end end = run(std::string(10'000'000, 'x'));
  EXPECT_FALSE(end.is_good);
  EXPECT_TRUE(end.how.starts_with("cannot start: ")) << end.how;
}

TEST(build_command, runs_with_no_signal_blocked_or_ignored) {
  EXPECT_EQ(run("grep ^SigBlk /proc/self/status").output, "SigBlk:\t0000000000000000\n");
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(run("kill -PIPE $$").how, "killed by signal 13 (Broken pipe)");
  std::signal(SIGPIPE, before);
}

TEST(build_command, waits_for_a_background_process_that_holds_its_output) {
  const rota::test::scratch_folder folder;
  const meeting m(folder, "m");
  const command_end end = run("(read line <" + m.path() + "; echo late) & echo early; echo go >" + m.path());
  EXPECT_TRUE(end.is_good);
  EXPECT_EQ(end.output, "early\nlate\n");
}

TEST(build_command, a_stop_ends_it_and_all_of_its_group) {
  const rota::test::scratch_folder folder;
  const meeting m(folder, "m");
  process_groups groups;
  std::stop_source stop;
  command_end end;
  // The child holds no output, so it can be found by its process group only.
  const std::string command = "sleep 1000 >/dev/null 2>&1 & echo $$ $! >" + m.path() + "; echo said; wait";
  std::thread runner([&] { end = run_command(command, groups, stop.get_token(), long_grace); });
  const std::string line = m.read();
  stop.request_stop();
  runner.join();
  EXPECT_TRUE(end.was_stopped);
  EXPECT_FALSE(end.is_good);
  EXPECT_EQ(end.how, "killed by signal 15 (Terminated)");
  const auto leader = static_cast<pid_t>(std::stol(line));
  EXPECT_EQ(::waitpid(leader, nullptr, 0), -1) << "it has been reaped";
}

TEST(build_command, is_killed_after_the_grace_period_if_it_ignores_sigterm) {
  const rota::test::scratch_folder folder;
  const meeting m(folder, "m");
  process_groups groups;
  std::stop_source stop;
  command_end end;
  const std::string command = "trap '' TERM; echo $$ >" + m.path() + "; while :; do sleep 1000; done";
  std::thread runner([&] { end = run_command(command, groups, stop.get_token(), 20ms); });
  static_cast<void>(m.read());
  stop.request_stop();
  runner.join();
  EXPECT_TRUE(end.was_stopped);
  EXPECT_EQ(end.how, "killed by signal 9 (Killed)");
}

TEST(build_command, counts_as_stopped_if_it_exits_normally_on_sigterm) {
  const rota::test::scratch_folder folder;
  const meeting m(folder, "m");
  process_groups groups;
  std::stop_source stop;
  command_end end;
  const std::string command =
      "trap 'echo cleaned; exit 0' TERM; echo $$ >" + m.path() + "; while :; do sleep 0.01; done";
  std::thread runner([&] { end = run_command(command, groups, stop.get_token(), long_grace); });
  static_cast<void>(m.read());
  stop.request_stop();
  runner.join();
  EXPECT_TRUE(end.was_stopped);
  EXPECT_FALSE(end.is_good);
  EXPECT_EQ(end.how, "exit code 0");
  EXPECT_TRUE(end.output.ends_with("cleaned\n"));
}

TEST(build_command, is_stopped_when_the_stop_was_requested_before_it_began) {
  process_groups groups;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(run_command("sleep 1000", groups, stop.get_token(), long_grace).was_stopped);
}

/// Returns the state letter of /proc/PID/stat; 'T': stopped.
char state_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string word;
  in >> word >> word >> word;
  return word.empty() ? '?' : word[0];
}

TEST(build_command, pause_stops_running_commands_and_starts_no_new_ones) {
  const rota::test::scratch_folder folder;
  const meeting m(folder, "m");
  process_groups groups;
  command_end first;
  std::thread runner([&] {
    const std::string command = "echo $$ >" + m.path() + "; read line <" + m.path() + "; echo end";
    first = run_command(command, groups, {}, long_grace);
  });
  const auto leader = static_cast<pid_t>(std::stol(m.read()));
  groups.pause_all();
  while (state_of(leader) != 'T') std::this_thread::yield();
  std::atomic<bool> goes_on{false};
  std::thread other([&] {
    EXPECT_TRUE(run_command("true", groups, {}, long_grace).is_good);
    EXPECT_TRUE(goes_on);
  });
  goes_on = true;
  groups.resume_all();
  other.join();
  std::ofstream(m.path()) << "go\n";
  runner.join();
  EXPECT_TRUE(first.is_good);
  EXPECT_EQ(first.output, "end\n");
}

}  // namespace
}  // namespace command_test
