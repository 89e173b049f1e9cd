// The seam's public face: everything in rota that touches shared memory goes through these names.
//
// One source, two machines. The ordinary build maps each name to one instruction; the model build (ROTA_MODEL, library
// `rota::testing`) maps it to a step of a deterministic scheduler that explores interleavings. Whoever includes a rota
// header must be built the way the library was: the guard symbols in guard.hpp turn a mix into a link error.
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
