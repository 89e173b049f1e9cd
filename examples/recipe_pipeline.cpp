// Recipe: `a | b | c` without a shell. Returns the output of the last command and the exit status of each. If
// the task is cancelled or a command cannot be started, the running commands are killed.
#include <rota/process.hpp>
#include <rota/rota.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rota::io::result;
using rota::process::child;
using rota::process::command;
using rota::process::exit_status;
using rota::process::stdio;

/// Owns a descriptor and closes it at the end.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

struct ended {
  std::string out;
  std::vector<exit_status> each;
};

/// Connects the commands by kernel pipes: no byte goes through this process, except the output of the last
/// command. This process closes its own ends of the pipes. Otherwise a reader would never see the end of its
/// input, which comes when the last writer has closed, and a writer would never get EPIPE or SIGPIPE, which
/// come when the last reader has closed.
rota::task<result<ended>> pipeline(std::vector<command> parts) {
  std::vector<child> running;
  descriptor from;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      co_return std::unexpected(std::error_code(errno, std::system_category()));
    descriptor next_from(ends[0]);
    const descriptor to(ends[1]);
    parts[i].in(from.is_open() ? stdio::from(from.get()) : stdio::null()).out(stdio::from(to.get()));
    auto started = co_await parts[i].spawn();
    if (!started.has_value()) co_return std::unexpected(started.error());
    running.push_back(*std::move(started));
    from = std::move(next_from);
  }
  command& last = parts.back();
  last.in(from.is_open() ? stdio::from(from.get()) : stdio::null()).err(stdio::inherit());
  auto reading = last.output();
  auto got = co_await std::move(reading);
  from = descriptor();
  if (!got.has_value()) co_return std::unexpected(got.error());
  ended all{.out = std::move(got->out), .each = {}};
  for (child& one : running) {
    const auto status = co_await one.wait();
    if (!status.has_value()) co_return std::unexpected(status.error());
    all.each.push_back(*status);
  }
  all.each.push_back(got->status);
  co_return all;
}

command of(std::string program, std::vector<std::string> arguments) {
  command c(std::move(program));
  c.args(arguments);
  return c;
}

std::string text_of(const exit_status& how) {
  if (how.code().has_value()) return "code " + std::to_string(*how.code());
  return "signal " + std::to_string(how.signal().value_or(0));
}

rota::task<bool> run() {
  // The lines go through all three commands.
  const std::vector<command> counts{
      of("printf", {"%s\\n", "pear", "apple", "pear"}), of("sort", {"-u"}), of("wc", {"-l"})};
  const auto first = co_await pipeline(counts);
  if (!first.has_value()) co_return false;
  std::printf("%s", first->out.c_str());

  // `head` ends first, and SIGPIPE ends `yes`, as in a shell.
  const std::vector<command> cut{of("yes", {}), of("head", {"-n", "2"})};
  const auto second = co_await pipeline(cut);
  if (!second.has_value()) co_return false;
  std::printf("%syes: %s, head: %s\n",
              second->out.c_str(),
              text_of(second->each[0]).c_str(),
              text_of(second->each[1]).c_str());

  // The second command does not exist: pipeline() returns an error and kills the first command.
  const std::vector<command> wrong{of("sleep", {"3600"}), of("/no/such/program", {})};
  const auto third = co_await pipeline(wrong);

  // A timeout kills all commands.
  const std::vector<command> endless{of("sleep", {"3600"}), of("cat", {})};
  const auto fourth = co_await rota::timeout(20ms, pipeline(endless));

  co_return first->out.find('2') != std::string::npos && second->out == "y\ny\n" &&
      second->each[0].signal() == SIGPIPE && second->each[1].is_success() && !third.has_value() &&
      third.error() == std::errc::no_such_file_or_directory && !fourth.has_value();
}

}  // namespace

int main() { return rota::run(run()) ? 0 : 1; }
