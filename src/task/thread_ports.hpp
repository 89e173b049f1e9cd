// What a thread must do around a wait that blocks it. Set by `runtime` for the threads of its workers.
#pragma once

#include "task/header.hpp"

namespace rota::core {

struct thread_ports {
  /// This thread is about to block: lends its worker's role to another thread. The result is given to `after_block`.
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
[[nodiscard]] const thread_ports& current_thread_ports() noexcept;

}  // namespace rota::core
