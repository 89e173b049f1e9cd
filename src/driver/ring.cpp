#include "driver/ring.hpp"

#include <rota/error.hpp>

#include <array>
#include <new>

namespace rota::driver {

using base::sys::ring_call;

std::expected<std::unique_ptr<ring>, std::error_code> ring::make(const sizes& wanted) noexcept {
  std::unique_ptr<ring> made(new (std::nothrow) ring(wanted));
  if (made == nullptr) return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  if (const std::error_code failed = made->kernel_.open(wanted.entries, wanted.completions))
    return std::unexpected(failed);
  for (const ring_call needed : {ring_call::read,
                                 ring_call::write,
                                 ring_call::read_v,
                                 ring_call::write_v,
                                 ring_call::sync,
                                 ring_call::cancel}) {
    if (!made->can(needed)) return std::unexpected(make_error_code(errc::unsupported));
  }
  return made;
}

ring::~ring() { ROTA_ASSERT(in_flight() == 0); }

unsigned ring::reap(core::driver_event* into, unsigned most) noexcept {
  if (kernel_.has_overflown()) {
    // relaxed: a counter; one thread at a time.
    overflows_.fetch_add(1, base::order::relaxed);
    kernel_.fetch_overflown();
  }
  std::array<base::sys::ring_completion, 32> found;
  const unsigned count =
      kernel_.reap(found.data(), most < found.size() ? most : static_cast<unsigned>(found.size()));
  for (unsigned i = 0; i < count; ++i) into[i] = {found[i].key, static_cast<std::uint32_t>(found[i].result)};
  return count;
}

}  // namespace rota::driver
