# What can be chosen at configure time; every option has a working default.
include(CheckCXXCompilerFlag)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Libraries outside the system's folders are found where they were when we linked.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH TRUE)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

option(BUILD_SHARED_LIBS "Build libcaffe as a shared library" ON)
option(BUILD_TESTING "Build the tests" ON)
option(BUILD_TOOLS "Build the command line tools" ON)
option(BUILD_FUZZERS "Make the programs of fuzz/ libFuzzer's, which needs Clang" OFF)
option(TEST_FP16 "Add FLOAT16 storage to the tests that run over types" ON)
option(CAFFE_WERROR "Treat compiler warnings as errors" OFF)
set(SANITIZE "" CACHE STRING "Sanitizers, separated by commas: address, undefined, thread")
set(TEST_PARTS "" CACHE STRING "Folders and files of src/caffe/test that caffe_tests has; empty: all")
set(BLAS "AUTO" CACHE STRING "The CBLAS: AUTO, OpenBLAS, MKL, ATLAS or another vendor of FindBLAS")
set_property(CACHE BLAS PROPERTY STRINGS AUTO OpenBLAS MKL ATLAS Generic)
set(CAFFE_CPU_KERNELS "ALL" CACHE STRING
  "Kernels for ALL instruction sets, chosen at run time, or for this processor's alone: NATIVE")
set_property(CACHE CAFFE_CPU_KERNELS PROPERTY STRINGS ALL NATIVE)
if(NOT CAFFE_CPU_KERNELS MATCHES "^(ALL|NATIVE)$")
  message(FATAL_ERROR "CAFFE_CPU_KERNELS=${CAFFE_CPU_KERNELS}: valid are ALL and NATIVE")
endif()

# Optional parts: AUTO uses what is found, ON insists on it, OFF leaves it out. Any of CMake's words
# for true and false does.
foreach(part USE_CUDA USE_ONEDNN USE_OPENCV USE_HDF5 USE_LEVELDB USE_LMDB USE_MPI BUILD_python)
  set(${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE ${part} PROPERTY STRINGS AUTO ON OFF)
  if(${part} MATCHES "^(ON|YES|TRUE|Y|1|on|yes|true|y)$")
    set(${part} ON)
  elseif(${part} MATCHES "^(OFF|NO|FALSE|N|0|off|no|false|n)$")
    set(${part} OFF)
  elseif(${part} MATCHES "^(AUTO|auto)$")
    set(${part} AUTO)
  else()
    message(FATAL_ERROR "${part}=${${part}}: valid are AUTO, ON and OFF")
  endif()
endforeach()

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# From scratch a file takes half the time with them; but a compiler cache knows no file that was
# compiled with another folder's.
set(pch_default ON)
if(CCACHE_PROGRAM)
  set(pch_default OFF)
endif()
option(CAFFE_PCH "Precompile the headers that most files include" ${pch_default})
# Files that are compiled together read their headers once, and instantiate their templates once.
option(CAFFE_UNITY "Compile the files of a folder together, twelve at a time" ${pch_default})
# A precompiled header fills the heap at which GCC begins to collect garbage, file by file.
if(CAFFE_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>")
endif()

# Groups these sources of a target by folder, but for those with SKIP_UNITY_BUILD_INCLUSION. Names in
# their unnamed namespaces must differ.
function(caffe_unity target)
  if(NOT CAFFE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes types in unnamed namespaces of an included file for those of a header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE
      "#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
  endif()
  foreach(source IN LISTS ARGN)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "count_${folder}" count)
    if(NOT DEFINED ${count})
      set(${count} 0)
    endif()
    math(EXPR group "${${count}} / 12")
    math(EXPR ${count} "${${count}} + 1")
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "${name}_${group}" name)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
    set(unity_file_of_${source} ${PROJECT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity/unity_${name}_cxx.cxx
      PARENT_SCOPE)
  endforeach()
endfunction()

# Code that decides, reads and writes files or prints takes a quarter less time to compile with -O1, and
# runs as fast.
set(caffe_less_optimization "")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT SANITIZE)  # those set it for all files
  set(caffe_less_optimization -O1)
  # For GCC 13 and later these, which -O2 sets, have to be as for the precompiled header.
  check_cxx_compiler_flag(-munroll-only-small-loops HAS_UNROLL_ONLY_SMALL_LOOPS)
  if(HAS_UNROLL_ONLY_SMALL_LOOPS)
    list(APPEND caffe_less_optimization -munroll-only-small-loops -mvzeroupper)
  endif()
endif()
# A file with flags of its own is compiled alone: so it is its group that gets them.
function(caffe_without_loops)
  foreach(source IN LISTS ARGN)
    set(file ${source})
    if(DEFINED unity_file_of_${source})
      set(file ${unity_file_of_${source}})
    endif()
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${caffe_less_optimization}")
  endforeach()
endfunction()

if(SANITIZE)
  string(REPLACE ";" "," sanitizers "${SANITIZE}")
  set(sanitizer_flags -fsanitize=${sanitizers} -fno-omit-frame-pointer)
  if(sanitizers MATCHES "undefined")
    list(APPEND sanitizer_flags -fno-sanitize-recover=undefined)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${sanitizer_flags}>")
  add_link_options(-fsanitize=${sanitizers})
endif()

# What libFuzzer learns from: which edges an input takes.
if(BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT BUILD_TOOLS)
    message(FATAL_ERROR "BUILD_FUZZERS=ON needs Clang (CMAKE_CXX_COMPILER=clang++) and BUILD_TOOLS=ON")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>")
endif()
