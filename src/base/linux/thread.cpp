#include "base/thread.hpp"

#include "base/atomic.hpp"
#include "base/linux/signals.hpp"
#include "base/linux/without_sigpipe.hpp"
#include "base/tls_slot.hpp"

#include <rota/detail/config.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>

namespace rota::base {

namespace {

atomic<bool> exiting{false};

/// exit() destroys the thread_locals of its own thread before it destroys static objects. A thread that only
/// ends is in no task.
struct exit_watch {
  bool armed = false;
  exit_watch() = default;
  exit_watch(const exit_watch&) = delete;
  exit_watch& operator=(const exit_watch&) = delete;
  ~exit_watch() {
    const thread_locals& locals = this_thread_locals();
    if (!armed || (locals.task == nullptr && locals.in_place == nullptr)) return;
    // relaxed: read by the same thread, on its way through exit().
    exiting.store(true, order::relaxed);
  }
};

struct start_record {
  thread::entry_function entry;
  void* argument;
  char name[16];
};

void* begin(void* raw) {
  auto* const record = static_cast<start_record*>(raw);
  const start_record copy = *record;
  delete record;
  chaos_point();
  ::pthread_setname_np(::pthread_self(), copy.name);
  sys::without_sigpipe::is_blocked_here_for_good();
  watch_for_exit();
  copy.entry(copy.argument);
  return nullptr;
}

}  // namespace

std::expected<thread, std::error_code> thread::start(const char* name,
                                                     entry_function entry,
                                                     void* argument) noexcept {
  auto* const record = new (std::nothrow) start_record{entry, argument, {}};
  if (record == nullptr) return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  std::strncpy(record->name, name, sizeof record->name - 1);

  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  for (const int synchronous : synchronous_signals) ::sigdelset(&all, synchronous);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  chaos_point();
  pthread_t native{};
  const int error = ::pthread_create(&native, nullptr, begin, record);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (error != 0) {
    delete record;
    return std::unexpected(std::error_code(error, std::generic_category()));
  }
  return thread(static_cast<std::uint64_t>(native));
}

void thread::join_native(std::uint64_t native) noexcept {
  const int error = ::pthread_join(static_cast<pthread_t>(native), nullptr);
  if (error != 0) ROTA_FATAL("join of a thread", error);
}

void thread::detach_native(std::uint64_t native) noexcept {
  ::pthread_detach(static_cast<pthread_t>(native));
}

namespace {

/// Returns the address of the middle of the calling thread's stack, or 1 if it is unknown.
std::uintptr_t middle_of_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 1;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int error = ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
  return error != 0 ? 1 : reinterpret_cast<std::uintptr_t>(lowest) + size / 2;
}

}  // namespace

bool has_half_a_stack() noexcept {
  std::uintptr_t& middle = this_thread_locals().half_stack;
  if (middle == 0) middle = middle_of_stack();
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > middle;
}

bool set_niceness(int nice) noexcept {
  return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice) == 0;
}

std::uint64_t this_thread_id() noexcept { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

/// Uses the kernel's name for the clock of a thread: the thread's id, inverted, and three bits (a thread's,
/// CPUCLOCK_SCHED). pthread_getcpuclockid() computes the same, but reads memory of the thread, which may have
/// ended.
std::optional<nanoseconds> processor_time_of(std::uint64_t thread_id) noexcept {
  constexpr std::uint32_t of_a_thread = 4;
  constexpr std::uint32_t scheduled = 2;
  const auto clock =
      static_cast<clockid_t>(~static_cast<std::uint32_t>(thread_id) << 3U | of_a_thread | scheduled);
  timespec spent{};
  if (thread_id == 0 || ::clock_gettime(clock, &spent) != 0) return std::nullopt;
  return std::chrono::seconds(spent.tv_sec) + nanoseconds(spent.tv_nsec);
}

/// Reads the letter behind the name. The name stands in parentheses and has at most 15 characters.
thread_state state_of_thread(std::uint64_t thread_id) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%llu/stat", static_cast<unsigned long long>(thread_id));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return thread_state::unknown;
  char text[96];
  const ssize_t got = ::read(fd, text, sizeof text);
  ::close(fd);
  const std::string_view line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return thread_state::unknown;
  const char letter = line[name_end + 2];
  return letter == 'S' || letter == 'D' ? thread_state::blocked : thread_state::ready;
}

namespace {

void count_fork() noexcept {
  // relaxed, both: a child of fork() has one thread.
  process_generation.store(process_generation.load(order::relaxed) + 1, order::relaxed);
}

/// Returns false if the system has no memory for the handler.
bool watch_forks() noexcept {
  if (::pthread_atfork(nullptr, nullptr, count_fork) != 0) return false;
  // relaxed: a number that publishes nothing. A child of a fork before this store stores 1 in its own memory;
  // no thread of its parent had called this_process_id() by then.
  process_generation.store(1, order::relaxed);
  return true;
}

}  // namespace

constinit atomic<std::uint64_t> process_generation{0};

/// Called at every spawn from outside, so it must not make a system call.
std::uint64_t this_process_id() noexcept {
  // relaxed: it changes only in a child of fork(), and from 0.
  if (const std::uint64_t seen = process_generation.load(order::relaxed); seen != 0) [[likely]]
    return seen;
  static const bool watches = watch_forks();
  // relaxed: same reason as above.
  return watches ? process_generation.load(order::relaxed) : static_cast<std::uint64_t>(::getpid());
}

void watch_for_exit() noexcept {
  thread_local exit_watch watch;
  watch.armed = true;
}

bool exits_inside_a_task() noexcept {
  // relaxed: see exit_watch.
  return exiting.load(order::relaxed);
}

void yield_thread() noexcept { ::sched_yield(); }

void back_off(unsigned looks) noexcept {
  constexpr unsigned spins = 64;
  static_assert(spins < looks_before_sleep);
  if (looks < spins) return cpu_relax();
  if (looks < looks_before_sleep) return yield_thread();
  const unsigned doublings = std::min((looks - looks_before_sleep) / 4, 5U);
  const timespec span{.tv_sec = 0, .tv_nsec = 31'250L << doublings};
  ::nanosleep(&span, nullptr);
}

}  // namespace rota::base
