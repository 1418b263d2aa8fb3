find_package(GTest REQUIRED)
file(GLOB test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/test/*.cpp)
add_executable(caffe_tests ${test_sources})
target_include_directories(caffe_tests PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(caffe_tests PRIVATE caffe GTest::gtest)
# Where the tests look for the shared test data (see src/caffe/test/test_data.hpp).
target_compile_definitions(caffe_tests PRIVATE CAFFE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
