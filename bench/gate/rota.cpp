// QUESTION  What does a message to a handler cost: on its own, among many, to one of many mailboxes? How soon
//           is a handler called if its executor sleeps?
// WHY       It bounds how small the parts of a program may be that communicate by messages.
// BASELINE  Tokio: a task with an unbounded mpsc channel. Go: a goroutine with a channel of 1024.
// READ IT   ns per operation; the comment of each case says what one operation is. In `hop` and `ring` one
//           message is in flight: this is the cost of a single message while a thread is awake. `wake` is its
//           cost while all threads sleep, nearly all of it the kernel's. In the other cases senders and
//           consumer run concurrently.
#include "support/subject.hpp"

#include <rota/gate/fan_in.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/gate/signal_gate.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using bench::job;
using namespace rota::gate;

/// Runs the loop twice, the first time as a warm-up.
template <class Loop>
void measured(const job& what, const Loop& loop) {
  loop(what.warm_up);
  const bench::stretch all;
  loop(what.operations);
  bench::report(what, all.end());
}

/// Lets the last message wake the waiting thread.
class signal {
 public:
  void reset() noexcept { done_.store(0, std::memory_order_relaxed); }
  void set() noexcept {
    done_.store(1, std::memory_order_release);
    done_.notify_one();
  }
  void wait() const noexcept { done_.wait(0, std::memory_order_acquire); }

 private:
  std::atomic<int> done_{0};
};

/// One operation: a bare gate from idle to idle, by one thread.
void bare(const job& what) {
  signal_waker waker;
  signal_word word(0);
  signal_gate gate(0, word, waker);
  measured(what, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      gate.schedule();
      static_cast<void>(waker.wait());
      static_cast<void>(word.take());
      gate.begin();
      gate.finish();
    }
  });
}

/// One operation: a message from one handler to another. No other message is in flight.
void hop(const job& what) {
  executor threads(what.workers);
  signal end;
  address<std::uint64_t> there;
  address<std::uint64_t> back;
  const auto pass = [&end](const address<std::uint64_t>& to, std::uint64_t left) {
    if (left == 0) return end.set();
    static_cast<void>(to.send(left - 1));
  };
  auto one = threads.make_mailbox<std::uint64_t>([&](std::uint64_t left) { pass(there, left); });
  auto two = threads.make_mailbox<std::uint64_t>([&](std::uint64_t left) { pass(back, left); });
  there = two.address();
  back = one.address();
  measured(what, [&](std::uint64_t n) {
    end.reset();
    static_cast<void>(back.send(n - 1));
    end.wait();
  });
}

/// One operation: a message from one of `Senders` threads to one mailbox.
template <unsigned Senders>
void fan_in(const job& what) {
  executor threads(1);
  signal end;
  std::uint64_t left = 0;
  auto box = threads.make_mailbox<std::uint64_t>([&](std::uint64_t) {
    if (--left == 0) end.set();
  });
  measured(what, [&](std::uint64_t n) {
    const std::uint64_t each = (n + Senders - 1) / Senders;
    box.drain();
    left = each * Senders;
    end.reset();
    std::vector<std::jthread> senders;
    for (unsigned i = 0; i < Senders; ++i) {
      senders.emplace_back([to = box.address(), each] {
        for (std::uint64_t m = 0; m < each; ++m) static_cast<void>(to.send(m));
      });
    }
    end.wait();
  });
}

/// One operation: an item from one of `Senders` threads. Each has a segment and waits while it is full.
template <unsigned Senders>
void segments(const job& what) {
  rota::gate::fan_in<std::uint64_t> in({.producers = Senders, .segment = 1024});
  measured(what, [&](std::uint64_t n) {
    const std::uint64_t each = (n + Senders - 1) / Senders;
    std::vector<rota::gate::fan_in<std::uint64_t>::producer> producers;
    for (unsigned i = 0; i < Senders; ++i) producers.push_back(in.make_producer());
    std::vector<std::jthread> senders;
    for (auto& mine : producers) {
      senders.emplace_back([to = std::move(mine), each]() mutable {
        for (std::uint64_t m = 0; m < each; ++m) static_cast<void>(to.push(m));
      });
    }
    std::uint64_t left = each * Senders;
    while (in.wait() != fan_in_state::ended) in.drain([&left](std::uint64_t) { --left; });
    if (left != 0) std::abort();
  });
}

/// One operation: a message from one thread to one of 64 mailboxes in turn, among `Boxes` mailboxes.
template <unsigned Boxes>
void among(const job& what) {
  constexpr unsigned active = 64;
  executor threads(what.workers);
  std::atomic<std::uint64_t> served{0};
  std::vector<mailbox<std::uint64_t>> boxes;
  boxes.reserve(Boxes);
  for (unsigned i = 0; i < Boxes; ++i) {
    boxes.push_back(
        threads.make_mailbox<std::uint64_t>([&served, mine = std::uint64_t{0}](std::uint64_t) mutable {
          if (++mine % 64 == 0) served.fetch_add(64, std::memory_order_relaxed);
        }));
  }
  measured(what, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      static_cast<void>(boxes[(i % active) * (Boxes / active)].send(i));
      // Limits the messages in flight, as a bounded channel would.
      while (i - std::min(i, served.load(std::memory_order_relaxed)) > 65'536) std::this_thread::yield();
    }
    threads.drain();
    served.store(0, std::memory_order_relaxed);
  });
}

/// One operation: one hop of a message around a ring of a million mailboxes, which are made before.
void ring(const job& what) {
  constexpr std::size_t members = 1'000'000;
  executor threads(what.workers);
  signal end;
  std::vector<mailbox<std::uint64_t>> boxes;
  std::vector<address<std::uint64_t>> next(members);
  boxes.reserve(members);
  for (std::size_t i = 0; i < members; ++i) {
    boxes.push_back(threads.make_mailbox<std::uint64_t>([&end, to = &next[i]](std::uint64_t left) {
      if (left == 0) return end.set();
      static_cast<void>(to->send(left - 1));
    }));
  }
  for (std::size_t i = 0; i < members; ++i) next[i] = boxes[(i + 1) % members].address();
  measured(what, [&](std::uint64_t n) {
    end.reset();
    static_cast<void>(boxes.front().send(n - 1));
    end.wait();
  });
}

/// One sample: the time from a send to a sleeping executor until the first line of the handler.
void wake(const job& what) {
  using clock = std::chrono::steady_clock;
  executor threads(what.workers);
  std::atomic<std::int64_t> ran{0};
  auto box = threads.make_mailbox<int>(
      [&ran](int) { ran.store(clock::now().time_since_epoch().count(), std::memory_order_release); });
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < what.operations; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ran.store(0, std::memory_order_relaxed);
    const std::int64_t sent = clock::now().time_since_epoch().count();
    static_cast<void>(box.send(1));
    std::int64_t at = 0;
    while (at == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      at = ran.load(std::memory_order_acquire);
    }
    samples.push_back(static_cast<double>(at - sent));
  }
  std::sort(samples.begin(), samples.end());
  const std::string name = what.test_case;
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  bench::report_value(what, (name + ".p50").c_str(), "ns", at(0.5));
  bench::report_value(what, (name + ".p99").c_str(), "ns", at(0.99));
  bench::report_value(what, (name + ".p999").c_str(), "ns", at(0.999));
}

/// Measures the processor time of an executor with 4032 mailboxes during an idle second.
void idle(const job& what) {
  executor threads(what.workers);
  std::deque<mailbox<int>> boxes;
  for (int i = 0; i < 4032; ++i) boxes.push_back(threads.make_mailbox<int>([](int) {}));
  for (const auto& each : boxes) static_cast<void>(each.send(1));
  threads.drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = bench::process_cpu_ns();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  bench::report_value(what, what.test_case, "us", (bench::process_cpu_ns() - before) / 1000);
}

constexpr bench::one_case cases[] = {
    {"gate_message", "ns", 20'000'000, 4'000'000, bare},
    {"hop", "ns", 10'000'000, 2'000'000, hop},
    {"fan_in_1", "ns", 10'000'000, 2'000'000, fan_in<1>},
    {"fan_in_8", "ns", 10'000'000, 2'000'000, fan_in<8>},
    {"fan_in_64", "ns", 10'000'000, 2'000'000, fan_in<64>},
    {"segments_1", "ns", 10'000'000, 2'000'000, segments<1>},
    {"segments_8", "ns", 10'000'000, 2'000'000, segments<8>},
    {"boxes_64", "ns", 10'000'000, 2'000'000, among<64>},
    {"boxes_4032", "ns", 10'000'000, 2'000'000, among<4032>},
    {"boxes_100k", "ns", 10'000'000, 2'000'000, among<100'000>},
    {"ring", "ns", 10'000'000, 2'000'000, ring},
    {"gate_wake", "ns", 2'000, 500, wake},
    {"gate_idle", "us", 1, 1, idle},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
