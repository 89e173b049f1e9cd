// Thread-local storage, in one place.
//
// A coroutine may resume on another thread, and a compiler may keep the address of a thread_local across the
// suspension. So no coroutine names a thread_local: coroutines reach it through functions of the library,
// which are compiled elsewhere.
#pragma once

#include "base/patience.hpp"

#include <cstdint>

namespace rota::base {

/// The data that rota keeps for each thread. The modules above know the types of the objects that are pointed
/// to.
struct thread_locals {
  void* worker = nullptr;       // sched: the worker role that this thread plays
  void* task = nullptr;         // task: the header that runs here
  void* forks = nullptr;        // task: the fork_context of this thread, if tasks may fork on it
  void* births = nullptr;       // task: the range of births that this thread owns
  void* outside_run = nullptr;  // task: what the watchdog reads of the task that runs here without a role
  std::uint64_t kernel_id = 0;  // task: id of this thread in the process that the next field names
  std::uint64_t kernel_id_in = 0;
  std::uint64_t next_id = 0;  // task: ids are taken in blocks
  std::uint64_t last_id = 0;
  unsigned nesting = 0;      // task: depth of tasks that blocking joins run inside one another
  unsigned helps = 0;        // task: depth of nested joins that help
  void* in_place = nullptr;  // task: the innermost blocking section that this thread is inside of
  unsigned destroying = 0;   // task: depth of frames that are being destroyed inside one another
  unsigned dropping = 0;     // task: depth of frames that the library destroys: then nothing is reported
  void* doomed = nullptr;    // task: frames that are destroyed once that depth has become smaller
  void* hooks = nullptr;     // task: the cancel hooks that this thread is about to call, while it calls them
  void* closure = nullptr;   // runtime: the `turn` of the closure that runs here
  void* consumer = nullptr;  // gate: the consumer of an executor that this thread is
  void* mailbox = nullptr;   // gate: the mailbox that this thread runs the handler of
  void* seat = nullptr;      // pool: the thread slot, if this thread is one of the pool's
  void* work = nullptr;      // pool: the work that runs here
  void* helping = nullptr;   // pool: the task that this thread is in a foreign_call inside of
  unsigned turn = 0;         // pool: which queue is next
  void* modifier = nullptr;  // channel: the innermost function of a send_modify that runs here
  unsigned guarded = 0;      // task: sections under the lock of a primitive, counted in builds with asserts
  std::uint64_t draws = 0;   // task: how many random numbers this thread has drawn for fair choices
  patience waits;            // base: what this thread has learnt of its blocking waits
  std::uintptr_t half_stack = 0;  // base: the address of the middle of its stack, or 0 before it was computed
  bool frames_closed = false;     // base: this thread is ending
};

#if ROTA_MODEL
/// Returns the data of this fibre.
thread_locals& this_thread_locals() noexcept;
#else
/// Defined in linux/tls_slot.cpp. constinit: no access checks whether it was initialised.
extern constinit thread_local thread_locals locals_of_thread;

/// Returns the data of this thread. Do not call it in a coroutine.
inline thread_locals& this_thread_locals() noexcept {
#if ROTA_DETAIL_HIDE_TLS
  // g++ 12 with -fsanitize=undefined: see docs/compilers.md.
  thread_locals* here = &locals_of_thread;
  asm("" : "+r"(here));
  return *here;
#else
  return locals_of_thread;
#endif
}
#endif

}  // namespace rota::base
