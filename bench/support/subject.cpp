#include "support/subject.hpp"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#if defined(ROTA_COUNT_OPERATIONS)

namespace {

std::atomic<std::uint64_t> allocations{0};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* allocate_or_throw(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  void* const made = allocate(size, alignment);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

// All others call one of these.
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* which) noexcept { std::free(which); }
void operator delete(void* which, std::size_t) noexcept { std::free(which); }
void operator delete(void* which, std::align_val_t) noexcept { std::free(which); }
void operator delete(void* which, std::size_t, std::align_val_t) noexcept { std::free(which); }

#endif

namespace bench {

namespace {

const char* unit = "ns";

spent sums_so_far() noexcept {
  spent sums;
  sums.cpu_ns = process_cpu_ns();
#if defined(ROTA_COUNT_OPERATIONS)
  sums.rmws = rota::base::counted.read_modify_writes;
  sums.seq_cst_stores = rota::base::counted.seq_cst_stores;
  sums.system_calls = rota::base::counted.system_calls;
  sums.allocations = allocations.load(std::memory_order_relaxed);
#endif
  return sums;
}

void print_start(const char* test_case, unsigned workers, const char* in_unit, double value) {
  std::printf(R"({"case":"%s","workers":%u,"unit":"%s","value":%.4f)", test_case, workers, in_unit, value);
}

/// The sums are not divided: who takes the difference of two sizes needs them whole.
void print_counts([[maybe_unused]] const job& what, [[maybe_unused]] const spent& sum) {
#if defined(ROTA_COUNT_OPERATIONS)
  std::printf(R"(,"rmws":%llu,"seq_cst_stores":%llu,"system_calls":%llu,"allocations":%llu)",
              static_cast<unsigned long long>(sum.rmws),
              static_cast<unsigned long long>(sum.seq_cst_stores),
              static_cast<unsigned long long>(sum.system_calls),
              static_cast<unsigned long long>(sum.allocations));
#endif
}

[[noreturn]] void misuse(const char* what, const char* which) {
  std::fprintf(stderr, "%s: %s\n", what, which);
  std::exit(2);
}

std::uint64_t number(const char* name, const char* text) {
  char* end = nullptr;
  const unsigned long long value = text == nullptr ? 0 : std::strtoull(text, &end, 10);
  if (text == nullptr || *end != '\0' || value == 0 || value > 1'000'000'000)
    misuse("not a number above 0", name);
  return value;
}

const one_case& find(std::span<const one_case> cases, const char* name) {
  for (const one_case& each : cases) {
    if (std::strcmp(each.name, name) == 0) return each;
  }
  misuse("there is no such case", name);
}

job parse(int argc, char** argv, const one_case& chosen) {
  job what{.test_case = chosen.name, .operations = chosen.full};
  for (int i = 2; i < argc; i += 2) {
    const char* const name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (std::strcmp(name, "--workers") == 0) {
      what.workers = static_cast<unsigned>(number(name, value));
    } else if (std::strcmp(name, "--scale") == 0) {
      if (value != nullptr && std::strcmp(value, "quick") == 0) what.operations = chosen.quick;
    } else if (std::strcmp(name, "--operations") == 0) {
      what.operations = number(name, value);
      what.counts = true;
    } else {
      misuse("unknown option", name);
    }
  }
  what.warm_up = what.counts ? 100 : what.operations / 10;
  return what;
}

}  // namespace

double process_cpu_ns() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

stretch::stretch() noexcept : sums_(sums_so_far()), begin_(std::chrono::steady_clock::now()) {}

spent stretch::end() const noexcept {
  const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin_;
  spent sum = sums_so_far();
  sum.wall_ns = wall.count();
  sum.cpu_ns -= sums_.cpu_ns;
  sum.rmws -= sums_.rmws;
  sum.seq_cst_stores -= sums_.seq_cst_stores;
  sum.system_calls -= sums_.system_calls;
  sum.allocations -= sums_.allocations;
  return sum;
}

void report(const job& what, const spent& sum) {
  const auto n = static_cast<double>(what.operations);
  print_start(what.test_case, what.workers, unit, sum.wall_ns / n);
  std::printf(R"(,"cpu_ns":%.4f)", sum.cpu_ns / n);
  print_counts(what, sum);
  std::puts("}");
}

void report_cpu(const job& what, const spent& sum) {
  print_start(what.test_case, what.workers, unit, sum.cpu_ns / static_cast<double>(what.operations));
  print_counts(what, sum);
  std::puts("}");
}

void report_value(
    const job& what, const char* test_case, const char* in_unit, double value, const char* subject) {
  print_start(test_case, what.workers, in_unit, value);
  if (subject != nullptr) std::printf(R"(,"subject":"%s")", subject);
  std::puts("}");
}

void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

/// Counted runs have no watchdog, whose looks are a matter of time.
rota::runtime_options options_of(const job& what) {
  rota::runtime_options options{.workers = what.workers, .seed = 1};
  if (what.counts) options.watchdog = std::chrono::nanoseconds(0);
  return options;
}

int run_subject(int argc, char** argv, std::span<const one_case> cases) {
  if (argc < 2) misuse("usage", "CASE [--workers N] [--scale quick|full] [--operations N] | --list");
  if (std::strcmp(argv[1], "--list") == 0) {
    for (const one_case& each : cases) std::puts(each.name);
    return 0;
  }
  const one_case& chosen = find(cases, argv[1]);
  const job what = parse(argc, argv, chosen);
  unit = chosen.unit;
  try {
    chosen.run(what);
  } catch (const std::exception& e) {
    fail(e.what());
  }
  return 0;
}

rota::task<spent> measure(loop work, job what) {
  co_await work(what.warm_up);
  const stretch measured;
  co_await work(what.operations);
  co_return measured.end();
}

}  // namespace bench
