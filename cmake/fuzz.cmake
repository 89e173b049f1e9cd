# tests/fuzz/<name>_fuzz.cpp is a target of libFuzzer; `./dev fuzz` runs it.
#
#   fuzz_<name>       runs the committed inputs, tests/fuzz/corpus/<name>/, once: a unit test, with every compiler
#   libfuzzer_<name>  the fuzzer itself, with AddressSanitizer and UBSan; only with clang, and only when it is asked for

rota_example_lacks(_rota_fuzz_missing file_server)
if(_rota_fuzz_missing)
  return()
endif()

# What reads bytes of a client knows nothing of the runtime.
rota_example_parts(_rota_fuzzed file_server)
list(FILTER _rota_fuzzed EXCLUDE REGEX "/(access_log|connections|options|server|session|session_send)\\.cpp$")

set(_rota_fuzz_folder "${PROJECT_SOURCE_DIR}/tests/fuzz")
add_library(rota_fuzzed STATIC EXCLUDE_FROM_ALL ${_rota_fuzzed})
rota_own_target(rota_fuzzed)
target_include_directories(rota_fuzzed PUBLIC "${PROJECT_SOURCE_DIR}/examples")
target_include_directories(rota_fuzzed SYSTEM PRIVATE "${ROTA_BOOST_INCLUDE}")

set(_rota_fuzz_flags -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
set(_rota_can_fuzz OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND ROTA_SANITIZE STREQUAL none)
  set(_rota_can_fuzz ON)
  add_library(rota_fuzzed_instrumented STATIC EXCLUDE_FROM_ALL ${_rota_fuzzed})
  target_compile_features(rota_fuzzed_instrumented PUBLIC cxx_std_23)
  target_compile_options(rota_fuzzed_instrumented PUBLIC ${_rota_warnings} ${_rota_fuzz_flags} -UNDEBUG)
  target_include_directories(rota_fuzzed_instrumented PUBLIC "${PROJECT_SOURCE_DIR}/examples")
  target_include_directories(rota_fuzzed_instrumented SYSTEM PRIVATE "${ROTA_BOOST_INCLUDE}")
  target_link_options(rota_fuzzed_instrumented PUBLIC ${_rota_linker} ${_rota_fuzz_flags})
endif()

file(GLOB _rota_fuzz_files CONFIGURE_DEPENDS "${_rota_fuzz_folder}/*_fuzz.cpp")
foreach(file IN LISTS _rota_fuzz_files)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "_fuzz$" "" name "${name}")

  add_executable(fuzz_${name} "${file}" "${_rota_fuzz_folder}/run_corpus.cpp")
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/fuzz")
  rota_own_target(fuzz_${name})
  target_link_libraries(fuzz_${name} PRIVATE rota_fuzzed)
  add_dependencies(rota_tests_unit fuzz_${name})
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} "${_rota_fuzz_folder}/corpus/${name}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS unit TIMEOUT ${ROTA_TEST_TIMEOUT})

  if(_rota_can_fuzz)
    add_executable(libfuzzer_${name} EXCLUDE_FROM_ALL "${file}")
    set_target_properties(libfuzzer_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/libfuzzer")
    target_link_libraries(libfuzzer_${name} PRIVATE rota_fuzzed_instrumented)
  endif()
endforeach()
