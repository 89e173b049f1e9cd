// Calls of the ring, which fail on demand; and a kernel that lacks one.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test {

namespace call {
extern constinit failing_call make_ring;
extern constinit failing_call submit_to_ring;
}  // namespace call

/// From now on a ring that is made hears that the kernel does not know this IORING_OP_*; -1: it knows all that it does.
void lack_ring_call(int code) noexcept;

}  // namespace rota::test
