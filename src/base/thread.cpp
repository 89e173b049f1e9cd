// The checks of a thread's handle, for every implementation of threads.
#include "base/thread.hpp"

#include <rota/detail/config.hpp>

namespace rota::base {

thread& thread::operator=(thread&& other) noexcept {
  if (joinable()) ROTA_FATAL("a thread was assigned to before it was joined", native_);
  native_ = std::exchange(other.native_, 0);
  return *this;
}

thread::~thread() {
  if (joinable()) ROTA_FATAL("a thread was destroyed before it was joined", native_);
}

void thread::join() noexcept {
  if (!joinable()) ROTA_FATAL("join of a thread that is not joinable", native_);
  join_native(std::exchange(native_, 0));
}

void thread::detach() noexcept {
  if (!joinable()) ROTA_FATAL("detach of a thread that is not joinable", native_);
  detach_native(std::exchange(native_, 0));
}

}  // namespace rota::base
