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
set(installed ${PROJECT_BINARY_DIR}/installed)
set(caffe_config_include_dirs "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(caffe_config_include_dirs "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CaffeConfig.cmake.in
  ${installed}/CaffeConfig.cmake INSTALL_DESTINATION ${config_dir})
set(caffe_version_file ${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake)
write_basic_package_version_file(${caffe_version_file}
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${installed}/CaffeConfig.cmake ${caffe_version_file} DESTINATION ${config_dir})
# Where Caffe's own build installs it: some projects name that folder.
set(old_config_dir ${CMAKE_INSTALL_DATADIR}/Caffe)
file(RELATIVE_PATH config_path ${CMAKE_INSTALL_FULL_DATADIR}/Caffe
  ${CMAKE_INSTALL_FULL_LIBDIR}/cmake/Caffe/CaffeConfig.cmake)
file(WRITE ${installed}/forwarding/CaffeConfig.cmake
  "include(\"\${CMAKE_CURRENT_LIST_DIR}/${config_path}\")\n")
install(FILES ${installed}/forwarding/CaffeConfig.cmake ${caffe_version_file}
  DESTINATION ${old_config_dir})

# The build tree itself, by -DCaffe_DIR=BUILD.
set(caffe_config_include_dirs "${PROJECT_SOURCE_DIR}/include;${generated_dir}")
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CaffeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/CaffeConfig.cmake INSTALL_DESTINATION ${PROJECT_BINARY_DIR})
export(EXPORT CaffeTargets NAMESPACE Caffe:: FILE ${PROJECT_BINARY_DIR}/CaffeTargets.cmake)

list(TRANSFORM caffe_tools REPLACE "^tool_" "" OUTPUT_VARIABLE caffe_tool_names)
list(JOIN caffe_tool_names " " caffe_tool_names)
configure_file(${PROJECT_SOURCE_DIR}/cmake/InstallManPages.cmake.in
  ${PROJECT_BINARY_DIR}/InstallManPages.cmake @ONLY)
if(caffe_tool_names)
  install(SCRIPT ${PROJECT_BINARY_DIR}/InstallManPages.cmake)
endif()
