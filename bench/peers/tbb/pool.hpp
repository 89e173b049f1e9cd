// The cases of the suite `pool`.
#pragma once

#include "support/forkjoin_peer.hpp"

#include <span>

namespace peer {

extern const std::span<const one_case> pool_cases;

}  // namespace peer
