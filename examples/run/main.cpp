// Runs commands concurrently and prefixes each line of output with the number of its command: run 'make -C a'
// 'make -C b'. Ctrl-C ends all commands and the processes that they have started. The exit code is the worst
// of theirs. Without arguments it runs a demonstration.
#include <rota/graceful_shutdown.hpp>
#include <rota/process.hpp>
#include <rota/rota.hpp>
#include <rota/scope.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace process = rota::process;

/// Prints whole lines, each with the number of its command in front.
class prefixer {
 public:
  explicit prefixer(std::size_t number) : prefix_("[" + std::to_string(number) + "] ") {}

  void take(std::string_view text) {
    rest_ += text;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      say(std::string_view(rest_).substr(0, end));
      rest_.erase(0, end + 1);
    }
  }
  void finish() {
    if (!rest_.empty()) say(rest_);
    rest_.clear();
  }
  void say(std::string_view line) const {
    const std::string whole = prefix_ + std::string(line) + "\n";
    std::fwrite(whole.data(), 1, whole.size(), stdout);
    std::fflush(stdout);
  }

 private:
  std::string prefix_;
  std::string rest_;
};

/// Prints the output of a command until its last writer has closed, and returns the exit status.
rota::task<process::result<process::exit_status>> follow(process::child& running, prefixer& to) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const auto got = co_await running.out().read(buffer);
    if (!got.has_value() || *got == 0) break;
    to.take({reinterpret_cast<const char*>(buffer.data()), *got});
  }
  to.finish();
  co_return co_await running.wait();
}

/// Each command has its own process group. So all its processes end with it, and only this program forwards
/// Ctrl-C to it.
rota::task<void> run_one(std::string line, std::size_t number, int& worst) {
  prefixer out(number);
  process::command shell("sh");
  shell.arg("-c")
      .arg(line)
      .in(process::stdio::null())
      .out(process::stdio::pipe())
      .merge_err_into_out()
      .process_group();
  auto started = co_await shell.spawn();
  if (!started.has_value()) {
    out.say(started.error().message());
    worst = 127;
    co_return;
  }
  process::child running = std::move(*started);
  auto body = follow(running, out);
  // However this task ends: SIGTERM first, and SIGKILL after a second.
  const auto last = [&running]() -> rota::task<void> {
    const auto known = running.try_wait();
    if (!known.has_value() || known->has_value()) co_return;
    static_cast<void>(running.signal_group(SIGTERM));
    const auto polite = co_await rota::timeout(1s, running.wait());
    if (!polite.has_value()) static_cast<void>(running.signal_group(SIGKILL));
  };
  auto whole = rota::finally(std::move(body), last, 2s);
  const auto end = co_await std::move(whole);
  if (!end.has_value()) co_return;
  if (!end->is_success()) out.say(end->to_string());
  worst = std::max(worst, end->code().value_or(128 + end->signal().value_or(0)));
}

rota::task<void> run_all(std::vector<std::string> lines, std::vector<int>& codes) {
  co_await rota::with_scope([&](rota::scope& s) -> rota::task<void> {
    for (std::size_t i = 0; i < lines.size(); ++i) s.fork(run_one(lines[i], i + 1, codes[i]));
    co_return;
  });
}

rota::task<int> until_a_signal(rota::graceful_shutdown& end) {
  co_await end.wait();
  co_return 128 + end.signal();
}

rota::task<int> everything(std::vector<std::string> lines) {
  auto end = rota::graceful_shutdown::open();
  if (!end.has_value()) co_return 1;
  std::vector<int> codes(lines.size(), 0);
  auto work = [](std::vector<std::string> all, std::vector<int>& to) -> rota::task<int> {
    co_await run_all(std::move(all), to);
    co_return *std::max_element(to.begin(), to.end());
  };
  auto all = work(std::move(lines), codes);
  auto stopped = until_a_signal(*end);
  const auto first = co_await rota::when_any(std::move(all), std::move(stopped));
  co_return first.index() == 0 ? first.get<0>() : first.get<1>();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> lines(argv + 1, argv + argc);
  if (lines.empty()) lines = {"echo one; echo two", "echo three >&2", "printf 'no end of line'"};
  return rota::run(everything(std::move(lines)));
}
