# librota, and librota_model: the same sources on the deterministic model.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Folders below src/ that the model replaces.
set(ROTA_NATIVE_ONLY base/linux driver net fs process tls)
set(ROTA_MODEL_ONLY testing simulated)

# Sets `out` to the `files` that are in none of the folders. Compares relative paths, because the path of the project may have
# characters with a meaning in a regular expression.
function(rota_without_folders out files folders)
  set(kept "")
  string(REPLACE ";" "|" folders "${folders}")
  foreach(file IN LISTS files)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE in_src)
    if(NOT in_src MATCHES "^(${folders})/")
      list(APPEND kept "${file}")
    endif()
  endforeach()
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE _rota_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
rota_without_folders(ROTA_SOURCES "${_rota_sources}" "${ROTA_MODEL_ONLY};tls")
rota_without_folders(ROTA_MODEL_SOURCES "${_rota_sources}" "${ROTA_NATIVE_ONLY};simulated")
rota_without_folders(ROTA_SIMULATED_SOURCES "${_rota_sources}" "${ROTA_NATIVE_ONLY};testing")
list(APPEND ROTA_SIMULATED_SOURCES "${PROJECT_SOURCE_DIR}/src/testing/context.cpp")

# Source files that stay separate translation units. The files of channel and sync define small functions of the same names. The others
# must be linked statically only if they are needed: the guard, and files that call another library.
foreach(_rota_file IN LISTS _rota_sources)
  cmake_path(RELATIVE_PATH _rota_file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE _rota_in_src)
  if(_rota_in_src MATCHES "^((channel|sync)/|base/guard\\.cpp$|base/linux/uring\\.cpp$|net/resolve(_ares)?\\.cpp$)")
    set_source_files_properties("${_rota_file}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endforeach()

function(rota_library_target target)
  rota_own_target(${target})
  # Under a sanitizer each source file of librota is a translation unit. That finds missing includes, and a wrong order of
  # initialisation between files. The other libraries have the same files.
  if(ROTA_SANITIZE STREQUAL none OR target MATCHES "^rota_(model|simulated)$")
    rota_unity(${target} 12)
  endif()
  target_include_directories(
    ${target}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src"
  )
  # Calls between rota's own functions are direct, and its thread-local slot is one instruction away.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
  # An await site in these files is the library's own: include/rota/detail/await_site.hpp.
  target_compile_definitions(${target} PRIVATE ROTA_DETAIL_LIBRARY=1)
  # Reports and assertions do not print the folder of the build. Debug information keeps the path for debuggers.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=rota/")
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(ROTA_CHAOS AND NOT target STREQUAL rota_model)
    target_compile_definitions(${target} PUBLIC ROTA_CHAOS=1)
  endif()
  if(_rota_sanitize_link)
    target_link_options(${target} INTERFACE "$<BUILD_INTERFACE:${_rota_sanitize_link}>")
  endif()
endfunction()

add_library(rota ${ROTA_SOURCES})
add_library(rota::rota ALIAS rota)
rota_library_target(rota)
rota_use_components(rota)
set_target_properties(
  rota PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
)

# Unit tests link this library, because they call functions that librota.so hides.
if(BUILD_SHARED_LIBS AND ROTA_BUILD_TESTS)
  add_library(rota_rooms STATIC ${ROTA_SOURCES})
  rota_library_target(rota_rooms)
  rota_use_components(rota_rooms)
else()
  add_library(rota_rooms ALIAS rota)
endif()

if(ROTA_BUILD_MODEL)
  add_library(rota_model STATIC ${ROTA_MODEL_SOURCES})
  add_library(rota::testing ALIAS rota_model)
  rota_library_target(rota_model)
  target_compile_definitions(rota_model PUBLIC ROTA_MODEL=1)
  set_target_properties(rota_model PROPERTIES EXPORT_NAME testing)

  # The same interface of src/base on a machine with simulated time: bench/scale.
  add_library(rota_simulated STATIC EXCLUDE_FROM_ALL ${ROTA_SIMULATED_SOURCES})
  rota_library_target(rota_simulated)
  target_compile_definitions(rota_simulated PUBLIC ROTA_MODEL=1 ROTA_SIMULATED=1)
endif()

# A separate library, so that programs without TLS do not need OpenSSL.
if(ROTA_HAS_TLS)
  file(GLOB_RECURSE ROTA_TLS_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/tls/*.cpp")
  add_library(rota_tls ${ROTA_TLS_SOURCES})
  add_library(rota::tls ALIAS rota_tls)
  rota_library_target(rota_tls)
  target_link_libraries(rota_tls PUBLIC rota PRIVATE ${ROTA_TLS_USES})
  set_target_properties(
    rota_tls PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} EXPORT_NAME tls
  )
endif()
