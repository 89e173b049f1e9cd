# tests/fuzz/<name>_fuzz.cpp is a libFuzzer target; `./dev fuzz` runs it.
#
#   fuzz_<name>       runs the committed inputs, tests/fuzz/corpus/<name>.tar.xz, once: a unit test, with every compiler
#   libfuzzer_<name>  the fuzzer itself, with AddressSanitizer and UBSan; only with clang, and only when it is asked for
#
# A target that includes "file_server/..." fuzzes the parsers of that example, and is left out if a package that they need is missing.
# A target that includes <rota/tls/...> fuzzes librota_tls, if that is built. Every other target fuzzes modules of librota. The last two
# kinds may include src/.

include("${CMAKE_CURRENT_LIST_DIR}/corpus.cmake")
set(_rota_fuzz_folder "${PROJECT_SOURCE_DIR}/tests/fuzz")
set(_rota_fuzz_flags -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
set(_rota_can_fuzz OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND ROTA_SANITIZE STREQUAL none)
  set(_rota_can_fuzz ON)
endif()

# rota_instrumented(<target> <files>...): adds an instrumented library for libfuzzer_<name>.
function(rota_instrumented target)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_compile_options(${target} PUBLIC ${_rota_warnings} ${_rota_fuzz_flags} -UNDEBUG)
  target_link_options(${target} PUBLIC ${_rota_linker} ${_rota_fuzz_flags})
  target_link_libraries(${target} PUBLIC Threads::Threads)
endfunction()

if(_rota_can_fuzz)
  rota_instrumented(rota_rooms_instrumented ${ROTA_SOURCES})
  target_include_directories(
    rota_rooms_instrumented PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
  )
  rota_use_components(rota_rooms_instrumented)
  if(TARGET rota_tls)
    rota_instrumented(rota_tls_instrumented ${ROTA_TLS_SOURCES})
    target_include_directories(rota_tls_instrumented PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(rota_tls_instrumented PUBLIC rota_rooms_instrumented PRIVATE ${ROTA_TLS_USES})
  endif()
endif()

set(_rota_fuzz_lacks "the examples")
if(ROTA_BUILD_EXAMPLES)
  rota_example_lacks(_rota_fuzz_lacks file_server)
endif()
if(NOT _rota_fuzz_lacks)
  # The files that parse client input do not use the runtime, so the fuzzers consist of these files only. The programs that run the
  # committed inputs link all parts of the server, which are compiled anyway.
  rota_example_parts(_rota_fuzzed file_server)
  list(FILTER _rota_fuzzed EXCLUDE REGEX "/(access_log|connections|encryption_[a-z_]+|options|serve_connection|server|session|session_send|transport)\\.cpp$")
  add_library(rota_fuzzed INTERFACE)
  target_include_directories(rota_fuzzed INTERFACE "${PROJECT_SOURCE_DIR}/examples")
  target_link_libraries(rota_fuzzed INTERFACE example_file_server_parts)
  if(_rota_can_fuzz)
    rota_instrumented(rota_fuzzed_instrumented ${_rota_fuzzed})
    target_include_directories(rota_fuzzed_instrumented PUBLIC "${PROJECT_SOURCE_DIR}/examples")
    target_include_directories(rota_fuzzed_instrumented SYSTEM PRIVATE "${ROTA_BOOST_INCLUDE}")
  endif()
endif()

# rota_fuzz_target(<name> <library>): adds the two programs of a target.
function(rota_fuzz_target name library)
  set(file "${_rota_fuzz_folder}/${name}_fuzz.cpp")
  add_executable(fuzz_${name} "${file}" "${_rota_fuzz_folder}/run_corpus.cpp")
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/fuzz")
  rota_own_target(fuzz_${name} AS_TEST)
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(fuzz_${name} PRIVATE ${library})
  add_dependencies(rota_tests_unit fuzz_${name})
  set(inputs "${PROJECT_BINARY_DIR}/tests/fuzz/corpus/${name}")
  set(archive "${_rota_fuzz_folder}/corpus/${name}.tar.xz")
  if(archive IN_LIST _rota_fuzz_archives)
    rota_unpack(corpus_${name} "${archive}" "${inputs}")
  else()
    # A new target: the test fails until it has inputs, which `./dev fuzz` finds and `./dev fuzz --merge` stores.
    add_custom_target(corpus_${name} COMMAND "${CMAKE_COMMAND}" -E make_directory "${inputs}")
  endif()
  add_dependencies(fuzz_${name} corpus_${name})
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} "${inputs}")
  set_tests_properties(
    fuzz.${name} PROPERTIES LABELS unit TIMEOUT ${ROTA_TEST_TIMEOUT} SKIP_REGULAR_EXPRESSION "^skipped: "
  )

  if(_rota_can_fuzz)
    add_executable(libfuzzer_${name} EXCLUDE_FROM_ALL "${file}")
    set_target_properties(libfuzzer_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/libfuzzer")
    target_include_directories(libfuzzer_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(libfuzzer_${name} PRIVATE ${library}_instrumented)
    add_dependencies(libfuzzer_${name} corpus_${name})
  endif()
endfunction()

file(GLOB _rota_fuzz_archives CONFIGURE_DEPENDS "${_rota_fuzz_folder}/corpus/*.tar.xz")
file(GLOB _rota_fuzz_files CONFIGURE_DEPENDS "${_rota_fuzz_folder}/*_fuzz.cpp")
foreach(file IN LISTS _rota_fuzz_files)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "_fuzz$" "" name "${name}")
  file(STRINGS "${file}" _rota_of_the_server REGEX "^#include \"file_server/")
  file(STRINGS "${file}" _rota_of_tls REGEX "^#include <rota/tls/")
  if(_rota_of_tls)
    if(TARGET rota_tls)
      rota_fuzz_target(${name} rota_tls)
    endif()
  elseif(NOT _rota_of_the_server)
    rota_fuzz_target(${name} rota_rooms)
  elseif(NOT _rota_fuzz_lacks)
    rota_fuzz_target(${name} rota_fuzzed)
  endif()
endforeach()
