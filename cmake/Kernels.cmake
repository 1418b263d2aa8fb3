# Files of loops, compiled once per instruction set; which one runs is decided at run time.
set(kernel_dir ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cpu)
set(vector_flags "-O3 -fno-math-errno -fno-trapping-math")
set(avx2_flags "-mavx2 -mfma -mf16c")
# GCC 12 and 13 take the undefined operand inside their own AVX-512 intrinsics for a mistake.
set(avx512_flags "${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 \
-Wno-uninitialized -Wno-maybe-uninitialized")

# Products of pairs and their sums in one instruction: variants of the two sets before.
set(avx_vnni_flags "${avx2_flags} -mavxvnni")
set(avx512_vnni_flags "${avx512_flags} -mavx512vnni")

# Matrix products in tiles of registers.
set(amx_flags "${avx512_flags} -mamx-tile -mamx-int8 -mamx-bf16")
set(emulated_flags "")

# Vectors wider than the machine's have no ABI, but are no argument of any function call.
set(generic_flags "-Wno-psabi")
set(int8_tiles_flags "-ffp-contract=off")  # the same bits on every instruction set
set(amx_tiles_flags "-ffp-contract=off")
foreach(loops vector packed_tiles winograd int8_tiles amx_tiles)
  foreach(set generic avx2 avx512 avx_vnni avx512_vnni amx emulated)
    set(file ${kernel_dir}/${loops}_${set}.cpp)
    if(NOT EXISTS ${file})
      continue()
    endif()
    if(set MATCHES "generic|emulated" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
      set_source_files_properties(${file} PROPERTIES COMPILE_FLAGS
        "${vector_flags} ${${set}_flags} ${${loops}_flags}")
    else()
      set_source_files_properties(${file} PROPERTIES HEADER_FILE_ONLY ON)
    endif()
  endforeach()
endforeach()
