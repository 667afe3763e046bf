# add_probe(<suite>.<name> <source> [libraries...]): one binary plimsoll-probe-<suite>.<name> in
# libexec/plimsoll/probes, and a smoke test of it through the real binary.
set(PLIMSOLL_PROBE_DIR ${PROJECT_BINARY_DIR}/libexec/plimsoll/probes)
set(PLIMSOLL_LIBEXEC_DIR ${CMAKE_INSTALL_LIBEXECDIR}/plimsoll)
function(add_probe id source)
  add_executable(plimsoll-probe-${id} ${source})
  target_link_libraries(plimsoll-probe-${id} PRIVATE plimsoll_options plimsoll_probe ${ARGN})
  set_target_properties(plimsoll-probe-${id} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                        ${PLIMSOLL_PROBE_DIR})
  install(TARGETS plimsoll-probe-${id} DESTINATION ${PLIMSOLL_LIBEXEC_DIR}/probes)
  set_property(GLOBAL APPEND PROPERTY PLIMSOLL_PROBES ${id})
endfunction()
