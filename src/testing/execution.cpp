#include <rota/testing/explore.hpp>

#include "base/clock.hpp"
#include "testing/machine.hpp"

namespace rota::testing {

callable<int>& execution::add_thread(const char* name, bool daemon) {
  return machine_.add_thread(name, daemon);
}
callable<int>& execution::add_finally() { return machine_.add_finally(); }
callable<std::string&>& execution::add_dump() { return machine_.add_dump(); }
void* execution::allocate(std::size_t size, std::size_t alignment) {
  return machine_.make_room(size, alignment);
}
void execution::own(void* object, void (*destroy)(void*) noexcept) { machine_.own(object, destroy); }

void fail(const char* what) noexcept {
  if (detail::active != nullptr) detail::active->fail(std::string("check failed: ") + what);
  detail::abort_outside(what);
}

std::chrono::steady_clock::time_point now() noexcept { return base::now(); }

unsigned choose(unsigned count) noexcept {
  return detail::active == nullptr ? 0 : detail::active->choose(count);
}

void track_new(const void* object, const char* what) noexcept {
  if (detail::active != nullptr)
    detail::active->allocated({object, 0, what, detail::active->current(), nullptr});
}

void track_delete(const void* object) noexcept {
  if (detail::active != nullptr) detail::active->freed(object, 0);
}

namespace detail {

void on_allocate(void* address,
                 std::size_t size,
                 const char* what,
                 void (*release)(void*) noexcept) noexcept {
  if (active != nullptr) active->allocated({address, size, what, active->current(), release});
}

void on_free(void* address, std::size_t size) noexcept {
  if (active != nullptr) active->freed(address, size);
}

}  // namespace detail

}  // namespace rota::testing
