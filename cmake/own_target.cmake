# rota_own_target(<target> [AS_USERS | AS_TEST [OPTIMISED_IN_PART]]): sets the flags of rota's own targets.
# All are PRIVATE: a program that uses rota gets none of them.
# AS_USERS: compiled without the hardening flags, as a user's program is by default.
# AS_TEST: in RelWithDebInfo compiled with line numbers only. The library that a test calls is compiled as usual.
#   ROTA_OPTIMISE_TESTS=OFF: at -O0 and without the hardening flags, which takes less than half of the time.
#   ROTA_OPTIMISE_TESTS=PART: the same, except for tests that are OPTIMISED_IN_PART, which are the api tests and the models.
#   Under AddressSanitizer: at -O0.
#
# Deliberately absent: -fcoro-aligned-allocation. It changes which operator new a coroutine frame uses, g++ has nothing
# like it, and rota aligns only members of its own objects, never locals of coroutines.

set(_rota_warnings -Wall -Wextra -Wshadow -Wconversion)
if(ROTA_WERROR)
  list(APPEND _rota_warnings -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O0 g++ assigns a coroutine's own operator delete to another operator new: see docs/compilers.md.
  list(APPEND _rota_warnings -Wno-mismatched-new-delete)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  # At -O3 and with some -march g++ 12 wrongly warns that an assignment to a std::string, or a sum of two, copies a string onto itself
  # (GCC bugs 105329, 105651).
  list(APPEND _rota_warnings -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT ROTA_SANITIZE STREQUAL none)
  # GCC's manual: with -fsanitize these two warnings have false positives for the instrumented code.
  list(APPEND _rota_warnings -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()

set(_rota_sanitize_compile "")
set(_rota_sanitize_link "")
if(NOT ROTA_SANITIZE STREQUAL none)
  if(ROTA_SANITIZE STREQUAL address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # With `undefined` in addition g++ takes nearly twice as long. The preset ubsan-gcc does that.
    set(_rota_sanitize_link -fsanitize=address)
  elseif(ROTA_SANITIZE STREQUAL address)
    set(_rota_sanitize_link -fsanitize=address,undefined)
  else()
    set(_rota_sanitize_link -fsanitize=${ROTA_SANITIZE})
  endif()
  # clang detects the use of a destroyed frame only at -O0, g++ at every level.
  set(_rota_level -O1)
  if(ROTA_SANITIZE STREQUAL address AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(_rota_level -O0)
  endif()
  # -g1: a report names functions and lines. Full debug information would take a quarter of g++'s time.
  # Without -fno-sanitize-recover a program exits with 0 after a report of UBSan.
  set(_rota_sanitize_compile ${_rota_sanitize_link} ${_rota_level} -g1 -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ treats the address of a thread_local as null: see docs/compilers.md.
    list(APPEND _rota_sanitize_compile -DROTA_DETAIL_HIDE_TLS=1)
  endif()
endif()

set(_rota_asserted OFF)
if(_rota_asserts STREQUAL on
   OR (_rota_asserts STREQUAL auto AND (CMAKE_BUILD_TYPE STREQUAL Debug OR NOT ROTA_SANITIZE STREQUAL none)))
  set(_rota_asserted ON)
endif()

set(_rota_harden_compile "")
set(_rota_harden_link "")
set(_rota_harden_program "")
if(ROTA_HARDEN)
  set(_rota_harden_compile
      -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS -fstack-protector-strong -fstack-clash-protection
      -ftrivial-auto-var-init=zero)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND _rota_harden_compile -fcf-protection=full)
  endif()
  set(_rota_harden_link -Wl,-z,relro,-z,now,-z,noexecstack)
  # Not on librota.so: a plug-in that uses rota may be opened at run time.
  set(_rota_harden_program -pie -Wl,-z,nodlopen)
endif()

set(_rota_linker "")
if(PROJECT_IS_TOP_LEVEL)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    string(REGEX MATCH "^[0-9]+" _rota_major "${CMAKE_CXX_COMPILER_VERSION}")
    find_program(ROTA_LLD_${_rota_major} ld.lld-${_rota_major})
    mark_as_advanced(ROTA_LLD_${_rota_major})
    if(ROTA_LLD_${_rota_major})
      set(_rota_linker -fuse-ld=lld-${_rota_major})
    endif()
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND EXISTS /usr/lib/llvm-19/bin/ld.lld)
    set(_rota_linker -B/usr/lib/llvm-19/bin -fuse-ld=lld)
  endif()
endif()

function(rota_own_target target)
  get_target_property(type ${target} TYPE)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_compile_options(${target} PRIVATE ${_rota_warnings} ${_rota_sanitize_compile})
  if(AS_TEST IN_LIST ARGN AND CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)
    target_compile_options(${target} PRIVATE -g1)
  endif()
  if(AS_TEST IN_LIST ARGN AND ROTA_SANITIZE STREQUAL address)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(AS_TEST IN_LIST ARGN AND (ROTA_OPTIMISE_TESTS STREQUAL OFF
                               OR (ROTA_OPTIMISE_TESTS STREQUAL PART AND NOT OPTIMISED_IN_PART IN_LIST ARGN)))
    target_compile_options(${target} PRIVATE -O0)
    if(_rota_asserted)
      target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    endif()
  elseif(NOT AS_USERS IN_LIST ARGN)
    target_compile_options(${target} PRIVATE ${_rota_harden_compile})
  endif()
  if(_rota_asserted)
    target_compile_options(${target} PRIVATE -UNDEBUG)
    if(NOT ROTA_HARDEN)
      target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    endif()
  endif()
  target_link_options(${target} PRIVATE ${_rota_linker} ${_rota_sanitize_link} ${_rota_harden_link})
  if(type STREQUAL EXECUTABLE)
    target_link_options(${target} PRIVATE ${_rota_harden_program})
  endif()
endfunction()

# rota_unity(<target> <batch>): compiles <batch> source files as one translation unit, so that headers are read and templates are
# instantiated once for all of them. With ROTA_UNITY=OFF each source file is a translation unit.
function(rota_unity target batch)
  if(ROTA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # g++ treats a source file of a batch as a header, in which an anonymous namespace would be wrong.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()
