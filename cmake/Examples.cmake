# The example programs, in build/examples/FOLDER. Each folder's own CMakeLists.txt builds the same
# against an installed library.
function(caffe_example folder program)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/${folder}/*.cpp)
  add_executable(example_${program} ${sources})
  set_target_properties(example_${program} PROPERTIES
    OUTPUT_NAME ${program}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples/${folder})
  target_link_libraries(example_${program} PRIVATE caffe)
  target_compile_options(example_${program} PRIVATE ${caffe_warnings})
  if(program STREQUAL classification OR program STREQUAL ssd_detect)  # as guides of Caffe and SSD call them
    add_custom_command(TARGET example_${program} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E create_symlink ${program}
              ${PROJECT_BINARY_DIR}/examples/${folder}/${program}.bin)
  endif()
endfunction()

caffe_example(custom_layer custom_layer)
if(HAVE_OPENCV)
  caffe_example(cpp_classification classification)
  caffe_example(mtcnn detect_faces)
  caffe_example(ssd ssd_detect)
endif()
