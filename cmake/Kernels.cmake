# Files of loops, compiled once per instruction set; which one runs is decided at run time
# (src/caffe/kernels/cpu/simd/instruction_sets.cpp).
set(compiled_kernels_dir ${PROJECT_BINARY_DIR}/kernels/cpu)
set(caffe_kernel_sources "")

# The loops of each kind of kernels, and flags for them.
set(VectorKernels_loops simd/vector_kernels)
set(PackedTiles_loops gemm/packed_tiles)
set(PairTiles_loops gemm/pair_tiles)
set(WinogradKernels_loops convolution/winograd_loops)
set(Int8Tiles_loops int8/int8_tiles)
set(Int8Tiles_flags "-ffp-contract=off")  # the same bits on every instruction set
set(AmxTiles_loops simd/amx_tiles)
set(AmxTiles_flags "-ffp-contract=off")

# A row of the registry, in its order: the features that it needs, the flags with which its own KERNELS
# are compiled, and the kernels of OTHERS that it uses, SET.KIND.
set(instruction_sets "")
macro(caffe_instruction_set name)
  cmake_parse_arguments(${name} "" "" "FEATURES;FLAGS;KERNELS;OTHERS" ${ARGN})
  list(APPEND instruction_sets ${name})
endmacro()

# Vectors wider than the machine's have no ABI, but are no argument of any function call.
caffe_instruction_set(generic FLAGS -Wno-psabi
  KERNELS VectorKernels PackedTiles PairTiles WinogradKernels Int8Tiles)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  # GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  caffe_instruction_set(avx2 FEATURES avx2 f16c FLAGS ${avx2}
    KERNELS VectorKernels PackedTiles WinogradKernels Int8Tiles)
  caffe_instruction_set(avx2_vnni FEATURES avx2 f16c avx_vnni FLAGS ${avx2} -mavxvnni
    KERNELS Int8Tiles OTHERS avx2.VectorKernels avx2.PackedTiles avx2.WinogradKernels)
  # AVX2's Winograd kernels are for blocks of 8 channels.
  caffe_instruction_set(avx512 FEATURES avx2 f16c avx512 FLAGS ${avx512}
    KERNELS VectorKernels PackedTiles WinogradKernels Int8Tiles OTHERS avx2.WinogradKernels)
  caffe_instruction_set(avx512_vnni FEATURES avx2 f16c avx512 avx512_vnni FLAGS ${avx512} -mavx512vnni
    KERNELS Int8Tiles
    OTHERS avx512.VectorKernels avx512.PackedTiles avx512.WinogradKernels avx2.WinogradKernels)
  caffe_instruction_set(avx512_bf16 FEATURES avx2 f16c avx512 avx512_vnni avx512_bf16
    FLAGS ${avx512} -mavx512bf16 KERNELS PairTiles
    OTHERS avx512.VectorKernels avx512.PackedTiles avx512.WinogradKernels avx2.WinogradKernels
           avx512_vnni.Int8Tiles)
  caffe_instruction_set(amx FEATURES avx2 f16c avx512 avx512_bf16 amx_int8 amx_bf16
    FLAGS ${avx512} -mavx512bf16 KERNELS AmxTiles)
endif()
caffe_instruction_set(emulated_amx KERNELS AmxTiles)

# The rows that the registry has. With CAFFE_CPU_KERNELS=NATIVE: what runs everywhere, rows with tiles
# that this processor has, and the last one of those without tiles.
set(compiled_sets ${instruction_sets})
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
  set(native_set generic)
  set(compiled_sets "")
  foreach(set ${instruction_sets})
    set(missing ${${set}_FEATURES})
    if(missing)
      list(REMOVE_ITEM missing "" ${cpu_features})  # of none there is no error
      if(missing)
        continue()
      endif()
    endif()
    if(${set}_FEATURES AND NOT "AmxTiles" IN_LIST ${set}_KERNELS)
      set(native_set ${set})
    else()
      list(APPEND compiled_sets ${set})
    endif()
  endforeach()
  list(APPEND compiled_sets ${native_set})
  list(REMOVE_DUPLICATES compiled_sets)
  if(NOT native_set STREQUAL "generic")
    list(APPEND generic_FLAGS -O1)  # runs by name, or on another machine
  endif()
endif()
set(compiled_kernels "")  # SET.KIND
foreach(set ${compiled_sets})
  foreach(kind ${${set}_KERNELS})
    list(APPEND compiled_kernels ${set}.${kind})
  endforeach()
  list(APPEND compiled_kernels ${${set}_OTHERS})
endforeach()

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

# Adds the source that compiles the loops of a kind with simd_<set>.hpp and the set's flags, as
# <set>::k<kind>.
function(caffe_kernel_source set kind)
  get_filename_component(name ${${kind}_loops} NAME)
  set(file ${compiled_kernels_dir}/${name}_${set}.cpp)
  caffe_write(${file} "// Written by cmake/Kernels.cmake.
#define CAFFE_INSTRUCTION_SET ${set}
#include \"caffe/kernels/cpu/simd/simd_${set}.hpp\"
#include \"caffe/kernels/cpu/${${kind}_loops}.inc\"
")
  list(JOIN ${set}_FLAGS " " flags)
  # Compilers take a quarter of an hour for a file of unrolled vectors or tiles with a sanitizer; of the
  # same loops in the generic set it sees all but the tiles.
  set(unsanitized "")
  if(SANITIZE AND (NOT set STREQUAL "generic" OR name MATCHES "_tiles$"))
    set(unsanitized "-fno-sanitize=all")
  endif()
  set_source_files_properties(${file} PROPERTIES
    COMPILE_FLAGS "${unsanitized} -O3 -fno-math-errno -fno-trapping-math ${flags} ${${kind}_flags}")
  set(caffe_kernel_sources ${caffe_kernel_sources} ${file} PARENT_SCOPE)
endfunction()

set(declarations "")
foreach(set ${instruction_sets})
  if(set IN_LIST compiled_sets)
    string(TOUPPER ${set} name)
    string(APPEND declarations "#define CAFFE_COMPILED_${name}\n")
  endif()
endforeach()
if(CAFFE_CPU_KERNELS STREQUAL "NATIVE")
  string(APPEND declarations "#define CAFFE_NATIVE_KERNELS\n")
endif()
string(APPEND declarations "
#include \"caffe/kernels/cpu/simd/instruction_set_row.hpp\"

namespace caffe::kernels {
")
foreach(set ${instruction_sets})
  foreach(kind ${${set}_KERNELS})
    if(${set}.${kind} IN_LIST compiled_kernels)
      caffe_kernel_source(${set} ${kind})
      string(APPEND declarations "namespace ${set} { extern const ${kind} k${kind}; }\n")
    endif()
  endforeach()
endforeach()
caffe_write(${compiled_kernels_dir}/compiled_kernels.hpp
"// Written by cmake/Kernels.cmake: what it compiles, for instruction_sets.cpp.
${declarations}}  // namespace caffe::kernels
")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu/simd/instruction_sets.cpp
  PROPERTIES INCLUDE_DIRECTORIES ${compiled_kernels_dir})
