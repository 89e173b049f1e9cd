# Optional components, which need other packages: io_uring by liburing, name resolution by c-ares, TLS by OpenSSL.
# Sets ROTA_HAS_<name> to 0 or 1 for each, and ROTA_<name>_USES to the target of the package.

set(_rota_components URING CARES TLS)
set(_rota_URING_package liburing 2.3 liburing-dev)
set(_rota_CARES_package libcares 1.18 libc-ares-dev)
set(_rota_TLS_package openssl 3.0 libssl-dev)
# If the files of a component do not exist, it is not in this version.
set(_rota_URING_files src/base/linux/uring.cpp)
set(_rota_CARES_files src/net/resolve_ares.cpp)
set(_rota_TLS_files src/tls)

# Sets ROTA_HAS_<name> and ROTA_<name>_USES, or sets `why` to the name of what is missing.
function(rota_find_component name why)
  set(ROTA_HAS_${name} 0 PARENT_SCOPE)
  list(GET _rota_${name}_package 0 module)
  list(GET _rota_${name}_package 1 version)
  list(GET _rota_${name}_package 2 debian)
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${_rota_${name}_files}")
    set(${why} "it is not in this version" PARENT_SCOPE)
    return()
  endif()
  set(${why} "${module} ${version} is not there (Debian: ${debian})" PARENT_SCOPE)
  # pkg-config would find packages of the build machine.
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(name STREQUAL TLS)
    find_package(OpenSSL ${version} QUIET COMPONENTS SSL)
    set(found ${OpenSSL_FOUND})
    set(target OpenSSL::SSL)
  else()
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(ROTA_${name}_PACKAGE QUIET IMPORTED_TARGET GLOBAL "${module}>=${version}")
    endif()
    set(found ${ROTA_${name}_PACKAGE_FOUND})
    set(target PkgConfig::ROTA_${name}_PACKAGE)
  endif()
  if(found)
    set(ROTA_HAS_${name} 1 PARENT_SCOPE)
    set(ROTA_${name}_USES ${target} PARENT_SCOPE)
  endif()
endfunction()

foreach(name IN LISTS _rota_components)
  set(ROTA_HAS_${name} 0)
  if(_rota_want_${name} STREQUAL off)
    continue()
  endif()
  rota_find_component(${name} _rota_why)
  if(_rota_want_${name} STREQUAL on AND NOT ROTA_HAS_${name})
    message(FATAL_ERROR "rota: ROTA_${name} is on: ${_rota_why}")
  endif()
endforeach()

# rota_use_components(<target>): links the components that are compiled into librota.
function(rota_use_components target)
  foreach(name URING CARES)
    target_compile_definitions(${target} PRIVATE ROTA_HAS_${name}=${ROTA_HAS_${name}})
    if(ROTA_HAS_${name})
      # After installation it is a name that the linker resolves: see rota.pc and rotaTargets.cmake.
      target_link_libraries(
        ${target} PRIVATE "$<BUILD_INTERFACE:${ROTA_${name}_USES}>" "$<INSTALL_INTERFACE:${ROTA_${name}_PACKAGE_LIBRARIES}>"
      )
    endif()
  endforeach()
endfunction()
