# The presets set ROTA_CHOOSE_CXX to the compiler they are named for; the environment variable ROTA_CXX overrides it.
# Without a preset this file does nothing, and CMake chooses the compiler.

if(NOT DEFINED ROTA_CHOOSE_CXX)
  return()
endif()

set(_rota_cxx "${ROTA_CHOOSE_CXX}")
if(NOT "$ENV{ROTA_CXX}" STREQUAL "")
  set(_rota_cxx "$ENV{ROTA_CXX}")
endif()

# One cache variable per compiler name, so that find_program searches again for another compiler.
string(MAKE_C_IDENTIFIER "ROTA_FOUND_${_rota_cxx}" _rota_found)
find_program(${_rota_found} "${_rota_cxx}")
mark_as_advanced(${_rota_found})
if(NOT ${_rota_found})
  message(
    FATAL_ERROR
    "rota: the compiler ${_rota_cxx} is not installed.\n"
    "rota's reference compiler is clang 19 (Debian 12: apt-get install clang-19 lld-19). "
    "g++ 12.2 works too: set ROTA_CXX=g++, or run ./dev, which installs what it needs."
  )
endif()

if(NOT DEFINED CACHE{CMAKE_CXX_COMPILER})
  set(CMAKE_CXX_COMPILER "${${_rota_found}}" CACHE FILEPATH "Chosen by ROTA_CXX or the preset")
elseif("$ENV{ROTA_CXX}" AND NOT CMAKE_CXX_COMPILER STREQUAL ${_rota_found})
  message(
    FATAL_ERROR
    "rota: ${CMAKE_BINARY_DIR} was configured with ${CMAKE_CXX_COMPILER}, and ROTA_CXX asks for ${_rota_cxx}. "
    "Remove the folder, or use another."
  )
endif()
