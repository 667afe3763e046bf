# Installs the libraries a user can build on (core, models, reports, system), their headers, and a
# package that find_package(plimsoll) finds.
include(CMakePackageConfigHelpers)
install(TARGETS plimsoll_core plimsoll_system plimsoll_models plimsoll_reports
        EXPORT plimsollTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder core models reports)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll
          FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(EXPORT plimsollTargets NAMESPACE plimsoll:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/plimsollConfig.cmake.in
  ${PROJECT_BINARY_DIR}/plimsollConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plimsollConfig.cmake
              ${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
