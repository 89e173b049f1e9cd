// Threads. Creation may fail, and says so.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <system_error>
#include <utility>

namespace rota::base {

/// A joinable thread that runs `entry(argument)`. Must be joined or detached before it is destroyed.
/// Signals are blocked in it, so that a program's handlers run on the program's own threads.
class thread {
 public:
  using entry_function = void (*)(void*) noexcept;

  thread() = default;
  thread(thread&& other) noexcept : native_(std::exchange(other.native_, 0)) {}
  thread& operator=(thread&& other) noexcept;
  ~thread();

  /// `name`: at most 15 characters are kept. EAGAIN when the system has no thread left.
  [[nodiscard]] static std::expected<thread, std::error_code> start(const char* name,
                                                                    entry_function entry,
                                                                    void* argument) noexcept;
  [[nodiscard]] bool joinable() const noexcept { return native_ != 0; }
  void join() noexcept;
  void detach() noexcept;

 private:
  explicit thread(std::uint64_t native) noexcept : native_(native) {}
  static void join_native(std::uint64_t native) noexcept;
  static void detach_native(std::uint64_t native) noexcept;

  std::uint64_t native_ = 0;
};

/// The processors this process may use: min(affinity mask, cgroup quota rounded up), at least 1.
[[nodiscard]] unsigned usable_processors() noexcept;

/// The kernel's id of this thread, for reports.
[[nodiscard]] std::uint64_t this_thread_id() noexcept;

/// How long that thread of this process has run on a processor. Nothing: it has ended, or the system does not say so.
[[nodiscard]] std::optional<nanoseconds> processor_time_of(std::uint64_t thread_id) noexcept;

/// What that thread of this process does now. `ready`: it runs, or waits for a processor alone. `blocked`: it waits in a system call.
enum class thread_state : std::uint8_t { unknown, ready, blocked };
[[nodiscard]] thread_state state_of_thread(std::uint64_t thread_id) noexcept;

/// Names this process among its parents and its children by fork(), which find what is not theirs by it. Not the kernel's number: a
/// child may have that of its parent, each in a namespace of its own.
[[nodiscard]] std::uint64_t this_process_id() noexcept;

#if !ROTA_MODEL
/// Defined in linux/thread.cpp. What this_process_id() returns; 0 before it is called first, and where it has to ask the kernel.
[[gnu::visibility("hidden")]] extern constinit atomic<std::uint64_t> process_generation;
#endif

/// Returns true if this_process_id() has returned `process` in this process, and not in a parent: a relaxed load and a compare. Returns false
/// also where this_process_id() has to ask the kernel.
[[nodiscard]] inline bool is_noted_process(std::uint64_t process) noexcept {
#if ROTA_MODEL
  return process == this_process_id();
#else
  // relaxed. It changes only in a child of fork(), and from 0.
  return process_generation.load(order::relaxed) == process;
#endif
}

/// Returns true if this_process_id() has returned `process` in this process, and not in a parent.
[[nodiscard]] inline bool is_this_process(std::uint64_t process) noexcept {
  return is_noted_process(process) || process == this_process_id();
}

/// From now on it is noticed if this thread calls exit() in the middle of a task.
void watch_for_exit() noexcept;

/// A thread has called exit() in the middle of a task: the process ends, and that task never will.
[[nodiscard]] bool exits_inside_a_task() noexcept;

/// The niceness of this thread, -20 .. 19; lower is more of the processor. False: the system does not allow it.
bool set_niceness(int nice) noexcept;

/// Has this thread used less than half of its stack? For who would rather call less deeply then. In a model, and of a stack of which
/// nothing is known: yes.
[[nodiscard]] bool has_half_a_stack() noexcept;

/// Gives the processor away once.
void yield_thread() noexcept;

/// Waits a little for a step that another thread has begun; `looks` is how often the caller has looked for its end before. Spins first, then
/// gives the processor away, then sleeps, longer each time and at most 1 ms: a thread of a lower priority comes to its step. In a model:
/// another thread steps first.
void back_off(unsigned looks) noexcept;
/// From so many looks on back_off() sleeps. A caller whose other thread may be missing in a fork asks for its process then, and no earlier.
inline constexpr unsigned looks_before_sleep = 128;

}  // namespace rota::base
