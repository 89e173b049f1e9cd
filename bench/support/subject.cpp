#include "support/subject.hpp"

#include "support/allocations.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

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
#endif
  const allocations made = allocations_so_far();
  sums.allocations = made.calls;
  sums.allocated_bytes = made.bytes;
  return sums;
}

void print_start(const char* test_case, unsigned workers, const char* in_unit, double value) {
  std::printf(R"({"case":"%s","workers":%u,"unit":"%s","value":%.4f)", test_case, workers, in_unit, value);
}

/// The sums are not divided: a caller that subtracts the sums of two sizes needs them whole.
void print_counts([[maybe_unused]] const job& what, [[maybe_unused]] const spent& sum) {
#if defined(ROTA_COUNT_OPERATIONS)
  std::printf(R"(,"rmws":%llu,"seq_cst_stores":%llu,"system_calls":%llu,"allocations":%llu)",
              static_cast<unsigned long long>(sum.rmws),
              static_cast<unsigned long long>(sum.seq_cst_stores),
              static_cast<unsigned long long>(sum.system_calls),
              static_cast<unsigned long long>(sum.allocations));
#endif
}

void print_allocations(const job& what, const spent& sum) {
  if (!what.counts_allocations) return;
  const auto n = static_cast<double>(what.operations);
  std::printf(R"(,"bytes_per_op":%.4f,"allocations_per_op":%.4f)",
              static_cast<double>(sum.allocated_bytes) / n,
              static_cast<double>(sum.allocations) / n);
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
    } else if (std::strcmp(name, "--allocations") == 0) {
      what.counts_allocations = true;
      count_allocations();
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

spent& spent::operator+=(const spent& more) noexcept {
  wall_ns += more.wall_ns;
  cpu_ns += more.cpu_ns;
  rmws += more.rmws;
  seq_cst_stores += more.seq_cst_stores;
  system_calls += more.system_calls;
  allocations += more.allocations;
  allocated_bytes += more.allocated_bytes;
  return *this;
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
  sum.allocated_bytes -= sums_.allocated_bytes;
  return sum;
}

void report(const job& what, const spent& sum) {
  const auto n = static_cast<double>(what.operations);
  print_start(what.test_case, what.workers, unit, sum.wall_ns / n);
  std::printf(R"(,"cpu_ns":%.4f)", sum.cpu_ns / n);
  print_counts(what, sum);
  print_allocations(what, sum);
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

/// Counted runs have no watchdog, because its checks depend on the time.
rota::runtime_options options_of(const job& what) {
  rota::runtime_options options{.workers = what.workers, .seed = 1};
  if (what.counts) options.watchdog = std::chrono::nanoseconds(0);
  return options;
}

int run_subject(int argc, char** argv, std::span<const one_case> cases) {
  if (argc < 2)
    misuse("usage", "CASE [--workers N] [--scale quick|full] [--operations N] [--allocations 1] | --list");
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

namespace {

bool has_backend() {
  try {
    const rota::runtime probe({.workers = 1});
    return true;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "no such backend: %s\n", e.what());
    return false;
  }
}

}  // namespace

int run_subject_of_backend(int argc, char** argv, std::span<const one_case> cases) {
  const bool lists = argc > 1 && std::strcmp(argv[1], "--list") == 0;
  return lists && !has_backend() ? 0 : run_subject(argc, argv, cases);
}

rota::task<spent> measure(loop work, job what) {
  co_await work(what.warm_up);
  const stretch measured;
  co_await work(what.operations);
  co_return measured.end();
}

}  // namespace bench
