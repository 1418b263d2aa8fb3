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
endfunction()

caffe_example(custom_layer custom_layer)
if(HAVE_OPENCV)
  caffe_example(cpp_classification classification)
  caffe_example(mtcnn detect_faces)
  caffe_example(ssd ssd_detect)
endif()
# As guides of Caffe and SSD call them.
caffe_old_path(example_classification examples/cpp_classification/classification.bin)
caffe_old_path(example_ssd_detect examples/ssd/ssd_detect.bin)
