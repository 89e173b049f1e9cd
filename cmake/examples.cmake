# examples/<name>.cpp is a program; examples/<name>/ with a main.cpp is one, too. One that includes Boost or OpenSSL is left
# out, with its unit tests, where that is missing.

find_path(ROTA_BOOST_INCLUDE boost/beast/http/basic_parser.hpp)
mark_as_advanced(ROTA_BOOST_INCLUDE)
find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)

# rota_example_libraries(<target> <name>): what the files of examples/<name>/ include beside rota.
function(rota_example_libraries target name)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  if(ROTA_BOOST_INCLUDE)
    target_include_directories(${target} SYSTEM PRIVATE "${ROTA_BOOST_INCLUDE}")
  endif()
  rota_example_includes(uses_openssl ${name} openssl)
  if(uses_openssl)
    target_link_libraries(${target} PRIVATE OpenSSL::Crypto)
  endif()
endfunction()

# Sets `out` to whether a file of examples/<name>/ includes a header of the folder <of>.
function(rota_example_includes out name of)
  set(${out} OFF PARENT_SCOPE)
  file(GLOB files "${PROJECT_SOURCE_DIR}/examples/${name}/*.[hc]pp")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" found REGEX "^#include <${of}/")
    if(found)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# rota_example(<name> <library> <files>...)
function(rota_example name library)
  add_executable(example_${name} ${ARGN})
  set_target_properties(
    example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples"
  )
  rota_own_target(example_${name})
  rota_example_libraries(example_${name} ${name})
  target_link_libraries(example_${name} PRIVATE ${library})
endfunction()

# Sets `out` to the packages that the files of examples/<name>/ need and that are not there.
function(rota_example_lacks out name)
  set(missing "")
  rota_example_includes(uses_boost ${name} boost)
  if(uses_boost AND NOT ROTA_BOOST_INCLUDE)
    list(APPEND missing "Boost (libboost1.81-dev)")
  endif()
  rota_example_includes(uses_openssl ${name} openssl)
  if(uses_openssl AND NOT OpenSSL_FOUND)
    list(APPEND missing "OpenSSL 3 (libssl-dev)")
  endif()
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()

# Sets `out` to the .cpp files of examples/<name>/ without its main.cpp: what a unit test of it links.
function(rota_example_parts out name)
  file(GLOB parts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/${name}/*.cpp")
  list(FILTER parts EXCLUDE REGEX "/main\\.cpp$")
  set(${out} "${parts}" PARENT_SCOPE)
endfunction()

file(GLOB _rota_example_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
foreach(file IN LISTS _rota_example_files)
  cmake_path(GET file STEM name)
  # What includes the explorer runs on the model.
  file(STRINGS "${file}" explores REGEX "^#include <rota/testing/explore.hpp>")
  if(NOT explores)
    rota_example(${name} rota::rota "${file}")
  elseif(TARGET rota::testing)
    rota_example(${name} rota::testing "${file}")
  else()
    list(REMOVE_ITEM _rota_example_files "${file}")
  endif()
endforeach()

file(GLOB _rota_example_mains CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/main.cpp")
foreach(main IN LISTS _rota_example_mains)
  cmake_path(GET main PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  rota_example_lacks(missing ${name})
  if(missing)
    message(STATUS "rota: examples/${name} is left out: it needs ${missing}")
    continue()
  endif()
  rota_example_parts(parts ${name})
  rota_example(${name} rota::rota "${main}" ${parts})
endforeach()
