// QUESTION  What does a timer cost: armed and cancelled, around each wait, and in a complete sleep?
// WHY       Nearly every timeout is cancelled, so arm + cancel is the common case. Sleeps are the other.
// BASELINE  Tokio, Go and Asio. arm_cancel_shard: the same without a task, a clock and a waker.
//           bench/micro/timer_bench.cpp has the parts, with other timers pending.
// READ IT   ns per operation. ping_pong_timeout arms two timers, so its excess over ping_pong is twice the
//           cost of a timeout. The sleeps are compared by processor time: 100k tasks sleep 50 to 1000 ms
//           each.
#include "support/event.hpp"
#include "support/subject.hpp"
#include "time/shard.hpp"

#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <vector>

namespace {

using bench::job;
using namespace std::chrono_literals;
using rota::timing::shard;

/// Does what a sleep does that is dropped after its first poll.
class armed_once final : public rota::leaf {
 public:
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  rota::cancel_progress try_cancel(rota::cancel_reason /*reason*/) noexcept override {
    return rota::cancel_progress::ended;
  }
  void await_resume() noexcept {}

 protected:
  bool start() override {
    timer_.arm(task(), rota::timing::now_for(task()) + 1s, make_waker());
    timer_.disarm();
    return true;
  }

 private:
  rota::timing::task_timer timer_;
};

/// One operation: a task's timer, armed and cancelled.
rota::task<void> arm_cancel(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    armed_once timer;
    co_await timer;
  }
}

/// One operation: a timer of a shard, with a waker that does nothing.
void arm_cancel_shard(const job& what) {
  const auto now = rota::base::now();
  shard timers(now);
  rota::timing::timer_node node;
  const auto repeat = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      static_cast<void>(timers.arm(node, now + 1s, rota::noop_waker()));
      static_cast<void>(shard::cancel(node));
    }
  };
  repeat(what.warm_up);
  const bench::stretch measured;
  repeat(what.operations);
  bench::report(what, measured.end());
}

rota::task<void> answer(bench::event& ping, bench::event& pong, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto in_time = co_await rota::timeout(10s, ping.wait());
    if (!in_time.has_value()) bench::fail("a notification took ten seconds");
    pong.notify();
  }
}

/// One operation: a round trip between two tasks, with a timeout around each wait.
rota::task<void> ping_pong_timeout(std::uint64_t n) {
  bench::event ping;
  bench::event pong;
  rota::join_handle<void> other = rota::spawn(answer(ping, pong, n));
  for (std::uint64_t i = 0; i < n; ++i) {
    ping.notify();
    const auto in_time = co_await rota::timeout(10s, pong.wait());
    if (!in_time.has_value()) bench::fail("a notification took ten seconds");
  }
  co_await other;
}

rota::task<void> sleep(std::chrono::milliseconds span) { co_await rota::sleep_for(span); }

rota::task<void> sleep_all(std::uint64_t n) {
  std::vector<rota::join_handle<void>> all;
  all.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::chrono::milliseconds span(50 + i * 7919 % 950);
    all.push_back(rota::spawn(sleep(span)));
  }
  for (auto& each : all) co_await each;
}

/// One operation: a task that sleeps once, with its spawn and the wait for it.
void sleeps(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  const bench::stretch measured;
  auto root = runtime.spawn(sleep_all(what.operations));
  root.join();
  bench::report_cpu(what, measured.end());
}

constexpr bench::one_case cases[] = {
    {"arm_cancel", "ns", 5'000'000, 1'000'000, bench::on_worker<arm_cancel>},
    {"arm_cancel_shard", "ns", 5'000'000, 1'000'000, arm_cancel_shard},
    {"ping_pong_timeout", "ns", 500'000, 100'000, bench::on_worker<ping_pong_timeout>},
    {"sleeps_100k", "cpu ns", 100'000, 100'000, sleeps},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
