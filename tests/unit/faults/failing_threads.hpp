// Thread creation that fails on demand.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test::call {

extern constinit failing_call create_thread;

}  // namespace rota::test::call
