# examples/<name>.cpp is a program; examples/<name>/ with a main.cpp is one, too. One that includes Boost is left out, with
# its unit tests, where Boost is missing.

find_path(ROTA_BOOST_INCLUDE boost/beast/http/basic_parser.hpp)
mark_as_advanced(ROTA_BOOST_INCLUDE)

function(rota_example name)
  add_executable(example_${name} ${ARGN})
  set_target_properties(
    example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples"
  )
  rota_own_target(example_${name})
  target_include_directories(example_${name} PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  if(ROTA_BOOST_INCLUDE)
    target_include_directories(example_${name} SYSTEM PRIVATE "${ROTA_BOOST_INCLUDE}")
  endif()
  target_link_libraries(example_${name} PRIVATE rota::rota)
endfunction()

# Sets `out` to whether all is there that the files of examples/<name>/ include.
function(rota_example_is_possible out name)
  set(${out} ON PARENT_SCOPE)
  file(GLOB files "${PROJECT_SOURCE_DIR}/examples/${name}/*.[hc]pp")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" uses_boost REGEX "^#include <boost/")
    if(uses_boost AND NOT ROTA_BOOST_INCLUDE)
      set(${out} OFF PARENT_SCOPE)
    endif()
  endforeach()
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
  rota_example(${name} "${file}")
endforeach()

file(GLOB _rota_example_mains CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/main.cpp")
foreach(main IN LISTS _rota_example_mains)
  cmake_path(GET main PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  rota_example_is_possible(possible ${name})
  if(NOT possible)
    message(STATUS "rota: examples/${name} is left out: it needs Boost (libboost1.81-dev)")
    continue()
  endif()
  rota_example_parts(parts ${name})
  rota_example(${name} "${main}" ${parts})
endforeach()
