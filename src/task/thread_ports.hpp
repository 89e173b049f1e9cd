// What a thread does around a wait that blocks it. `runtime` sets this for the threads of its workers.
#pragma once

#include "task/header.hpp"

namespace rota::core {

struct thread_ports {
  /// Called before this thread blocks: lends its worker's role to another thread. The result is passed to
  /// `after_block`: what is to be taken back; null for nothing.
  void* (*before_block)() noexcept;
  void (*after_block)(void* lent) noexcept;
  /// Runs one task from this thread's queues, or a stolen one. Returns false if there is none now. Null on a
  /// thread without queues.
  bool (*help_once)() noexcept;
};

/// The ports of a thread that plays no worker's role.
extern const thread_ports plain_thread;

/// Installs the function that returns the ports of the calling thread. Called once, by the first runtime.
using ports_of_thread = const thread_ports& (*)() noexcept;
void install_thread_ports(ports_of_thread function) noexcept;
/// Installs the function for the threads of pools, which is asked first. Called once, by the first pool. The
/// function returns null on any other thread.
using ports_of_seat = const thread_ports* (*)() noexcept;
void install_seat_ports(ports_of_seat function) noexcept;
[[nodiscard]] const thread_ports& current_thread_ports() noexcept;

/// What a blocked thread does so that a force stop can end its wait.
struct force_ports {
  /// Notes that the thread is going to sleep on `word`, and will read it again after each wake. A thread that
  /// gives the order raises the word by one, and wakes the address. Null: it no longer sleeps there; after
  /// this call no thread touches the word.
  void (*sleeps_on)(base::atomic<std::uint32_t>* word) noexcept;
  /// Returns true if the thread was forced. Called after it has read the word on which it is going to sleep.
  bool (*is_forced)() noexcept;
  /// Throws the exception that reports the force stop. The thread sleeps on nothing, and has given up what it
  /// waited for.
  void (*throw_forced)();
};

/// Installs the ports. Called once, by the first pool; before that no thread is forced.
void install_force_ports(const force_ports& ports) noexcept;
[[nodiscard]] const force_ports& current_force_ports() noexcept;

}  // namespace rota::core
