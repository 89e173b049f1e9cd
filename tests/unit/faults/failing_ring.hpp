// Calls of the ring that fail on demand, and a kernel that lacks one operation.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test {

namespace call {
extern constinit failing_call make_ring;
extern constinit failing_call submit_to_ring;
}  // namespace call

/// New rings report that the kernel lacks this IORING_OP_*; with -1 they report the truth.
void lack_ring_call(int code) noexcept;

}  // namespace rota::test
