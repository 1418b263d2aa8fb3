# Files of loops, compiled once per instruction set; which one runs is decided at run time
# (src/caffe/kernels/cpu/instruction_sets.cpp).
set(kernel_dir ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu)
set(compiled_kernels_dir ${PROJECT_BINARY_DIR}/kernels/cpu)
set(caffe_kernel_sources "")
set(compiled_kernels "")

# The loops of each kind of kernels, and flags for them.
set(VectorKernels_loops vector_kernels)
set(PackedTiles_loops packed_tiles)
set(WinogradKernels_loops winograd_loops)
set(Int8Tiles_loops int8_tiles)
set(Int8Tiles_flags "-ffp-contract=off")  # the same bits on every instruction set
set(AmxTiles_loops amx_tiles)
set(AmxTiles_flags "-ffp-contract=off")

# caffe_kernels(set flags kind...): compiles the loops of these kinds with simd_<set>.hpp and the
# flags, as <set>::k<kind>.
function(caffe_kernels CAFFE_SET flags)
  foreach(kind ${ARGN})
    set(loops ${${kind}_loops})
    set(file ${compiled_kernels_dir}/${loops}_${CAFFE_SET}.cpp)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"// Written by cmake/Kernels.cmake.
#define CAFFE_INSTRUCTION_SET @CAFFE_SET@
#include \"simd_@CAFFE_SET@.hpp\"
#include \"@loops@.inc\"
")
    set_source_files_properties(${file} PROPERTIES
      INCLUDE_DIRECTORIES ${kernel_dir}
      COMPILE_FLAGS "-O3 -fno-math-errno -fno-trapping-math ${flags} ${${kind}_flags}")
    list(APPEND caffe_kernel_sources ${file})
    string(APPEND compiled_kernels
      "namespace ${CAFFE_SET} { extern const ${kind} k${kind}\; }\n")
  endforeach()
  set(caffe_kernel_sources ${caffe_kernel_sources} PARENT_SCOPE)
  set(compiled_kernels ${compiled_kernels} PARENT_SCOPE)
endfunction()

# Vectors wider than the machine's have no ABI, but are no argument of any function call.
caffe_kernels(generic "-Wno-psabi" VectorKernels PackedTiles WinogradKernels Int8Tiles)
caffe_kernels(emulated_amx "" AmxTiles)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(avx2 "-mavx2 -mfma -mf16c")
  # GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
  set(avx512 "${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 \
-Wno-uninitialized -Wno-maybe-uninitialized")
  caffe_kernels(avx2 "${avx2}" VectorKernels PackedTiles WinogradKernels Int8Tiles)
  caffe_kernels(avx2_vnni "${avx2} -mavxvnni" Int8Tiles)
  caffe_kernels(avx512 "${avx512}" VectorKernels PackedTiles WinogradKernels Int8Tiles)
  caffe_kernels(avx512_vnni "${avx512} -mavx512vnni" Int8Tiles)
  caffe_kernels(amx "${avx512} -mamx-tile -mamx-int8 -mamx-bf16" AmxTiles)
endif()

file(CONFIGURE OUTPUT ${compiled_kernels_dir}/compiled_kernels.hpp @ONLY CONTENT
"// Written by cmake/Kernels.cmake: what it compiles, for instruction_sets.cpp.
#include \"instruction_set_row.hpp\"

namespace caffe {
namespace kernels {
@compiled_kernels@}  // namespace kernels
}  // namespace caffe
")
set_source_files_properties(${kernel_dir}/instruction_sets.cpp PROPERTIES
  INCLUDE_DIRECTORIES "${compiled_kernels_dir};${kernel_dir}")
