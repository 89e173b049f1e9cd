// The driver's calls, which fail on demand.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test {

namespace call {
extern constinit failing_call poll;
}

/// What the driver's events for the descriptor that was watched last begin with.
[[nodiscard]] std::uint64_t last_key() noexcept;

}  // namespace rota::test
