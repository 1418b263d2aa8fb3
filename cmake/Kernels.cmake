# Files of loops, compiled once per instruction set; which one runs is decided at run time
# (src/caffe/kernels/cpu/simd/instruction_sets.cpp).
set(compiled_kernels_dir ${PROJECT_BINARY_DIR}/kernels/cpu)
set(caffe_kernel_sources "")
set(compiled_kernels "")

# The loops of each kind of kernels, and flags for them.
set(VectorKernels_loops simd/vector_kernels)
set(PackedTiles_loops gemm/packed_tiles)
set(WinogradKernels_loops convolution/winograd_loops)
set(Int8Tiles_loops int8/int8_tiles)
set(Int8Tiles_flags "-ffp-contract=off")  # the same bits on every instruction set
set(AmxTiles_loops simd/amx_tiles)
set(AmxTiles_flags "-ffp-contract=off")

# With CAFFE_CPU_KERNELS=NATIVE: the row of the registry that is the best for this processor, and its
# kernels, SET.KIND. A processor with AMX has a second row.
set(native_row generic)
set(native_kernels "")
macro(caffe_native_row row features)
  set(missing ${features})
  list(REMOVE_ITEM missing "" ${cpu_features})  # of none there is no error
  if(NOT missing)
    set(native_row ${row})
    set(native_kernels ${ARGN})
  endif()
endmacro()
if(CAFFE_CPU_KERNELS STREQUAL "NATIVE")
  try_run(features_ran features_compiled ${PROJECT_BINARY_DIR}/cpu_features
    SOURCES ${PROJECT_SOURCE_DIR}/cmake/print_cpu_features.cpp
            ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu/simd/cpu_features.cpp
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src
    CXX_STANDARD 17
    RUN_OUTPUT_VARIABLE cpu_features)
  if(NOT features_compiled OR NOT features_ran EQUAL 0)
    message(FATAL_ERROR "CAFFE_CPU_KERNELS=NATIVE: cannot find out this processor's features; "
      "use -DCAFFE_CPU_KERNELS=ALL")
  endif()
  set(kinds VectorKernels PackedTiles WinogradKernels)
  list(TRANSFORM kinds PREPEND "avx2." OUTPUT_VARIABLE of_avx2)
  list(TRANSFORM kinds PREPEND "avx512." OUTPUT_VARIABLE of_avx512)
  list(APPEND of_avx512 avx2.WinogradKernels)  # for blocks of 8 channels
  caffe_native_row(avx2 "avx2;f16c" ${of_avx2} avx2.Int8Tiles)
  caffe_native_row(avx2_vnni "avx2;f16c;avx_vnni" ${of_avx2} avx2_vnni.Int8Tiles)
  caffe_native_row(avx512 "avx2;f16c;avx512" ${of_avx512} avx512.Int8Tiles)
  caffe_native_row(avx512_vnni "avx2;f16c;avx512;avx512_vnni" ${of_avx512} avx512_vnni.Int8Tiles)
  if("amx_int8" IN_LIST cpu_features)
    list(APPEND native_kernels amx.AmxTiles)
  endif()
endif()

# Writes a file unless it has this text; file(CONFIGURE) of CMake 3.18 loses the ends of lines.
function(caffe_write file text)
  set(old "")
  if(EXISTS ${file})
    file(READ ${file} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

# caffe_kernels(set flags kind...): compiles the loops of these kinds with simd_<set>.hpp and the
# flags, as <set>::k<kind>.
function(caffe_kernels CAFFE_SET flags)
  foreach(kind ${ARGN})
    if(CAFFE_CPU_KERNELS STREQUAL "NATIVE" AND NOT CAFFE_SET MATCHES "generic|emulated"
       AND NOT "${CAFFE_SET}.${kind}" IN_LIST native_kernels)
      continue()
    endif()
    set(loops ${${kind}_loops})
    get_filename_component(name ${loops} NAME)
    set(file ${compiled_kernels_dir}/${name}_${CAFFE_SET}.cpp)
    caffe_write(${file} "// Written by cmake/Kernels.cmake.
#define CAFFE_INSTRUCTION_SET ${CAFFE_SET}
#include \"caffe/kernels/cpu/simd/simd_${CAFFE_SET}.hpp\"
#include \"caffe/kernels/cpu/${loops}.inc\"
")
    set_source_files_properties(${file} PROPERTIES
      COMPILE_FLAGS "-O3 -fno-math-errno -fno-trapping-math ${flags} ${${kind}_flags}")
    list(APPEND caffe_kernel_sources ${file})
    string(APPEND compiled_kernels
      "namespace ${CAFFE_SET} { extern const ${kind} k${kind}\; }\n")
  endforeach()
  set(caffe_kernel_sources ${caffe_kernel_sources} PARENT_SCOPE)
  set(compiled_kernels ${compiled_kernels} PARENT_SCOPE)
endfunction()

# Vectors wider than the machine's have no ABI, but are no argument of any function call.
set(generic "-Wno-psabi")
if(NOT native_row STREQUAL "generic")
  string(APPEND generic " -O1")  # runs by name, or on another machine
endif()
caffe_kernels(generic "${generic}" VectorKernels PackedTiles WinogradKernels Int8Tiles)
caffe_kernels(emulated_amx "" AmxTiles)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(avx2 "-mavx2 -mfma -mf16c")
  set(avx512 "${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512")
  # GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND avx512 " -Wno-uninitialized -Wno-maybe-uninitialized")
  endif()
  caffe_kernels(avx2 "${avx2}" VectorKernels PackedTiles WinogradKernels Int8Tiles)
  caffe_kernels(avx2_vnni "${avx2} -mavxvnni" Int8Tiles)
  caffe_kernels(avx512 "${avx512}" VectorKernels PackedTiles WinogradKernels Int8Tiles)
  caffe_kernels(avx512_vnni "${avx512} -mavx512vnni" Int8Tiles)
  set(x86_rows avx2 avx2_vnni avx512 avx512_vnni amx)
  caffe_kernels(amx "${avx512} -mamx-tile -mamx-int8 -mamx-bf16" AmxTiles)
endif()

# Rows of the registry whose kernels are compiled.
set(compiled_rows "")
foreach(row ${x86_rows})
  if(CAFFE_CPU_KERNELS STREQUAL "ALL" OR row STREQUAL native_row
     OR (row STREQUAL "amx" AND "amx.AmxTiles" IN_LIST native_kernels))
    string(TOUPPER ${row} row)
    string(APPEND compiled_rows "#define CAFFE_COMPILED_${row}\n")
  endif()
endforeach()
caffe_write(${compiled_kernels_dir}/compiled_kernels.hpp
"// Written by cmake/Kernels.cmake: what it compiles, for instruction_sets.cpp.
${compiled_rows}
#include \"caffe/kernels/cpu/simd/instruction_set_row.hpp\"

namespace caffe::kernels {
${compiled_kernels}}  // namespace caffe::kernels
")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu/simd/instruction_sets.cpp
  PROPERTIES INCLUDE_DIRECTORIES ${compiled_kernels_dir})
