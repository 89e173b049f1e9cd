// The seam of src/base, on the simulated machine. Outside of a simulation every operation is the plain one,
// and time stands still.
#include "base/barrier.hpp"
#include "base/chance.hpp"
#include "base/clock.hpp"
#include "base/frame_allocator.hpp"
#include "base/futex.hpp"
#include "base/last_words.hpp"
#include "base/mutex.hpp"
#include "base/patience.hpp"
#include "base/random.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "simulated/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rota::testing::detail {

using simulated::active;
using use = simulated::machine::use;

namespace {

void operate(word w, use how) noexcept {
  if (active != nullptr) active->operate(w.address, how);
}
std::uint64_t bits_of(word w) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, w.address, w.size);
  return bits;
}
void set_bits(word w, std::uint64_t bits) noexcept { std::memcpy(w.address, &bits, w.size); }
std::uint64_t cut(word w, std::uint64_t bits) noexcept {
  return w.size == 8 ? bits : bits & ((std::uint64_t{1} << (8 * w.size)) - 1);
}

}  // namespace

void begin_lifetime(const void* /*address*/) noexcept {}
void end_lifetime(const void* /*address*/) noexcept {}
void touch(const void* /*address*/, access /*how*/, std::uint64_t /*bits*/, place /*where*/) noexcept {}
void forget(const void* /*address*/, std::size_t /*size*/, place /*where*/) noexcept {}

std::uint64_t load(word w, base::order /*o*/, place /*where*/) noexcept {
  operate(w, use::read);
  return bits_of(w);
}

void store(word w, std::uint64_t bits, base::order /*o*/, place /*where*/) noexcept {
  operate(w, use::write);
  set_bits(w, bits);
}

std::uint64_t modify(
    word w, modification how, std::uint64_t operand, base::order /*o*/, place /*where*/) noexcept {
  operate(w, use::modify);
  const std::uint64_t before = bits_of(w);
  switch (how) {
    case modification::exchange: set_bits(w, operand); break;
    case modification::add: set_bits(w, before + operand); break;
    case modification::bit_or: set_bits(w, before | operand); break;
    case modification::bit_and: set_bits(w, before & operand); break;
  }
  return before;
}

bool compare_exchange(word w, exchange_request& request, place /*where*/) noexcept {
  operate(w, use::modify);
  const std::uint64_t before = bits_of(w);
  if (before != cut(w, request.expected)) {
    request.expected = before;
    return false;
  }
  set_bits(w, request.desired);
  return true;
}

void relax(place /*where*/) noexcept {
  constexpr std::int64_t a_pause = 40;
  if (active != nullptr) active->spend(a_pause);
}

}  // namespace rota::testing::detail

namespace rota::base {

using simulated::active;
using simulated::machine;

namespace {

[[noreturn]] void abort_outside(const char* what) noexcept {
  static_cast<void>(std::fprintf(stderr, "rota::simulated: %s\n", what));
  std::abort();
}

}  // namespace

bool has_heavy_barrier() noexcept { return true; }
void barrier_heavy(std::source_location /*where*/) noexcept {
  if (active != nullptr) active->barrier();
}

time_point now() noexcept { return active == nullptr ? time_point{} : active->now(); }

thread_locals& this_thread_locals() noexcept {
  static thread_locals outside;
  return active == nullptr ? outside : active->locals();
}

bool chance() noexcept { return false; }
std::uint64_t entropy() noexcept { return 0x726F'7461; }

void say_before_abort(void (* /*say*/)() noexcept) noexcept {}

void fatal(const char* what, std::uint64_t value, const char* file, unsigned line) noexcept {
  static_cast<void>(std::fprintf(
      stderr, "rota: %s: %llu at %s:%u\n", what, static_cast<unsigned long long>(value), file, line));
  std::abort();
}

// --- frames

void* allocate_frame_slowly(std::size_t bytes) { return ::operator new(std::max(bytes, std::size_t{1})); }
void free_frame_slowly(void* frame, std::size_t /*bytes*/) noexcept { ::operator delete(frame); }
void forgo_frame_lists() noexcept {}
void trim_frames() noexcept {}

// --- waits

namespace {

wait_result wait(const void* word, std::uint32_t expected, time_point deadline) noexcept {
  if (active == nullptr) abort_outside("a futex outside of a simulation");
  switch (active->futex_wait(static_cast<const std::uint32_t*>(word), expected, deadline)) {
    case machine::wake_reason::woken: return wait_result::woken;
    case machine::wake_reason::changed: return wait_result::changed;
    case machine::wake_reason::timed_out: return wait_result::timed_out;
  }
  return wait_result::woken;
}

}  // namespace

wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  return wait(&word, expected, deadline);
}

wait_result futex_wait_upper(atomic<std::uint64_t>& word,
                             std::uint32_t expected,
                             time_point deadline) noexcept {
  return wait(upper_half(&word), expected, deadline);
}

int futex_wake_upper(const atomic<std::uint64_t>* word, int count) noexcept {
  return active == nullptr ? 0 : active->futex_wake(upper_half(word), count);
}

wait_result futex_watch(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  return futex_wait(word, expected, deadline);
}

// A spin would be simulated read by read, so a waiter sleeps at once.
wait_result patience::wait(atomic<std::uint32_t>& word,
                           std::uint32_t expected,
                           time_point deadline) noexcept {
  return futex_wait(word, expected, deadline);
}
void patience::watch(const atomic<std::uint32_t>& /*word*/,
                     std::uint32_t /*expected*/,
                     time_point /*deadline*/) noexcept {}
void patience::falls_asleep() noexcept {}
void patience::wakes_up() noexcept {}

int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept {
  return active == nullptr ? 0 : active->futex_wake(word, count);
}

void mutex::lock() noexcept {
  if (active != nullptr) active->lock(&word_);
}
bool mutex::try_lock() noexcept { return active == nullptr || active->try_lock(&word_); }
void mutex::unlock() noexcept {
  if (active != nullptr) active->unlock(&word_);
}

// --- threads

std::expected<thread, std::error_code> thread::start(const char* name,
                                                     entry_function entry,
                                                     void* argument) noexcept {
  if (active == nullptr) abort_outside("a thread outside of a simulation");
  return thread(active->start_thread(name, entry, argument));
}

void thread::join_native(std::uint64_t native) noexcept {
  if (active == nullptr) abort_outside("join outside of a simulation");
  active->join_thread(static_cast<unsigned>(native));
}
void thread::detach_native(std::uint64_t /*native*/) noexcept {}

bool set_niceness(int /*nice*/) noexcept { return true; }
bool has_half_a_stack() noexcept { return true; }
unsigned usable_processors() noexcept { return 1; }
std::uint64_t this_thread_id() noexcept { return active == nullptr ? 1 : active->current() + 1; }
std::optional<nanoseconds> processor_time_of(std::uint64_t /*thread_id*/) noexcept { return std::nullopt; }
thread_state state_of_thread(std::uint64_t /*thread_id*/) noexcept { return thread_state::unknown; }
std::uint64_t this_process_id() noexcept { return 1; }
void watch_for_exit() noexcept {}
bool exits_inside_a_task() noexcept { return false; }
void yield_thread() noexcept { cpu_relax(); }
void back_off(unsigned /*looks*/) noexcept { cpu_relax(); }

}  // namespace rota::base
