# The install tree: headers, library, tools, and what find_package(Caffe) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS caffe ${caffe_tools} EXPORT CaffeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(${caffe_tools} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/caffe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${proto_dir}/caffe.pb.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caffe/proto)
install(FILES ${proto_file} DESTINATION ${CMAKE_INSTALL_DATADIR}/Caffe)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Caffe)
install(EXPORT CaffeTargets NAMESPACE Caffe:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CaffeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/CaffeConfig.cmake INSTALL_DESTINATION ${config_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CaffeConfig.cmake ${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
  DESTINATION ${config_dir})

message(STATUS "")
message(STATUS "Cortado ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  BLAS: ${CBLAS_LIBRARIES}")
foreach(part ${caffe_parts})
  message(STATUS "  ${part}")
endforeach()
message(STATUS "  tests: ${BUILD_TESTING}, with FLOAT16: ${TEST_FP16}")
message(STATUS "")
