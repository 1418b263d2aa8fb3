file(GLOB proto_file ${PROJECT_SOURCE_DIR}/src/caffe/proto/caffe.proto)
set(proto_dir ${PROJECT_BINARY_DIR}/include/caffe/proto)
file(MAKE_DIRECTORY ${proto_dir})
add_custom_command(
  OUTPUT ${proto_dir}/caffe.pb.cc ${proto_dir}/caffe.pb.h
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} --proto_path=${PROJECT_SOURCE_DIR}/src/caffe/proto
          --cpp_out=${proto_dir} ${proto_file}
  DEPENDS ${proto_file})

file(GLOB sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/caffe/*.cpp ${PROJECT_SOURCE_DIR}/src/caffe/layers/*.cpp
  ${PROJECT_SOURCE_DIR}/src/caffe/solvers/*.cpp ${PROJECT_SOURCE_DIR}/src/caffe/io/*.cpp
  ${PROJECT_SOURCE_DIR}/src/caffe/util/*.cpp ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu/*.cpp)
add_library(caffe ${sources} ${proto_dir}/caffe.pb.cc ${proto_dir}/caffe.pb.h)
target_include_directories(caffe PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
  ${Protobuf_INCLUDE_DIRS} ${Boost_INCLUDE_DIRS} ${OPENBLAS_INCLUDE_DIR})
target_link_libraries(caffe PUBLIC protobuf::libprotobuf ${GLOG_LIBRARY} ${GFLAGS_LIBRARY}
  ${OPENBLAS_LIBRARY} ${LMDB_LIBRARY} ${LEVELDB_LIBRARY} ${OpenCV_LIBS} OpenMP::OpenMP_CXX Threads::Threads)
target_compile_definitions(caffe PUBLIC CPU_ONLY USE_OPENCV USE_LMDB USE_LEVELDB USE_HDF5)
target_include_directories(caffe PUBLIC ${OpenCV_INCLUDE_DIRS} ${HDF5_INCLUDE_DIRS})
target_link_libraries(caffe PUBLIC ${HDF5_C_LIBRARIES} ${HDF5_HL_LIBRARIES})
target_compile_options(caffe PRIVATE -Wall -Wextra -Wno-sign-compare)
