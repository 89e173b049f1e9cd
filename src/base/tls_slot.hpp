// Thread-local storage, in one place.
//
// A coroutine may resume on another thread, and a compiler may keep the address of a thread_local across the suspension.
// So no coroutine names it: frames reach it through functions of the library, which are compiled elsewhere.
#pragma once

#include "base/patience.hpp"

#include <cstdint>

namespace rota::base {

/// What rota keeps for each thread. The rooms above know what their pointers point to.
struct thread_locals {
  void* worker = nullptr;       // sched: the worker whose role this thread plays
  void* task = nullptr;         // task: the header that runs here
  void* forks = nullptr;        // task: where tasks may fork on this thread
  void* births = nullptr;       // task: the range of births that this thread owns
  void* outside_run = nullptr;  // task: what the watchdog reads of the task that runs here without a role
  std::uint64_t kernel_id = 0;  // task: of this thread, in the process that is noted beside it
  std::uint64_t kernel_id_in = 0;
  std::uint64_t next_id = 0;  // task: ids are taken in blocks
  std::uint64_t last_id = 0;
  unsigned nesting = 0;      // task: tasks run inside one another by blocking joins
  unsigned helps = 0;        // task: nested joins that help
  void* in_place = nullptr;  // task: the innermost blocking section that this thread is inside of
  unsigned destroying = 0;   // task: frames that are being destroyed one inside the other
  unsigned dropping = 0;     // task: frames that the library destroys, one inside the other: no reports
  void* doomed = nullptr;    // task: frames that wait for that to end
  void* hooks = nullptr;     // task: the cancel hooks that this thread is about to call, while it calls them
  void* closure = nullptr;   // runtime: the turn of the closure that runs here
  void* consumer = nullptr;  // gate: the consumer of an executor that this thread is
  void* mailbox = nullptr;   // gate: the mailbox whose handler runs here
  void* seat = nullptr;      // pool: the seat of a thread of a crew's
  void* work = nullptr;      // pool: the work that runs here
  void* helping = nullptr;   // pool: the task that this thread is in a foreign_call inside of
  unsigned turn = 0;         // pool: which queue is next
  void* modifier = nullptr;  // channel: the innermost function of a send_modify that runs here
  unsigned guarded = 0;      // task: sections under the lock of a primitive, counted in builds with asserts
  std::uint64_t draws = 0;   // task: how often somebody who would be fair has asked
  patience waits;            // base: what this thread has learnt of its blocking waits
  std::uintptr_t half_stack = 0;  // base: the address in the middle of its stack, once somebody has asked
  bool frames_closed = false;     // base: this thread is ending
};

#if ROTA_MODEL
/// This fibre's.
thread_locals& this_thread_locals() noexcept;
#else
/// Defined in linux/tls_slot.cpp. constinit, so that nobody asks whether it was initialised.
extern constinit thread_local thread_locals locals_of_thread;

/// This thread's. Not to be called in a coroutine.
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
