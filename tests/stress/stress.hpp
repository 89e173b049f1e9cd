// Shared by the stress programs: options, the printed line, a watchdog that dumps a stuck runtime.
#pragma once

#include <rota/rota.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace stress {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

inline std::uint64_t number_after(int argc, char** argv, const char* name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

struct options {
  options(int argc, char** argv)
      : seconds(number_after(argc, argv, "--seconds", 10)), seed(number_after(argc, argv, "--seed", 1)) {}

  std::uint64_t seconds;
  std::uint64_t seed;
  clock_type::time_point begin = clock_type::now();

  [[nodiscard]] bool is_over() const { return clock_type::now() - begin >= std::chrono::seconds(seconds); }
};

/// Aborts with a dump of the runtime that is watched when `progress` has not moved for ten seconds.
class watchdog {
 public:
  static constexpr auto patience = 10s;

  watchdog() : thread_([this] { watch(); }) {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() {
    stop_ = true;
    thread_.join();
  }

  std::atomic<std::uint64_t> progress{0};

  /// While it lives, reports show `rt`.
  class watched {
   public:
    watched(watchdog& by, rota::runtime& rt) : by_(by) { set(&rt); }
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;
    ~watched() { set(nullptr); }

   private:
    void set(rota::runtime* rt) {
      const std::lock_guard lock(by_.mutex_);
      by_.runtime_ = rt;
    }
    watchdog& by_;
  };

 private:
  void watch() {
    std::uint64_t seen = 0;
    auto since = clock_type::now();
    while (!stop_) {
      std::this_thread::sleep_for(50ms);
      const std::uint64_t now = progress;
      if (now != seen) {
        seen = now;
        since = clock_type::now();
      } else if (clock_type::now() - since > patience) {
        report(now);
      }
    }
  }
  [[noreturn]] void report(std::uint64_t at) {
    std::fprintf(
        stderr, "stress: nothing has moved for 10 s, at %llu\n", static_cast<unsigned long long>(at));
    const std::lock_guard lock(mutex_);
    if (runtime_ != nullptr) {
      const rota::runtime_stats s = runtime_->stats();
      std::fprintf(stderr,
                   "spawned %llu, completed %llu, cancelled %llu, alive %llu, injector %llu\n%s\n",
                   static_cast<unsigned long long>(s.total_spawned),
                   static_cast<unsigned long long>(s.total_completed),
                   static_cast<unsigned long long>(s.total_cancelled),
                   static_cast<unsigned long long>(s.alive_tasks),
                   static_cast<unsigned long long>(s.injector_depth),
                   runtime_->dump().c_str());
    }
    std::abort();
  }

  std::mutex mutex_;
  rota::runtime* runtime_ = nullptr;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A runtime for round `n`: every count of workers from 1 to 4 gets its turn.
inline rota::runtime_options options_of_round(std::uint64_t n) {
  rota::runtime_options o;
  o.workers = static_cast<unsigned>(1 + n % 4);
  o.seed = n;
  o.watchdog = 0ns;
  return o;
}

using field = std::pair<const char*, std::uint64_t>;

/// The one line. `violations` decides the exit code.
inline int finish(const char* name,
                  const options& o,
                  std::initializer_list<field> fields,
                  std::uint64_t violations) {
  std::printf("{\"stress\": \"%s\", \"seed\": %llu, \"seconds\": %llu",
              name,
              static_cast<unsigned long long>(o.seed),
              static_cast<unsigned long long>(o.seconds));
  for (const auto& [key, value] : fields)
    std::printf(", \"%s\": %llu", key, static_cast<unsigned long long>(value));
  std::printf(", \"violations\": %llu}\n", static_cast<unsigned long long>(violations));
  return violations == 0 ? 0 : 1;
}

/// A sanitizer keeps memory of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool measures_memory = false;
#elif defined(__clang__)
inline constexpr bool measures_memory = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool measures_memory = true;
#endif

/// Kilobytes of resident memory.
inline std::uint64_t resident() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace stress
