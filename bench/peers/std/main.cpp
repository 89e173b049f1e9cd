// QUESTION  What do the cases of the suite `pool` cost with the C++ library alone: threads, a mutex, a
//           condition variable and one queue of functions?
// WHY       A program without a pool library does this.
// BASELINE  bench/pool/rota.cpp, which says what one operation is.
// READ IT   As there. For cases with priorities the queue is a heap. A wait inside of a work blocks its
//           thread.
#include "support/pool_load.hpp"

#include <sys/resource.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <string>

namespace {

using pool_load::clock;

struct job {
  const char* test_case = "";
  unsigned workers = 2;
  std::uint64_t operations = 0;
  std::uint64_t warm_up = 0;
};

struct one_case {
  const char* name;
  std::uint64_t full;
  std::uint64_t quick;
  void (*run)(const job& what);
};

double process_cpu_ns() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

void report(const job& what, double wall_ns, double cpu_ns) {
  const auto n = static_cast<double>(what.operations);
  std::printf("{\"case\":\"%s\",\"workers\":%u,\"unit\":\"ns\",\"value\":%.4f,\"cpu_ns\":%.4f}\n",
              what.test_case,
              what.workers,
              wall_ns / n,
              cpu_ns / n);
}

void report_value(const job& what, const std::string& test_case, const char* unit, double value) {
  std::printf("{\"case\":\"%s\",\"workers\":%u,\"unit\":\"%s\",\"value\":%.4f}\n",
              test_case.c_str(),
              what.workers,
              unit,
              value);
}

using function = std::function<void()>;

/// A FIFO queue.
class plain_queue {
 public:
  void push(function f, int /*priority*/) { all_.push_back(std::move(f)); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] function pop() {
    function first = std::move(all_.front());
    all_.pop_front();
    return first;
  }

 private:
  std::deque<function> all_;
};

/// By priority; FIFO among equals.
class heap {
 public:
  void push(function f, int priority) {
    all_.push_back({priority, next_++, std::move(f)});
    std::push_heap(all_.begin(), all_.end(), comes_later);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] function pop() {
    std::pop_heap(all_.begin(), all_.end(), comes_later);
    function first = std::move(all_.back().f);
    all_.pop_back();
    return first;
  }

 private:
  struct entry {
    int priority;
    std::uint64_t number;
    function f;
  };
  static bool comes_later(const entry& a, const entry& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.number > b.number;
  }

  std::vector<entry> all_;
  std::uint64_t next_ = 0;
};

template <class Queue>
class pool {
 public:
  explicit pool(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~pool() {
    {
      const std::lock_guard guard(mutex_);
      ends_ = true;
    }
    came_.notify_all();
  }

  void post(function f, int priority = 0) {
    left_.begin();
    {
      const std::lock_guard guard(mutex_);
      queue_.push(std::move(f), priority);
    }
    came_.notify_one();
  }
  void wait() const { left_.wait(); }

 private:
  void serve() {
    std::unique_lock guard(mutex_);
    for (;;) {
      came_.wait(guard, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const function f = queue_.pop();
      guard.unlock();
      f();
      left_.end();
      guard.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable came_;
  Queue queue_;
  bool ends_ = false;
  pool_load::outstanding left_;
  std::vector<std::jthread> threads_;
};

template <class Loop>
void measured(const job& what, Loop loop) {
  loop(what.warm_up);
  const double cpu = process_cpu_ns();
  const auto begin = clock::now();
  loop(what.operations);
  const double wall = pool_load::ms_since(begin) * 1e6;
  report(what, wall, process_cpu_ns() - cpu);
}

using plain_pool = pool<plain_queue>;

template <void (*Load)(plain_pool& pool, std::uint64_t n)>
void loaded(const job& what) {
  plain_pool mine(what.workers);
  measured(what, [&mine](std::uint64_t n) { Load(mine, n); });
}

void submit_idle(const job& what) {
  plain_pool mine(what.workers);
  const std::vector<double> samples = pool_load::from_idle(mine, what.operations);
  report_value(what, std::string(what.test_case) + ".p50", "ns", pool_load::quantile(samples, 0.5));
  report_value(what, std::string(what.test_case) + ".p99", "ns", pool_load::quantile(samples, 0.99));
}

void priority_works(const job& what) {
  pool<heap> mine(what.workers);
  pool_load::priority_times times(what.operations);
  pool_load::submit_priorities(what.operations, [&](int priority) {
    const auto run = [&times, priority] {
      pool_load::busy_and_blocked();
      times.end(priority);
    };
    mine.post(run, priority);
  });
  mine.wait();
  report_value(what, "priority_works.high", "ms", times.high_ms());
  report_value(what, "priority_works.all", "ms", times.all_ms());
}

void priority_inversion(const job& what) {
  pool<heap> mine(what.workers);
  const auto medium = [] { pool_load::spin_for(pool_load::medium_work); };
  for (unsigned i = 0; i < what.workers; ++i) mine.post(medium, 1);
  std::promise<void> low;
  mine.post(
      [&] {
        medium();
        low.set_value();
      },
      0);
  for (std::uint64_t i = 0; i < what.operations; ++i) mine.post(medium, 1);
  std::promise<void> high;
  const auto begin = clock::now();
  mine.post(
      [&] {
        low.get_future().wait();
        high.set_value();
      },
      2);
  high.get_future().wait();
  report_value(what, what.test_case, "ms", pool_load::ms_since(begin));
  mine.wait();
}

/// A single thread runs all of it.
class refilling {
 public:
  refilling(pool<heap>& where, const job& what)
      : pool_(&where), job_(&what), warm_up_(what.warm_up), left_(what.operations) {}
  void submit(int priority) {
    pool_->post([this, priority] { ran(priority); }, priority);
  }

 private:
  void ran(int priority) {
    if (warm_up_ != 0 && --warm_up_ == 0) {
      cpu_ = process_cpu_ns();
      begin_ = clock::now();
    }
    if (warm_up_ == 0 && left_ != 0 && --left_ == 0)
      report(*job_, pool_load::ms_since(begin_) * 1e6, process_cpu_ns() - cpu_);
    if (left_ != 0) submit(priority);
  }

  pool<heap>* pool_;
  const job* job_;
  std::uint64_t warm_up_;
  std::uint64_t left_;
  double cpu_ = 0;
  clock::time_point begin_;
};

template <int Waiting>
void pop(const job& what) {
  pool<heap> mine(1);
  refilling works(mine, what);
  pool_load::gate gate;
  mine.post([&gate] { gate.wait(); }, pool_load::priorities);
  for (int i = 0; i < Waiting; ++i) works.submit(i % pool_load::priorities);
  gate.open();
  mine.wait();
}

constexpr one_case cases[] = {
    {"submit_outside", 1'000'000, 200'000, loaded<pool_load::from_outside<1>>},
    {"submit_outside_4", 1'000'000, 200'000, loaded<pool_load::from_outside<4>>},
    {"submit_inside", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"submit_inside_alone", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"submit_wait", 50'000, 10'000, loaded<pool_load::one_by_one>},
    {"submit_idle", 1000, 300, submit_idle},
    {"sync_works", 1000, 200, loaded<pool_load::roots<pool_load::roots_of_a_work>>},
    {"short_works", 1'000'000, 200'000, loaded<pool_load::roots<pool_load::roots_of_a_short_work>>},
    {"priority_works", 200, 20, priority_works},
    {"priority_inversion", 200, 50, priority_inversion},
    {"pop_1k", 500'000, 100'000, pop<1000>},
    {"pop_10k", 500'000, 100'000, pop<10'000>},
    {"pop_100k", 500'000, 100'000, pop<100'000>},
    {"pop_1m", 500'000, 100'000, pop<1'000'000>},
};

[[noreturn]] void misuse(const char* what, const char* which) {
  std::fprintf(stderr, "%s: %s\n", what, which);
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0' || value == 0) misuse("not a number above 0", text);
  return value;
}

job parse(int argc, char** argv, const one_case& chosen) {
  job what{.test_case = chosen.name, .operations = chosen.full};
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--workers") == 0) {
      what.workers = static_cast<unsigned>(number(argv[i + 1]));
    } else if (std::strcmp(argv[i], "--scale") == 0) {
      if (std::strcmp(argv[i + 1], "quick") == 0) what.operations = chosen.quick;
    } else if (std::strcmp(argv[i], "--operations") == 0) {
      what.operations = number(argv[i + 1]);
    } else {
      misuse("unknown option", argv[i]);
    }
  }
  what.warm_up = what.operations / 10;
  return what;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) misuse("usage", "CASE [--workers N] [--scale quick|full], or --list");
  const bool lists = std::strcmp(argv[1], "--list") == 0;
  for (const one_case& each : cases) {
    if (lists) {
      std::puts(each.name);
    } else if (std::strcmp(argv[1], each.name) == 0) {
      each.run(parse(argc, argv, each));
      return 0;
    }
  }
  if (!lists) misuse("there is no such case", argv[1]);
}
