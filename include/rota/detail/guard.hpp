// A link-time guard. clang and g++ mangle constrained templates differently and lay out some classes
// differently. The model build changes every atomic. A program that mixes them links and is silently wrong.
// So the library defines one symbol that is named after its compiler, and every file that includes rota
// refers to the symbol that it needs:
//   undefined reference to `rota_library_was_not_built_with_gcc_12_as_this_file_was'
// means: rebuild rota with g++ 12, or your program with rota's compiler. find_package(rota) reports the
// mismatch earlier.
#pragma once

#define ROTA_DETAIL_JOIN_(a, b) a##b
#define ROTA_DETAIL_JOIN(a, b) ROTA_DETAIL_JOIN_(a, b)
#define ROTA_DETAIL_AS_THIS_FILE(a) ROTA_DETAIL_JOIN(a, _as_this_file_was)

#if defined(__clang__)
#define ROTA_DETAIL_COMPILER ROTA_DETAIL_JOIN(clang_, __clang_major__)
#else
#define ROTA_DETAIL_COMPILER ROTA_DETAIL_JOIN(gcc_, __GNUC__)
#endif

#if defined(ROTA_MODEL) && ROTA_MODEL
#define ROTA_DETAIL_GUARD \
  ROTA_DETAIL_AS_THIS_FILE(ROTA_DETAIL_JOIN(rota_model_library_was_not_built_with_, ROTA_DETAIL_COMPILER))
#else
#define ROTA_DETAIL_GUARD \
  ROTA_DETAIL_AS_THIS_FILE(ROTA_DETAIL_JOIN(rota_library_was_not_built_with_, ROTA_DETAIL_COMPILER))
#endif

extern "C" {
[[gnu::visibility("default")]] extern const char ROTA_DETAIL_GUARD;
}

namespace rota::detail {
[[gnu::used]] static const char* const link_guard = &ROTA_DETAIL_GUARD;
}  // namespace rota::detail
