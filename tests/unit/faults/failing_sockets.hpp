// Calls on sockets that fail on demand.
#pragma once

#include "unit/faults/failing_calls.hpp"

namespace rota::test::call {

extern constinit failing_call accept;
extern constinit failing_call receive;
extern constinit failing_call send;

}  // namespace rota::test::call
