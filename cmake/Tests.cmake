find_package(GTest REQUIRED)
file(GLOB test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/test/*.cpp)
if(HAVE_OPENCV)
  list(APPEND test_sources ${PROJECT_SOURCE_DIR}/examples/mtcnn/mtcnn.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/test/test_mtcnn.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR})
endif()
add_executable(caffe_tests ${test_sources})
# "caffe/test/..." lies in src/.
target_include_directories(caffe_tests PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(caffe_tests PRIVATE CAFFE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TEST_FP16)
  target_compile_definitions(caffe_tests PRIVATE TEST_FP16)
endif()
# Tests are compiled more often than they run.
target_compile_options(caffe_tests PRIVATE ${caffe_warnings} $<$<NOT:$<CONFIG:Debug>>:-O1>)
target_link_libraries(caffe_tests PRIVATE caffe GTest::gtest)
add_test(NAME caffe_tests COMMAND caffe_tests)
