#include "task/thread_ports.hpp"

#include "task/outside_polls.hpp"

namespace rota::core {

namespace {

void* nothing_to_lend() noexcept {
  rest_outside_run();
  return nullptr;
}
void nothing_lent(void* /*lent*/) noexcept { resume_outside_run(); }
const thread_ports& always_plain() noexcept { return plain_thread; }
const thread_ports* no_seat() noexcept { return nullptr; }

constexpr force_ports nobody_forces{
    .sleeps_on = [](base::atomic<std::uint32_t>*) noexcept {},
    .is_forced = []() noexcept { return false; },
    .throw_forced = [] {},
};

constinit base::atomic<ports_of_thread> installed{always_plain};
constinit base::atomic<ports_of_seat> of_seats{no_seat};
constinit base::atomic<const force_ports*> of_force{&nobody_forces};

}  // namespace

constinit const thread_ports plain_thread{nothing_to_lend, nothing_lent, nullptr};

void install_thread_ports(ports_of_thread function) noexcept {
  // release: pairs with the acquire in current_thread_ports(): what the ports refer to is built.
  installed.store(function, base::order::release);
}

void install_seat_ports(ports_of_seat function) noexcept {
  // release: same reason as in install_thread_ports().
  of_seats.store(function, base::order::release);
}

const thread_ports& current_thread_ports() noexcept {
  // acquire: pairs with the release in install_seat_ports().
  const thread_ports* const of_seat = of_seats.load(base::order::acquire)();
  // acquire: pairs with the release in install_thread_ports().
  return of_seat != nullptr ? *of_seat : installed.load(base::order::acquire)();
}

void install_force_ports(const force_ports& ports) noexcept {
  // release: pairs with the acquire in current_force_ports().
  of_force.store(&ports, base::order::release);
}

const force_ports& current_force_ports() noexcept {
  // acquire: pairs with the release in install_force_ports().
  return *of_force.load(base::order::acquire);
}

}  // namespace rota::core
