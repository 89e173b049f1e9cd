// QUESTION  What does a timer cost: armed and cancelled, armed and fired, and how does that grow with the
//           number of pending timers?
// WHY       Nearly every timeout is cancelled, so arm + cancel is the common case; sleeps are the other.
// BASELINE  Two lock/unlock pairs of the same mutex: the lower limit of a shard. std::multimap and
//           std::priority_queue: the usual choice without a wheel (the queue cannot cancel, so it only takes
//           part in the firing).
// READ IT   ns per timer, median of the rounds. The goal for arm + cancel on one thread is 50 ns; investigate
//           at 2x. The growth from 10^3 to 10^6 pending timers should be that of cache misses, not of the
//           number.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <vector>

#include "base/mutex.hpp"
#include "support/bench.hpp"
#include "time/shard.hpp"

namespace {

using namespace std::chrono_literals;
using rota::base::time_point;
using rota::timing::shard;
using rota::timing::timer_node;
using rota::timing::timers;
using rota::timing::wheel;

constexpr time_point start{1'000'000s};
constexpr bench::threads max_threads = 4;

const rota::waker_vtable quiet{
    [](void*) noexcept {}, [](void*) noexcept {}, [](void* p) noexcept { return p; }, [](void*) noexcept {}};
rota::waker quiet_waker() { return {nullptr, &quiet}; }

void arm(shard& on, timer_node& node, time_point deadline) {
  bench::keep(on.arm(node, deadline, quiet_waker()));
}

/// Deadlines 1 ms to 5 s ahead, with a resolution of a nanosecond.
std::vector<time_point> random_deadlines(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<time_point> all(count);
  for (auto& one : all) one = start + 1ms + std::chrono::nanoseconds(random() % 4'999'000'000U);
  return all;
}

struct alignas(128) own_node {
  timer_node node;
};

/// Nodes are spread over memory in another order than their deadlines, as frames are.
struct pending {
  explicit pending(std::size_t count) : nodes(std::make_unique<timer_node[]>(count)), size(count) {}
  std::unique_ptr<timer_node[]> nodes;
  std::size_t size;
};

void arm_and_cancel(const char* name, bench::threads threads, std::size_t background) {
  timers all(max_threads, start);
  timers one(1, start);
  pending crowd(background);
  pending shared_crowd(background);
  const auto deadlines = random_deadlines(background);
  for (std::size_t i = 0; i < background; ++i) {
    arm(all.at(0), crowd.nodes[i], deadlines[i]);
    arm(one.at(0), shared_crowd.nodes[i], deadlines[i]);
  }
  std::array<own_node, max_threads> own;
  std::array<own_node, max_threads> shared;
  std::array<rota::base::mutex, max_threads * 32> mutexes;
  std::array<std::multimap<time_point, void*>, max_threads * 2> maps;
  for (const auto at : deadlines) maps[0].emplace(at, nullptr);
  std::array<std::mutex, max_threads * 4> std_mutexes;

  bench::compare({"micro.timer", name, threads},
                 200'000,
                 bench::subject{"two_lock_pairs",
                                [&](unsigned t) {
                                  for (int i = 0; i < 2; ++i)
                                    const rota::base::lock_guard held(mutexes[t * 32]);
                                }},
                 bench::subject{"rota",
                                [&](unsigned t) {
                                  arm(all.at(t), own[t].node, start + 1s);
                                  bench::keep(shard::cancel(own[t].node));
                                }},
                 bench::subject{"rota_one_shard",
                                [&](unsigned t) {
                                  arm(one.at(0), shared[t].node, start + 1s);
                                  bench::keep(shard::cancel(shared[t].node));
                                }},
                 bench::subject{"multimap", [&](unsigned t) {
                                  std::multimap<time_point, void*>::iterator at;
                                  {
                                    const std::lock_guard held(std_mutexes[t * 4]);
                                    at = maps[t * 2].emplace(start + 1s, nullptr);
                                  }
                                  const std::lock_guard held(std_mutexes[t * 4]);
                                  maps[t * 2].erase(at);
                                }});
  for (std::size_t i = 0; i < background; ++i) {
    bench::keep(shard::cancel(crowd.nodes[i]));
    bench::keep(shard::cancel(shared_crowd.nodes[i]));
  }
}

/// Arms `count` timers within 5 s, then polls every millisecond, or once after all are due.
double sleep_all(const std::vector<time_point>& deadlines, std::chrono::milliseconds step) {
  shard timers(start);
  pending crowd(deadlines.size());
  return bench::time_once(static_cast<double>(deadlines.size()), [&] {
    for (std::size_t i = 0; i < deadlines.size(); ++i) arm(timers, crowd.nodes[i], deadlines[i]);
    for (auto now = start; now <= start + 5s + step; now += step) bench::keep(timers.poll(now, ~0U));
  });
}

/// The same with a binary heap, which accesses the frame as often: once to arm, once to fire.
double queue_all(const std::vector<time_point>& deadlines, std::chrono::milliseconds step) {
  struct frame {
    unsigned state = 0;
    unsigned char rest[60];
  };
  using entry = std::pair<time_point, frame*>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> queue;
  std::mutex mutex;
  const auto frames = std::make_unique<frame[]>(deadlines.size());
  return bench::time_once(static_cast<double>(deadlines.size()), [&] {
    for (std::size_t i = 0; i < deadlines.size(); ++i) {
      const std::lock_guard held(mutex);
      frames[i].state = 1;
      queue.emplace(deadlines[i], &frames[i]);
    }
    for (auto now = start; now <= start + 5s + step; now += step) {
      const std::lock_guard held(mutex);
      for (; !queue.empty() && queue.top().first <= now; queue.pop()) queue.top().second->state = 2;
    }
  });
}

void arm_and_fire(const char* name, std::size_t count, std::chrono::milliseconds step) {
  const auto deadlines = random_deadlines(count);
  bench::repeat({"micro.timer", name}, "rota", [&] { return sleep_all(deadlines, step); });
  bench::repeat({"micro.timer", name}, "priority_queue", [&] { return queue_all(deadlines, step); });
}

void look_at_all(const char* name, unsigned shards) {
  timers all(shards, start);
  bench::compare(
      {"micro.timer", name}, 20'000, bench::subject{"rota", [&](unsigned) { bench::keep(all.earliest()); }});
}

}  // namespace

int main() {
  arm_and_cancel("arm_cancel", 1, 0);
  arm_and_cancel("arm_cancel", 2, 0);
  arm_and_cancel("arm_cancel_among_1k", 1, 1'000);
  arm_and_cancel("arm_cancel_among_100k", 1, 100'000);
  arm_and_cancel("arm_cancel_among_1m", 1, 1'000'000);
  arm_and_fire("arm_fire_1k", 1'000, 1ms);
  arm_and_fire("arm_fire_100k", 100'000, 1ms);
  arm_and_fire("arm_fire_1m", 1'000'000, 1ms);
  arm_and_fire("stall_1k", 1'000, 6000ms);
  arm_and_fire("stall_100k", 100'000, 6000ms);
  arm_and_fire("stall_1m", 1'000'000, 6000ms);
  look_at_all("earliest_of_2", 2);
  look_at_all("earliest_of_64", 64);
  look_at_all("earliest_of_256", 256);
  bench::report({"micro.timer", "memory", 1, "bytes"}, "timer_node", {sizeof(timer_node)});
  bench::report({"micro.timer", "memory", 1, "bytes"}, "shard", {sizeof(shard)});
}
