# bench/<suite>/*.cpp: one program per file, `bench/<suite>_<name>` in the build folder. bench/support/*.cpp has the code that
# the programs share. Google Benchmark is optional: if it is missing, the files that include it are left out.
#
# With ROTA_COUNT_OPERATIONS each program is built twice: `<suite>_<name>_counting` runs on a library that counts its
# read-modify-writes and system calls. The other one does not, so its instructions can be counted.

option(ROTA_COUNT_OPERATIONS "Build benchmarks that count read-modify-writes and system calls, too" OFF)
find_package(benchmark QUIET)

add_custom_target(rota_benches)
file(GLOB _rota_bench_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/support/*.cpp")

# rota_bench_support(<target> <library>)
function(rota_bench_support target library)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${_rota_bench_support})
  rota_own_target(${target})
  # Benchmarks may include src/: they measure parts of the library, too.
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/bench" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${library})
endfunction()

rota_bench_support(rota_bench_support rota_rooms)
if(ROTA_COUNT_OPERATIONS)
  add_library(rota_counting STATIC EXCLUDE_FROM_ALL ${ROTA_SOURCES})
  rota_library_target(rota_counting)
  rota_use_components(rota_counting)
  target_compile_definitions(rota_counting PUBLIC ROTA_COUNT_OPERATIONS=1)
  rota_bench_support(rota_bench_support_counting rota_counting)
endif()

# rota_bench(<program> <support library> <file>)
function(rota_bench program support file)
  add_executable(bench_${program} "${file}")
  set_target_properties(
    bench_${program} PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench"
  )
  rota_own_target(bench_${program} AS_USERS)
  target_link_libraries(bench_${program} PRIVATE ${support})
  add_dependencies(rota_benches bench_${program})
endfunction()

file(GLOB _rota_benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*/*.cpp")
list(FILTER _rota_benches EXCLUDE REGEX "/bench/(support|peers|scale)/")
foreach(file IN LISTS _rota_benches)
  cmake_path(GET file STEM name)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME suite)
  file(STRINGS "${file}" uses_google REGEX "^#include <benchmark/")
  if(uses_google AND NOT benchmark_FOUND)
    message(STATUS "rota: bench/${suite}/${name} is left out: it needs Google Benchmark (libbenchmark-dev)")
    continue()
  endif()
  file(STRINGS "${file}" uses_tls REGEX "^#include [<\"](rota|support)/tls")
  if(uses_tls AND NOT TARGET rota_tls)
    message(STATUS "rota: bench/${suite}/${name} is left out: it needs rota::tls")
    continue()
  endif()
  rota_bench(${suite}_${name} rota_bench_support "${file}")
  if(uses_tls)
    target_link_libraries(bench_${suite}_${name} PRIVATE rota_tls ${ROTA_TLS_USES})
    continue()
  endif()
  if(uses_google)
    target_link_libraries(bench_${suite}_${name} PRIVATE benchmark::benchmark)
  elseif(ROTA_COUNT_OPERATIONS AND name STREQUAL rota)
    rota_bench(${suite}_${name}_counting rota_bench_support_counting "${file}")
  endif()
endforeach()
