// From how a child ended to what its parent throws.
#pragma once

#include <rota/detail/family.hpp>

namespace rota::core {

/// Throws what the child threw, or `cancelled_error`; returns if it was neither.
void rethrow(ending how);

}  // namespace rota::core
