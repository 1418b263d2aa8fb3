find_package(GTest REQUIRED)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/test/*.cpp)
# Programs with a build of their own, which their scripts test.
list(FILTER test_sources EXCLUDE REGEX "/test/(consumer|old_programs)/")
if(NOT HAVE_CUDA)
  list(FILTER test_sources EXCLUDE REGEX "/test/cuda/")
endif()
if(TEST_FOLDERS)
  foreach(folder IN LISTS TEST_FOLDERS)
    if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/caffe/test/${folder})
      message(FATAL_ERROR "TEST_FOLDERS: src/caffe/test has no folder '${folder}'")
    endif()
  endforeach()
  list(JOIN TEST_FOLDERS "|" folders)
  list(FILTER test_sources INCLUDE REGEX "/test/(support|${folders})/")
endif()
if(HAVE_OPENCV AND (NOT TEST_FOLDERS OR "inference" IN_LIST TEST_FOLDERS))
  list(APPEND test_sources ${PROJECT_SOURCE_DIR}/examples/mtcnn/mtcnn.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/test/inference/test_mtcnn.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR})
endif()
add_executable(caffe_tests ${test_sources})
caffe_internal_headers(caffe_tests)
# In one file, so that a compiler cache serves the others wherever the source is.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/test/support/test_data.cpp
  PROPERTIES COMPILE_DEFINITIONS CAFFE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/test/kernels/test_instruction_sets.cpp
  PROPERTIES COMPILE_DEFINITIONS CAFFE_CPU_KERNELS_${CAFFE_CPU_KERNELS})
if(TEST_FP16)
  target_compile_definitions(caffe_tests PRIVATE TEST_FP16)
endif()
# Tests are compiled more often than they run.
target_compile_options(caffe_tests PRIVATE ${caffe_warnings} $<$<NOT:$<CONFIG:Debug>>:-O1>)
target_link_libraries(caffe_tests PRIVATE caffe GTest::gtest)
caffe_unity(caffe_tests ${test_sources})
if(CAFFE_PCH)
  target_precompile_headers(caffe_tests PRIVATE <gtest/gtest.h>
    "${PROJECT_SOURCE_DIR}/src/caffe/precompiled.hpp")
endif()
if(HAVE_VIDEO)
  add_dependencies(caffe_tests caffe_video)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/test/layers/test_video_data_layer.cpp
    PROPERTIES COMPILE_DEFINITIONS HAVE_VIDEO)
endif()
add_test(NAME caffe_tests COMMAND caffe_tests)

# Loaded first into programs (LD_PRELOAD), it makes their writes fail: scripts/tests/failing_writes.sh.
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  add_library(failing_files MODULE ${PROJECT_SOURCE_DIR}/scripts/tests/lib/failing_files.cpp)
  target_compile_options(failing_files PRIVATE ${caffe_warnings})
  target_link_libraries(failing_files PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(failing_files PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/doubles)
endif()

# What Python's tests put in the place of a GPU, and of NCCL's library.
if(HAVE_PYTHON AND HAVE_CUDA AND BUILD_SHARED_LIBS)
  set(doubles ${PROJECT_SOURCE_DIR}/python/tests/doubles)
  add_library(fake_gpu MODULE ${doubles}/fake_gpu.cpp)
  caffe_internal_headers(fake_gpu)
  target_compile_options(fake_gpu PRIVATE ${caffe_warnings})
  target_link_libraries(fake_gpu PRIVATE caffe)
  set(double_targets fake_gpu)
  if(NCCL_INCLUDE_DIR)
    add_library(fake_nccl MODULE ${doubles}/fake_nccl.cpp)
    target_include_directories(fake_nccl SYSTEM PRIVATE
      ${NCCL_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_options(fake_nccl PRIVATE ${caffe_warnings})
    set_target_properties(fake_nccl PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2)
    list(APPEND double_targets fake_nccl)
  endif()
  set_target_properties(${double_targets} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/doubles)
endif()
