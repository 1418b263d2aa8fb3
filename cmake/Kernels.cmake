# One file of loops, compiled once per instruction set; which one runs is decided at run time.
set(kernel_dir ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu)
set(vector_flags "-O3 -fno-math-errno -fno-trapping-math")
set(avx2_flags "-mavx2 -mfma -mf16c")
# GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
set(avx512_flags "${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 \
-Wno-maybe-uninitialized")

set_source_files_properties(${kernel_dir}/vector_generic.cpp ${kernel_dir}/winograd_generic.cpp
  PROPERTIES COMPILE_FLAGS "${vector_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(${kernel_dir}/vector_avx2.cpp ${kernel_dir}/winograd_avx2.cpp PROPERTIES
    COMPILE_FLAGS "${vector_flags} ${avx2_flags}")
  set_source_files_properties(${kernel_dir}/vector_avx512.cpp ${kernel_dir}/winograd_avx512.cpp PROPERTIES
    COMPILE_FLAGS "${vector_flags} ${avx512_flags}")
else()
  set_source_files_properties(${kernel_dir}/vector_avx2.cpp ${kernel_dir}/vector_avx512.cpp
    ${kernel_dir}/winograd_avx2.cpp ${kernel_dir}/winograd_avx512.cpp PROPERTIES HEADER_FILE_ONLY ON)
endif()
