// QUESTION  How long does an idle runtime take to run a task that a foreign thread gives it?
// WHY       A request after a pause waits that long. None of it is computing: a thread has to wake.
// BASELINE  futex: a thread that sleeps on a word and is woken by a direct system call, in the same program,
//           alternating with the runtime. No sleeping thread can react faster. Tokio and Asio run in their
//           own processes.
// READ IT   ns from the call to the first line of the task. Half of the samples (p50) and 99 of 100 (p99) are
//           faster. One millisecond passes between two samples: after longer pauses a virtual processor
//           sleeps more deeply, and all figures grow.
#include "base/futex.hpp"
#include "support/event.hpp"
#include "support/subject.hpp"

#include <rota/spawn.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using bench::job;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
namespace base = rota::base;

/// The time at which the other side ran; 0 until it has run.
class stamp {
 public:
  static std::int64_t now() noexcept { return clock::now().time_since_epoch().count(); }
  void set() noexcept { at_.store(now(), std::memory_order_release); }
  /// Waits without disturbing the runtime, so that it is idle at the next sample.
  std::int64_t take() noexcept {
    for (;;) {
      std::this_thread::sleep_for(1ms);
      if (const std::int64_t at = at_.exchange(0, std::memory_order_acquire); at != 0) return at;
    }
  }

 private:
  std::atomic<std::int64_t> at_{0};
};

/// A thread that is woken by a futex.
class sleeper {
 public:
  explicit sleeper(stamp& ran) : ran_(ran), thread_([this] { sleep_and_stamp(); }) {}
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;
  ~sleeper() {
    stop_.store(true, std::memory_order_relaxed);
    wake();
    thread_.join();
  }
  void wake() noexcept {
    word_.fetch_add(1, base::order::release);
    base::futex_wake(&word_, 1);
  }

 private:
  void sleep_and_stamp() noexcept {
    for (std::uint32_t seen = 0;;) {
      while (word_.load(base::order::acquire) == seen) {
        static_cast<void>(base::futex_wait(word_, seen, base::never));
      }
      ++seen;
      if (stop_.load(std::memory_order_relaxed)) return;
      ran_.set();
    }
  }

  stamp& ran_;
  std::atomic<bool> stop_{false};
  base::atomic<std::uint32_t> word_{0};
  std::thread thread_;
};

void report_quantiles(const job& what, std::vector<double> samples, const char* subject) {
  std::sort(samples.begin(), samples.end());
  const std::string name = what.test_case;
  bench::report_value(what, (name + ".p50").c_str(), "ns", samples[samples.size() / 2], subject);
  bench::report_value(what, (name + ".p99").c_str(), "ns", samples[samples.size() * 99 / 100], subject);
}

/// Takes samples. `act` makes the runtime set `ran`; runtime and futex alternate.
template <class Act>
void sample(const job& what, stamp& ran, Act act) {
  std::vector<double> of_rota;
  std::vector<double> of_futex;
  sleeper other(ran);
  std::this_thread::sleep_for(5ms);
  for (std::uint64_t i = 0; i < what.operations; ++i) {
    const std::int64_t begin = stamp::now();
    act();
    of_rota.push_back(static_cast<double>(ran.take() - begin));
    const std::int64_t begin_of_futex = stamp::now();
    other.wake();
    of_futex.push_back(static_cast<double>(ran.take() - begin_of_futex));
  }
  report_quantiles(what, std::move(of_rota), nullptr);
  report_quantiles(what, std::move(of_futex), "futex");
}

rota::task<void> set(stamp& ran) {
  ran.set();
  co_return;
}

void spawn_idle(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  stamp ran;
  sample(what, ran, [&] {
    rota::join_handle<void> task = runtime.spawn(set(ran));
    task.detach();
  });
}

rota::task<void> set_at_each(bench::event& event, stamp& ran) {
  for (;;) {
    co_await event.wait();
    ran.set();
  }
}

void wake_idle(const job& what) {
  stamp ran;
  bench::event event;
  rota::runtime runtime(bench::options_of(what));
  rota::join_handle<void> waiting = runtime.spawn(set_at_each(event, ran));
  waiting.detach();
  sample(what, ran, [&] { event.notify(); });
}

constexpr bench::one_case cases[] = {
    {"spawn_idle", "ns", 1000, 300, spawn_idle},
    {"wake_idle", "ns", 1000, 300, wake_idle},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
