// The room's door to atomics; see rota/detail/base.hpp.
#pragma once

#include <rota/detail/base.hpp>
