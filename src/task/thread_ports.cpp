#include "task/thread_ports.hpp"

namespace rota::core {

namespace {

void* nothing_to_lend() noexcept { return nullptr; }
void nothing_lent(void* /*lent*/) noexcept {}
const thread_ports& always_plain() noexcept { return plain_thread; }

constinit base::atomic<ports_of_thread> installed{always_plain};

}  // namespace

constinit const thread_ports plain_thread{nothing_to_lend, nothing_lent, nullptr};

void install_thread_ports(ports_of_thread function) noexcept {
  // release. Pairs with the acquire in current_thread_ports(): what the ports refer to is built.
  installed.store(function, base::order::release);
}

const thread_ports& current_thread_ports() noexcept {
  // acquire. Pairs with install_thread_ports().
  return installed.load(base::order::acquire)();
}

}  // namespace rota::core
