// ROTA_UNINITIALIZED: a local array that is written before it is read.
//
// Hardened builds fill every local variable with zeros (-ftrivial-auto-var-init). For a buffer of a kilobyte
// that may stay unused, that costs more than the function around it.
#pragma once

#if defined(__clang__)
#define ROTA_UNINITIALIZED [[clang::uninitialized]]
#elif defined(__GNUC__) && __GNUC__ >= 12
#define ROTA_UNINITIALIZED [[gnu::uninitialized]]
#else
#define ROTA_UNINITIALIZED
#endif
