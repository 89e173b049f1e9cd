// Memory of coroutine frames.
#pragma once

#include <cstddef>

#include <rota/detail/frames.hpp>
