# The kinds of tests: one folder and one label each. A folder may be empty.
#
#   tests/unit/<room>/*.cpp   unit     one program per module, or per folder of examples/; may include src/
#   tests/api/*.cpp           api      one program per file; public headers only; `testing` in the name: on the model
#   tests/api/*_test.sh       api      one script for an example that is a folder, with its program
#   tests/model/*.cpp         model    one program per file, on the model
#   tests/mutants/*.mutants   mutants  one test for all: sources broken on purpose; only with `ctest -C mutants -L mutants`
#   tests/compile/*.cpp       compile  files that must (*_ok.cpp) and must not (*_fails.cpp) compile
#   tests/stress/*.cpp        stress   one program per file, without GoogleTest; only with `ctest -C stress`, `./dev stress`
#
# examples/<name>.cpp runs as an api test, unless it says `// NOT A TEST: why`.

if(CMAKE_CROSSCOMPILING)
  # Debian has the library for the build machine, and its sources.
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  add_subdirectory(/usr/src/googletest "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
else()
  find_package(GTest QUIET)
endif()
if(NOT TARGET GTest::gtest)
  message(FATAL_ERROR "rota: the tests need GoogleTest: apt-get install libgtest-dev, or -DROTA_BUILD_TESTS=OFF")
endif()
include(GoogleTest)

set(_rota_tests "${PROJECT_SOURCE_DIR}/tests")

# Sets `out` to those of `files` that can be linked in this build. clang's ThreadSanitizer defines operator new itself, so files that
# replace it to count allocations are left out there, and so are files that use such a file.
function(rota_linkable out files)
  set(kept "")
  foreach(file IN LISTS files)
    set(replaces "")
    if(ROTA_SANITIZE STREQUAL thread)
      file(STRINGS "${file}" replaces REGEX "^void\\* operator new|^#include .*(counting|failing)_new|^#include .*allocation_support")
    endif()
    if(replaces)
      message(STATUS "rota: ${file} counts by operator new and is left out of the ThreadSanitizer build")
    else()
      list(APPEND kept "${file}")
    endif()
  endforeach()
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()

# `cmake --build . --target rota_tests_unit` builds the programs of one label.
foreach(label unit api model stress)
  add_custom_target(rota_tests_${label})
endforeach()

file(GLOB _rota_support CONFIGURE_DEPENDS "${_rota_tests}/support/*.cpp")
list(FILTER _rota_support EXCLUDE REGEX "/second_pass\\.cpp$") # a part of programs that are run twice
rota_linkable(_rota_support "${_rota_support}")
if(_rota_support)
  add_library(rota_test_support STATIC ${_rota_support})
  rota_own_target(rota_test_support)
  target_include_directories(rota_test_support PUBLIC "${_rota_tests}" PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(rota_test_support PUBLIC GTest::gtest)
endif()

# rota_program(<target> <kind> <library> <files>...)
function(rota_program target kind library)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/${kind}")
  if(kind STREQUAL stress)
    rota_own_target(${target})
  elseif(kind STREQUAL unit)
    rota_own_target(${target} AS_TEST)
  else()
    rota_own_target(${target} AS_TEST OPTIMISED_IN_PART)
  endif()
  rota_unity(${target} 8)
  # Shared test files replace functions of the system, such as operator new, so they are separate translation units.
  set(support ${ARGN})
  list(FILTER support EXCLUDE REGEX "_(test|model)\\.cpp$")
  set_source_files_properties(${support} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(rota_tests_${kind} ${target})
  target_include_directories(${target} PRIVATE "${_rota_tests}")
  if(TARGET rota_test_support AND NOT library STREQUAL rota_model)
    target_link_libraries(${target} PRIVATE rota_test_support)
  endif()
  target_link_libraries(${target} PRIVATE ${library})
endfunction()

# Tests with I/O run once more on the other backend, as `<test>.uring`. A test that finds no ring reports that it is skipped.
set(_rota_does_io "^(unit_(driver|net|fs|process|io|faults)|api_(cause_matrix_io|promised_io|promised_net|promised_fs|scenario_.*|shutdown_.*))$")
set(_rota_second_pass "${_rota_tests}/support/second_pass.cpp")

# A program of GoogleTest cases. Each case is a separate test, so that a hang has a name and a timeout. Under a sanitizer the program is one
# test, because its start and its leak check take 50 ms and more. A hang has a name there, too: that of the last case in the output.
function(rota_gtest target label library)
  rota_program(${target} ${label} ${library} ${ARGN})
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
  set(limit ${ROTA_TEST_TIMEOUT})
  if(label STREQUAL model)
    set(limit ${ROTA_MODEL_TIMEOUT})
  endif()
  if(NOT ROTA_SANITIZE STREQUAL none)
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES LABELS ${label} TIMEOUT ${ROTA_PROGRAM_TIMEOUT})
    if(ROTA_HAS_URING AND target MATCHES "${_rota_does_io}")
      target_sources(${target} PRIVATE "${_rota_second_pass}")
      add_test(NAME ${target}.uring COMMAND ${target})
      # Without a ring all cases are skipped. The program counts as skipped only then, not if a single case is skipped.
      set_tests_properties(
        ${target}.uring PROPERTIES LABELS ${label} TIMEOUT ${ROTA_PROGRAM_TIMEOUT} ENVIRONMENT ROTA_IO=uring
                                   SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\] every test: "
      )
    endif()
    return()
  endif()
  gtest_discover_tests(
    ${target}
    TEST_PREFIX "${target}."
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${limit}
  )
  if(ROTA_HAS_URING AND target MATCHES "${_rota_does_io}")
    target_sources(${target} PRIVATE "${_rota_second_pass}")
    gtest_discover_tests(
      ${target}
      TEST_PREFIX "${target}."
      TEST_SUFFIX ".uring"
      TEST_LIST ${target}_uring_TESTS
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${limit} ENVIRONMENT ROTA_IO=uring
    )
  endif()
endfunction()

# --- unit
file(GLOB _rota_rooms CONFIGURE_DEPENDS LIST_DIRECTORIES true "${_rota_tests}/unit/*")
foreach(folder IN LISTS _rota_rooms)
  cmake_path(GET folder FILENAME room)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*.cpp")
  rota_linkable(files "${files}")
  set(library rota_rooms)
  if(room IN_LIST ROTA_MODEL_ONLY)
    set(library rota_model)
  elseif(room STREQUAL tls)
    set(library rota_tls)
  endif()
  if(NOT files OR NOT TARGET ${library})
    continue()
  endif()
  if(EXISTS "${PROJECT_SOURCE_DIR}/examples/${room}")
    if(NOT ROTA_BUILD_EXAMPLES)
      continue()
    endif()
    rota_example_lacks(missing ${room})
    if(missing)
      continue()
    endif()
    rota_files_of_this_build(files)
    rota_example_includes(uses_tls ${room} rota/tls)
    if(uses_tls)
      set(library rota_tls)
    endif()
  endif()
  rota_gtest(unit_${room} unit ${library} ${files})
  target_include_directories(unit_${room} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  if(room STREQUAL tls)
    # For certificates, and for peers that call OpenSSL directly.
    target_link_libraries(unit_${room} PRIVATE ${ROTA_TLS_USES})
  endif()
  if(EXISTS "${PROJECT_SOURCE_DIR}/examples/${room}")
    rota_example_libraries(unit_${room} ${room})
  endif()
  if(TARGET example_${room}_parts)
    target_link_libraries(unit_${room} PRIVATE example_${room}_parts)
  endif()
endforeach()

# The same programs on a system that refuses to create a ring. Not under a sanitizer, which does not work under ptrace.
if(ROTA_HAS_URING AND ROTA_SANITIZE STREQUAL none AND NOT CMAKE_CROSSCOMPILING)
  foreach(case io:ENOSYS:does_not_ask net:ENOSYS:does_not_ask net:EPERM:does_not_ask driver:ENOSYS:asks driver:ENOMEM:asks)
    string(REPLACE ":" ";" case "${case}")
    list(GET case 0 room)
    list(GET case 1 error)
    list(GET case 2 asks)
    if(TARGET unit_${room})
      add_test(
        NAME without_ring.unit_${room}.${error}
        COMMAND "${_rota_tests}/support/without_ring.sh" "$<TARGET_FILE:unit_${room}>" ${error} ${asks}
      )
      set_tests_properties(
        without_ring.unit_${room}.${error} PROPERTIES LABELS unit TIMEOUT ${ROTA_TEST_TIMEOUT} SKIP_RETURN_CODE 77
      )
    endif()
  endforeach()
endif()

# --- api
file(GLOB _rota_api CONFIGURE_DEPENDS "${_rota_tests}/api/*.cpp")
rota_linkable(_rota_api "${_rota_api}")
# These tests compare tables of docs/pool.md and docs/cancel-safety.md with the tested behaviour.
set_source_files_properties(
  "${_rota_tests}/api/regress_pool_coroutine_test.cpp"
  "${_rota_tests}/api/regress_pool_coroutine_tls_test.cpp"
  "${_rota_tests}/api/cause_matrix_test.cpp"
  "${_rota_tests}/api/cause_matrix_io_test.cpp"
  "${_rota_tests}/api/cause_matrix_tls_test.cpp"
  PROPERTIES COMPILE_DEFINITIONS ROTA_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
foreach(file IN LISTS _rota_api)
  cmake_path(GET file STEM name)
  if(name MATCHES tls)
    if(TARGET rota_tls)
      rota_gtest(api_${name} api rota::tls "${file}")
    endif()
  elseif(NOT name MATCHES testing)
    rota_gtest(api_${name} api rota::rota "${file}")
  elseif(TARGET rota_model)
    rota_gtest(api_${name} api rota_model "${file}")
  endif()
endforeach()

# The behaviour of an empty object must not depend on asserts. These files are built once more with NDEBUG, as a user's release build
# includes the headers.
foreach(file IN LISTS _rota_api)
  cmake_path(GET file STEM name)
  if(name MATCHES "^regress_empty_" AND TARGET api_${name})
    if(name MATCHES tls)
      rota_gtest(api_${name}_ndebug api rota::tls "${file}")
    else()
      rota_gtest(api_${name}_ndebug api rota::rota "${file}")
    endif()
    target_compile_options(api_${name}_ndebug PRIVATE -DNDEBUG)
  endif()
endforeach()

if(ROTA_BUILD_EXAMPLES)
  foreach(file IN LISTS _rota_example_files)
    cmake_path(GET file STEM name)
    file(STRINGS "${file}" excuse REGEX "// NOT A TEST: ")
    if(NOT excuse)
      add_test(NAME example.${name} COMMAND example_${name})
      add_dependencies(rota_tests_api example_${name})
      set_tests_properties(example.${name} PROPERTIES LABELS api TIMEOUT ${ROTA_TEST_TIMEOUT})
    endif()
  endforeach()
endif()

# Examples with a test script: tests/api/<name>_test.sh PROGRAM. Not under ThreadSanitizer: it delays a signal as long as the
# receiving thread waits on a futex of rota, which it does not know.
file(GLOB _rota_scripts CONFIGURE_DEPENDS "${_rota_tests}/api/*_test.sh")
foreach(file IN LISTS _rota_scripts)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "_test$" "" name "${name}")
  if(TARGET example_${name} AND NOT ROTA_SANITIZE STREQUAL thread)
    add_test(NAME example.${name} COMMAND "${file}" "$<TARGET_FILE:example_${name}>")
    add_dependencies(rota_tests_api example_${name})
    set_tests_properties(example.${name} PROPERTIES LABELS api TIMEOUT ${ROTA_TEST_TIMEOUT})
  endif()
endforeach()

# --- model
if(TARGET rota_model)
  file(GLOB _rota_models CONFIGURE_DEPENDS "${_rota_tests}/model/*.cpp")
  foreach(file IN LISTS _rota_models)
    cmake_path(GET file STEM name)
    rota_gtest(model_${name} model rota_model "${file}")
    target_include_directories(model_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    # A trace recognizes rota's own steps by the folder of their file; the library uses the same prefix: cmake/library.cmake.
    target_compile_options(model_${name} PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/src/=rota/src/")
  endforeach()

  # ./dev scale, which has its own library.
  add_executable(bench_scale "${PROJECT_SOURCE_DIR}/bench/scale/scale.cpp")
  set_target_properties(
    bench_scale PROPERTIES OUTPUT_NAME scale RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench"
  )
  rota_own_target(bench_scale)
  target_include_directories(bench_scale PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(bench_scale PRIVATE rota_simulated)
  add_test(NAME scale.no_task_is_lost COMMAND bench_scale 2000 32)
  set_tests_properties(scale.no_task_is_lost PROPERTIES LABELS model TIMEOUT ${ROTA_TEST_TIMEOUT})
  add_test(
    NAME scale.says_the_same_each_time
    COMMAND bash -c "cmp <('$<TARGET_FILE:bench_scale>' 500 8) <('$<TARGET_FILE:bench_scale>' 500 8)"
  )
  set_tests_properties(scale.says_the_same_each_time PROPERTIES LABELS model TIMEOUT ${ROTA_TEST_TIMEOUT})
  add_dependencies(rota_tests_model bench_scale)

  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    add_test(
      NAME mutants.all
      COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/mutants.py" --compiler "${CMAKE_CXX_COMPILER}"
              --work "${PROJECT_BINARY_DIR}/mutants"
      CONFIGURATIONS mutants
    )
    set_tests_properties(mutants.all PROPERTIES LABELS mutants TIMEOUT 7200 PROCESSORS 2)
  endif()
endif()

# --- stress
file(GLOB _rota_stress CONFIGURE_DEPENDS "${_rota_tests}/stress/*.cpp")
foreach(file IN LISTS _rota_stress)
  cmake_path(GET file STEM name)
  rota_program(stress_${name} stress rota::rota "${file}")
  set_target_properties(stress_${name} PROPERTIES OUTPUT_NAME ${name})
  add_test(NAME stress.${name} COMMAND stress_${name} --seconds 10 --seed 1 CONFIGURATIONS stress)
  set_tests_properties(stress.${name} PROPERTIES LABELS stress TIMEOUT 120)
endforeach()

# --- compile
file(GLOB _rota_cases CONFIGURE_DEPENDS "${_rota_tests}/compile/*_ok.cpp" "${_rota_tests}/compile/*_fails.cpp")
foreach(file IN LISTS _rota_cases)
  cmake_path(GET file STEM name)
  add_test(
    NAME compile.${name}
    COMMAND "${_rota_tests}/compile/run_case.sh" "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}" "${file}"
  )
  set_tests_properties(compile.${name} PROPERTIES LABELS compile TIMEOUT ${ROTA_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
endforeach()

add_test(
  NAME compile.guard_refuses_a_mix
  COMMAND "${_rota_tests}/compile/guard_test.sh" "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}"
          "$<TARGET_FILE:rota>" ${_rota_sanitize_link}
)
set_tests_properties(compile.guard_refuses_a_mix PROPERTIES LABELS compile TIMEOUT ${ROTA_TEST_TIMEOUT})

add_test(
  NAME compile.the_seam_costs_nothing
  COMMAND "${_rota_tests}/compile/seam/cost_test.sh" "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}"
)
set_tests_properties(compile.the_seam_costs_nothing PROPERTIES LABELS compile TIMEOUT ${ROTA_TEST_TIMEOUT})

# --- the runner of the benchmarks, on made-up subjects
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  add_test(
    NAME bench.runner
    COMMAND "${Python3_EXECUTABLE}" -B -m unittest discover -s "${PROJECT_SOURCE_DIR}/tools/bench" -p "*_test.py"
  )
  # The load of the suite `echo`, on faulty servers.
  find_package(Threads REQUIRED)
  add_executable(tests_echo_load "${PROJECT_SOURCE_DIR}/bench/echo/load.cpp")
  rota_own_target(tests_echo_load AS_USERS)
  target_link_libraries(tests_echo_load PRIVATE Threads::Threads)
  add_dependencies(rota_tests_api tests_echo_load)
  set_tests_properties(
    bench.runner PROPERTIES LABELS api TIMEOUT ${ROTA_TEST_TIMEOUT} ENVIRONMENT
                                                                    "ROTA_ECHO_LOAD=$<TARGET_FILE:tests_echo_load>"
  )
endif()

# --- a program outside the tree
if(ROTA_INSTALL)
  add_test(
    NAME outside.installed_and_used
    COMMAND "${_rota_tests}/outside/run.sh" "${PROJECT_BINARY_DIR}" "${CMAKE_CXX_COMPILER}" ${_rota_sanitize_link}
  )
  set_tests_properties(outside.installed_and_used PROPERTIES LABELS api TIMEOUT 180)
  add_dependencies(rota_tests_api rota_installables)
endif()
add_test(
  NAME outside.subdirectory_leaks_nothing
  COMMAND "${_rota_tests}/outside/subdirectory.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_CXX_COMPILER}"
)
set_tests_properties(outside.subdirectory_leaks_nothing PROPERTIES LABELS api TIMEOUT 60)

if(ROTA_HARDEN)
  add_executable(outside_program "${_rota_tests}/outside/main.cpp")
  rota_own_target(outside_program)
  target_link_libraries(outside_program PRIVATE rota::rota)
  add_dependencies(rota_tests_api outside_program)
  add_test(
    NAME outside.hardened
    COMMAND "${_rota_tests}/outside/hardened.sh" "$<TARGET_FILE:outside_program>" "$<TARGET_FILE:rota>"
  )
  set_tests_properties(outside.hardened PROPERTIES LABELS api TIMEOUT ${ROTA_TEST_TIMEOUT})
endif()
