if(NOT ROTA_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(_rota_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rota")
set(_rota_targets rota)
if(TARGET rota_model)
  list(APPEND _rota_targets rota_model)
endif()
if(TARGET rota_tls)
  list(APPEND _rota_targets rota_tls)
endif()

# All build products that the install rules copy. Run `cmake --build . --target rota_installables` before
# `cmake --install`.
add_custom_target(rota_installables)
add_dependencies(rota_installables ${_rota_targets})

install(
  TARGETS ${_rota_targets}
  EXPORT rota
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/rota"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp"
)
install(EXPORT rota NAMESPACE rota:: FILE rotaTargets.cmake DESTINATION "${_rota_package_dir}")

include("${CMAKE_CURRENT_LIST_DIR}/rotaCompiler.cmake")
_rota_compiler(ROTA_BUILT_BY)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/rotaConfig.cmake.in" "${PROJECT_BINARY_DIR}/rotaConfig.cmake"
  INSTALL_DESTINATION "${_rota_package_dir}"
)
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rotaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/rotaConfig.cmake" "${PROJECT_BINARY_DIR}/rotaConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/rotaCompiler.cmake"
  DESTINATION "${_rota_package_dir}"
)

# The pkg-config file derives its prefix from its own location, so an installed tree may be moved.
file(RELATIVE_PATH ROTA_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" ROTA_PC_UP "${ROTA_PC_UP}")
# With a static library, the linker of the program must find its dependencies.
set(ROTA_PC_REQUIRES "")
foreach(name URING CARES)
  if(ROTA_HAS_${name})
    list(GET _rota_${name}_package 0 _rota_module)
    string(APPEND ROTA_PC_REQUIRES " ${_rota_module}")
  endif()
endforeach()
set(ROTA_PC_PRIVATE "")
if(BUILD_SHARED_LIBS)
  set(ROTA_PC_PRIVATE ".private")
endif()
set(_rota_pc rota)
if(TARGET rota_tls)
  list(APPEND _rota_pc rota-tls)
endif()
foreach(name IN LISTS _rota_pc)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# The lint of the coroutine law: it finds coroutines that g++ 12 compiles wrongly without a message.
install(
  PROGRAMS "${PROJECT_SOURCE_DIR}/tools/check_coroutines.py"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/rota"
)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
