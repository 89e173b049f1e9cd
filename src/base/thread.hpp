// Threads. Creation may fail and then returns an error.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <system_error>
#include <utility>

namespace rota::base {

/// A joinable thread that runs `entry(argument)`. It must be joined or detached before it is destroyed.
/// Signals are blocked in it, so that the program's handlers run on the program's own threads.
class thread {
 public:
  using entry_function = void (*)(void*) noexcept;

  thread() = default;
  thread(thread&& other) noexcept : native_(std::exchange(other.native_, 0)) {}
  thread& operator=(thread&& other) noexcept;
  ~thread();

  /// Starts a thread. At most 15 characters of `name` are kept. EAGAIN: the system has no thread left.
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

/// Returns the number of processors that this process may use: min(affinity mask, cgroup quota rounded up),
/// at least 1.
[[nodiscard]] unsigned usable_processors() noexcept;

/// Returns the kernel's id of this thread, for reports.
[[nodiscard]] std::uint64_t this_thread_id() noexcept;

/// Returns how long that thread of this process has run on a processor. Empty if it has ended, or if the
/// system does not tell.
[[nodiscard]] std::optional<nanoseconds> processor_time_of(std::uint64_t thread_id) noexcept;

/// The state of a thread of this process. `ready`: it runs, or waits only for a processor. `blocked`: it
/// waits in a system call.
enum class thread_state : std::uint8_t { unknown, ready, blocked };
[[nodiscard]] thread_state state_of_thread(std::uint64_t thread_id) noexcept;

/// Returns a number for this process that differs from those of its parents and of its children by fork().
/// They recognize by it what belongs to another process. It is not the kernel's number: a child may have that
/// of its parent, each in a namespace of its own.
[[nodiscard]] std::uint64_t this_process_id() noexcept;

#if !ROTA_MODEL
/// Defined in linux/thread.cpp. The result of this_process_id(); 0 before its first call, and if it has to
/// ask the kernel.
[[gnu::visibility("hidden")]] extern constinit atomic<std::uint64_t> process_generation;
#endif

/// Returns true if this_process_id() has returned `process` in this process, and not only in a parent. It
/// costs a relaxed load and a compare. Returns false also if this_process_id() has to ask the kernel.
[[nodiscard]] inline bool is_noted_process(std::uint64_t process) noexcept {
#if ROTA_MODEL
  return process == this_process_id();
#else
  // relaxed: it changes only in a child of fork(), and from 0.
  return process_generation.load(order::relaxed) == process;
#endif
}

/// Returns true if this_process_id() has returned `process` in this process, and not only in a parent.
[[nodiscard]] inline bool is_this_process(std::uint64_t process) noexcept {
  return is_noted_process(process) || process == this_process_id();
}

/// From now on exits_inside_a_task() reports it if this thread calls exit() in the middle of a task.
void watch_for_exit() noexcept;

/// Returns true if a thread has called exit() in the middle of a task: the process ends, and that task will
/// never end.
[[nodiscard]] bool exits_inside_a_task() noexcept;

/// Sets the niceness of this thread, -20 .. 19; a lower one gets more of the processor. Returns false if the
/// system does not allow it.
bool set_niceness(int nice) noexcept;

/// Returns true if this thread has used less than half of its stack. A caller that gets false should nest
/// less deeply. In a model, and for an unknown stack, it returns true.
[[nodiscard]] bool has_half_a_stack() noexcept;

/// Yields the processor once.
void yield_thread() noexcept;

/// Waits a little for a step that another thread has begun. `looks`: how often the caller has checked for the
/// end of that step before. Spins first, then yields the processor, then sleeps, longer each time and at most
/// 1 ms, so that a thread of a lower priority comes to its step. In a model: another thread steps first.
void back_off(unsigned looks) noexcept;
/// From so many checks on back_off() sleeps. If the other thread may be missing in a child of fork(), the
/// caller checks its process from then on, and not earlier.
inline constexpr unsigned looks_before_sleep = 128;

}  // namespace rota::base
