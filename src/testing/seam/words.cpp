// The model's side of rota/detail/base_model.hpp.
#include "testing/machine.hpp"

#include <type_traits>

namespace rota::testing::detail {

namespace {

// Outside of executions a word is a plain atomic; the order is the strongest, since a weaker one would gain
// nothing there.
template <class F>
auto as_sized(word w, F f) noexcept {
  switch (w.size) {
    case 1: return f(static_cast<std::uint8_t*>(w.address));
    case 2: return f(static_cast<std::uint16_t*>(w.address));
    case 4: return f(static_cast<std::uint32_t*>(w.address));
    default: return f(static_cast<std::uint64_t*>(w.address));
  }
}

template <class T>
bool plain_exchange(T* value, exchange_request& request) noexcept {
  auto expected = static_cast<T>(request.expected);
  const bool done = __atomic_compare_exchange_n(
      value, &expected, static_cast<T>(request.desired), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  request.expected = expected;
  return done;
}

std::uint64_t plain_load(word w) noexcept {
  return as_sized(w, [](auto* value) { return std::uint64_t{__atomic_load_n(value, __ATOMIC_SEQ_CST)}; });
}

std::uint64_t plain_modify(word w, modification how, std::uint64_t operand) noexcept {
  exchange_request request{plain_load(w), 0, base::order::seq_cst, base::order::seq_cst, false};
  do {
    request.desired = modified(how, request.expected, operand);
  } while (!as_sized(w, [&](auto* value) { return plain_exchange(value, request); }));
  return request.expected;
}

}  // namespace

void begin_lifetime(const void* address) noexcept {
  if (active != nullptr) active->begin_lifetime(address);
}

void end_lifetime(const void* address) noexcept {
  if (active != nullptr) active->end_lifetime(address);
}

std::uint64_t load(word w, base::order o, place where) noexcept {
  return active != nullptr ? active->load(w, o, where) : plain_load(w);
}

void store(word w, std::uint64_t bits, base::order o, place where) noexcept {
  if (active != nullptr) return active->store(w, bits, o, where);
  (void)plain_modify(w, modification::exchange, bits);
}

std::uint64_t modify(word w, modification how, std::uint64_t operand, base::order o, place where) noexcept {
  return active != nullptr ? active->modify(w, how, operand, o, where) : plain_modify(w, how, operand);
}

bool compare_exchange(word w, exchange_request& request, place where) noexcept {
  if (active != nullptr) return active->compare_exchange(w, request, where);
  return as_sized(w, [&](auto* value) { return plain_exchange(value, request); });
}

void touch(const void* address, access how, std::uint64_t bits, place where) noexcept {
  if (active != nullptr) active->touch(address, how, bits, where);
}

void forget(const void* address, std::size_t size, place where) noexcept {
  if (active != nullptr) active->forget(address, size, where);
}

void relax(place where) noexcept {
  if (active != nullptr) active->relax(where);
}

}  // namespace rota::testing::detail
