// The driver's system calls, which fail on demand.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test {

namespace call {
extern constinit failing_call poll;
}

/// Returns the key of events for the descriptor that was watched last.
[[nodiscard]] std::uint64_t last_key() noexcept;

}  // namespace rota::test
