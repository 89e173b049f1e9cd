#include "base/sys/processes.hpp"

#include "base/linux/call.hpp"

namespace rota::base::sys {

result<void> set_signal_action(int number, const struct sigaction& next, struct sigaction* before) noexcept {
  return done(::sigaction(number, &next, before));
}

}  // namespace rota::base::sys
