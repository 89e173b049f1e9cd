// The seam's public face: everything in rota that touches shared memory goes through these names.
//
// One source, two machines. The ordinary build maps each name to one instruction. The model build
// (ROTA_MODEL, library `rota::testing`) maps it to a step of a deterministic scheduler that explores
// interleavings. Code that includes a rota header must be built for the same machine as the library: the
// guard symbols in guard.hpp turn a mix into a link error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <rota/detail/config.hpp>

#if ROTA_MODEL
#include <rota/detail/base_model.hpp>
#else
#include <rota/detail/base_native.hpp>
#endif
