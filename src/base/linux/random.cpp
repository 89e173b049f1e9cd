#include "base/random.hpp"

#include "base/clock.hpp"

#include <sys/random.h>

namespace rota::base {

std::uint64_t entropy() noexcept {
  std::uint64_t value = 0;
  // A kernel that has no randomness yet gives less than eight bytes. Then the clock serves, since this is not
  // for secrets.
  if (::getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) {
    value ^= static_cast<std::uint64_t>(now().time_since_epoch().count());
  }
  return value;
}

}  // namespace rota::base
