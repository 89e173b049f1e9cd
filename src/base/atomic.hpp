// Atomics, for the library's own files; see rota/detail/base.hpp.
#pragma once

#include <rota/detail/base.hpp>
