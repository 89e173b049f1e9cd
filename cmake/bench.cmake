# bench/<suite>/*.cpp: one program a file, `bench/<suite>_<name>` in the build folder. Google Benchmark is optional: a
# file that includes it is left out where it is missing.

find_package(benchmark QUIET)

file(GLOB _rota_benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*/*.cpp")
list(FILTER _rota_benches EXCLUDE REGEX "/bench/(support|peers)/")
foreach(file IN LISTS _rota_benches)
  cmake_path(GET file STEM name)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME suite)
  file(STRINGS "${file}" uses_google REGEX "^#include <benchmark/")
  if(uses_google AND NOT benchmark_FOUND)
    message(STATUS "rota: bench/${suite}/${name} is left out: it needs Google Benchmark (libbenchmark-dev)")
    continue()
  endif()
  add_executable(bench_${suite}_${name} "${file}")
  set_target_properties(
    bench_${suite}_${name} PROPERTIES OUTPUT_NAME ${suite}_${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench"
  )
  rota_own_target(bench_${suite}_${name})
  # Benchmarks may look into rooms: they measure parts as well as the whole.
  target_include_directories(
    bench_${suite}_${name} PRIVATE "${PROJECT_SOURCE_DIR}/bench" "${PROJECT_SOURCE_DIR}/src"
  )
  target_link_libraries(bench_${suite}_${name} PRIVATE rota_rooms)
  if(uses_google)
    target_link_libraries(bench_${suite}_${name} PRIVATE benchmark::benchmark)
  endif()
endforeach()
