# Programs of benchmarks/, built only when asked for by name.
function(caffe_benchmark name source)
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/${source})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks)
  target_link_libraries(${name} PRIVATE caffe)
  target_compile_options(${name} PRIVATE ${caffe_warnings})
endfunction()

caffe_benchmark(net_benchmark nets/net_benchmark.cpp)
caffe_benchmark(engine_benchmark engines/engine_benchmark.cpp)
caffe_benchmark(winograd_benchmark engines/winograd_benchmark.cpp)
caffe_benchmark(int8_benchmark engines/int8_benchmark.cpp)
caffe_benchmark(inner_product_benchmark engines/inner_product_benchmark.cpp)
caffe_benchmark(forward_in_cpp python/forward_in_cpp.cpp)
if(HAVE_OPENCV AND HAVE_LMDB)
  caffe_benchmark(data_benchmark data/data_benchmark.cpp)
endif()
