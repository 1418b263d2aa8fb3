# Files of loops, compiled once per instruction set; which one runs is decided at run time.
set(kernel_dir ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu)
set(vector_flags "-O3 -fno-math-errno -fno-trapping-math")
set(avx2_flags "-mavx2 -mfma -mf16c")
# GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
set(avx512_flags "${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 \
-Wno-maybe-uninitialized")

# Vectors wider than the machine's have no ABI, but are no argument of any function call.
foreach(name vector packed_tiles winograd)
  set_source_files_properties(${kernel_dir}/${name}_generic.cpp PROPERTIES
    COMPILE_FLAGS "${vector_flags} -Wno-psabi")
  list(APPEND avx2_files ${kernel_dir}/${name}_avx2.cpp)
  list(APPEND avx512_files ${kernel_dir}/${name}_avx512.cpp)
endforeach()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(${avx2_files} PROPERTIES
    COMPILE_FLAGS "${vector_flags} ${avx2_flags}")
  set_source_files_properties(${avx512_files} PROPERTIES
    COMPILE_FLAGS "${vector_flags} ${avx512_flags}")
else()
  set_source_files_properties(${avx2_files} ${avx512_files} PROPERTIES HEADER_FILE_ONLY ON)
endif()
