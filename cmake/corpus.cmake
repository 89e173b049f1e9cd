# rota_unpack(<target> <archive> <folder>): a target that unpacks an archive, and again whenever the archive changes.
# It empties the folder first.
function(rota_unpack target archive folder)
  add_custom_command(
    OUTPUT "${folder}.unpacked"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E chdir "${folder}" "${CMAKE_COMMAND}" -E tar xf "${archive}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${folder}.unpacked"
    DEPENDS "${archive}"
    COMMENT "Unpacking ${archive}"
    VERBATIM
  )
  add_custom_target(${target} DEPENDS "${folder}.unpacked")
endfunction()
