#include <rota/channel/broadcast.hpp>

#include <stdexcept>
#include <string>

namespace rota::channel::detail {

void demand_broadcast_capacity(std::uint64_t capacity) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31U;
  if (capacity == 0 || capacity > most)
    throw std::invalid_argument("channel::broadcast: capacity is " + std::to_string(capacity) +
                                ": must be 1.." + std::to_string(most));
}

}  // namespace rota::channel::detail
