// From how a child ended to what its parent throws.
#pragma once

#include <rota/detail/family.hpp>

namespace rota::core {

/// Throws the child's exception, or `cancelled_error`. Returns if the child ended with a value.
void rethrow(ending how);

}  // namespace rota::core
