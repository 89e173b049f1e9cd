// Shared by the tests of this folder.
#pragma once

#include "support/open_files.hpp"

#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

namespace rota::test {

using namespace std::chrono_literals;

/// Options with `n` workers and no stall reports.
inline runtime_options with_workers(unsigned n) {
  runtime_options o;
  o.workers = n;
  o.seed = 1;
  o.watchdog = 0ns;
  return o;
}

/// Waits until `holds()` is true, without a limit.
template <class F>
void wait_until(F holds) {
  while (!holds()) std::this_thread::yield();
}

/// Joins without running the task on the calling thread, which a join without a limit may do.
template <class T>
T join_on_worker(join_handle<T> h) {
  std::optional<outcome<T>> end;
  while (!end.has_value()) end = h.wait_for(1h);
  return std::move(*end).value();
}

inline std::size_t entries_of(const char* folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}
/// Threads of an emulator, which exist before main, and of ThreadSanitizer, which come with the first thread.
inline const std::size_t threads_of_others = [] {
  std::string self;
  std::thread([&self] { self = std::filesystem::read_symlink("/proc/thread-self").filename(); }).join();
  wait_until([&self] { return !std::filesystem::exists("/proc/self/task/" + self); });
  return entries_of("/proc/self/task") - 1;
}();
inline std::size_t threads_of_process() { return entries_of("/proc/self/task") - threads_of_others; }

/// Counts its destruction.
class witness {
 public:
  explicit witness(std::atomic<int>& count) noexcept : count_(&count) {}
  witness(witness&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  witness& operator=(witness&&) = delete;
  ~witness() {
    if (count_ != nullptr) ++*count_;
  }

 private:
  std::atomic<int>* count_;
};

inline task<> sleep_forever(witness /*mine*/) { co_await sleep_for(std::chrono::hours(1'000'000)); }

}  // namespace rota::test
