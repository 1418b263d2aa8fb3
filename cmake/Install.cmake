# The install tree: headers, library, tools, and what find_package(Caffe) reads. It can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS caffe ${caffe_openmp_libraries} ${caffe_tools} EXPORT CaffeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(HAVE_VIDEO)
  install(TARGETS caffe_video LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
include(cmake/PublicHeaders.cmake)
install(FILES ${proto_dir}/caffe.pb.h ${proto_dir}/names.inc
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caffe/proto)
install(FILES ${proto_file} DESTINATION ${CMAKE_INSTALL_DATADIR}/Caffe)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Caffe)
install(EXPORT CaffeTargets NAMESPACE Caffe:: DESTINATION ${config_dir})
set(caffe_definition_flags "")
foreach(definition IN LISTS caffe_definitions)
  list(APPEND caffe_definition_flags -D${definition})
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CaffeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/CaffeConfig.cmake INSTALL_DESTINATION ${config_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CaffeConfig.cmake ${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
  DESTINATION ${config_dir})

list(TRANSFORM caffe_tools REPLACE "^tool_" "" OUTPUT_VARIABLE caffe_tool_names)
list(JOIN caffe_tool_names " " caffe_tool_names)
configure_file(${PROJECT_SOURCE_DIR}/cmake/InstallManPages.cmake.in
  ${PROJECT_BINARY_DIR}/InstallManPages.cmake @ONLY)
if(caffe_tool_names)
  install(SCRIPT ${PROJECT_BINARY_DIR}/InstallManPages.cmake)
endif()
