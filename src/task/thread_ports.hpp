// What a thread must do around a wait that blocks it. Set by `runtime` for the threads of its workers.
#pragma once

#include "task/header.hpp"

namespace rota::core {

struct thread_ports {
  /// This thread is about to block: lends its worker's role to another thread. The result is given to `after_block`: what there is to take
  /// back, null for nothing.
  void* (*before_block)() noexcept;
  void (*after_block)(void* lent) noexcept;
  /// Runs one task from this thread's queues, or one stolen. False: there is none now. Null on a thread without queues.
  bool (*help_once)() noexcept;
};

/// The ports of a thread that plays no worker's role.
extern const thread_ports plain_thread;

/// Installed once, by the first runtime: which ports this thread has now.
using ports_of_thread = const thread_ports& (*)() noexcept;
void install_thread_ports(ports_of_thread function) noexcept;
/// Installed once, by the first pool, and asked first: those of its threads. Null: this is none.
using ports_of_seat = const thread_ports* (*)() noexcept;
void install_seat_ports(ports_of_seat function) noexcept;
[[nodiscard]] const thread_ports& current_thread_ports() noexcept;

/// What a thread that blocks does so that it can be forced on.
struct force_ports {
  /// It is going to sleep on `word`, and then looks at it again and again: who gives the order raises it by one, and wakes it. Null: it
  /// no longer does; when this has returned nobody will touch the word.
  void (*sleeps_on)(base::atomic<std::uint32_t>* word) noexcept;
  /// Asked after the word was read on which it is going to sleep.
  bool (*is_forced)() noexcept;
  /// It was: throws what says so. It sleeps on nothing, and has given up what it waited for.
  void (*throw_forced)();
};

/// Installed once, by the first pool: nobody forces anybody before.
void install_force_ports(const force_ports& ports) noexcept;
[[nodiscard]] const force_ports& current_force_ports() noexcept;

}  // namespace rota::core
