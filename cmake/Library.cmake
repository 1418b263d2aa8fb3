# libcaffe: the schema's generated code, the sources, and what dependents need.
set(proto_file ${PROJECT_SOURCE_DIR}/src/caffe/proto/caffe.proto)
set(generated_dir ${PROJECT_BINARY_DIR}/include)
set(proto_dir ${generated_dir}/caffe/proto)
file(MAKE_DIRECTORY ${proto_dir})
add_custom_command(
  OUTPUT ${proto_dir}/caffe.pb.cc ${proto_dir}/caffe.pb.h
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/src/caffe/proto
          --cpp_out=${proto_dir} ${proto_file}
  DEPENDS ${proto_file}
  COMMENT "Generating caffe.pb.h"
  VERBATIM)
set(names_script ${PROJECT_SOURCE_DIR}/cmake/SchemaNames.cmake)
add_custom_command(
  OUTPUT ${proto_dir}/names.inc
  COMMAND ${CMAKE_COMMAND} -DHEADER=${proto_dir}/caffe.pb.h -DOUTPUT=${proto_dir}/names.inc
          -P ${names_script}
  DEPENDS ${proto_dir}/caffe.pb.h ${names_script}
  COMMENT "Listing the schema's names"
  VERBATIM)
# What reads and writes messages fast is in protobuf's library: this takes half the time to compile.
set_source_files_properties(${proto_dir}/caffe.pb.cc PROPERTIES
  COMPILE_OPTIONS "-w;$<$<NOT:$<CONFIG:Debug>>:-O1>")

set(revision_file ${generated_dir}/caffe/kernel_revision.inc)
set(revision_script ${PROJECT_SOURCE_DIR}/cmake/KernelRevision.cmake)
include(${revision_script})
caffe_kernel_files(${PROJECT_SOURCE_DIR} cpu cpu_kernel_files CONFIGURE_DEPENDS)
caffe_kernel_files(${PROJECT_SOURCE_DIR} cuda cuda_kernel_files CONFIGURE_DEPENDS)
set(kernel_files ${cpu_kernel_files} ${cuda_kernel_files})
list(REMOVE_DUPLICATES kernel_files)
list(TRANSFORM kernel_files PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(
  OUTPUT ${revision_file}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${revision_file}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CAFFE_CPU_KERNELS} ${CMAKE_CXX_FLAGS} ${CMAKE_CUDA_COMPILER_VERSION} ${CMAKE_CUDA_ARCHITECTURES}"
          -P ${revision_script}
  DEPENDS ${kernel_files} ${revision_script}
  COMMENT "Hashing the kernels' sources"
  VERBATIM)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/*.cpp)
list(FILTER sources EXCLUDE REGEX
  "/src/caffe/(cuda|inference/backends/cuda|io/video/plugin|onednn|openmp_settings|parallel/mpi|test)/")
file(GLOB onednn_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/onednn/*.cpp)
list(REMOVE_ITEM onednn_sources ${PROJECT_SOURCE_DIR}/src/caffe/onednn/absent.cpp)
if(NOT HAVE_ONEDNN)
  set(onednn_sources ${PROJECT_SOURCE_DIR}/src/caffe/onednn/absent.cpp)
endif()
if(HAVE_CUDA)
  file(GLOB cuda_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/caffe/cuda/*.cpp
    ${PROJECT_SOURCE_DIR}/src/caffe/inference/backends/cuda/*.cpp
    ${PROJECT_SOURCE_DIR}/src/caffe/kernels/cuda/*.cu)
  list(REMOVE_ITEM cuda_sources ${PROJECT_SOURCE_DIR}/src/caffe/inference/backends/cuda/absent.cpp)
  list(APPEND sources ${cuda_sources})
else()
  list(APPEND sources ${PROJECT_SOURCE_DIR}/src/caffe/inference/backends/cuda/absent.cpp)
  list(FILTER sources EXCLUDE REGEX "_gpu\\.cpp$")
endif()
set(mpi_source ${PROJECT_SOURCE_DIR}/src/caffe/parallel/mpi/absent.cpp)
if(HAVE_MPI)
  set(mpi_source ${PROJECT_SOURCE_DIR}/src/caffe/parallel/mpi/mpi_communicator.cpp)
  set_source_files_properties(${mpi_source} PROPERTIES
    INCLUDE_DIRECTORIES "${MPI_C_INCLUDE_DIRS}"
    COMPILE_DEFINITIONS "OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX")
endif()
add_library(caffe ${sources} ${caffe_kernel_sources} ${onednn_sources} ${mpi_source} ${proto_dir}/caffe.pb.cc ${proto_dir}/caffe.pb.h
  ${proto_dir}/names.inc ${revision_file})
add_library(Caffe::caffe ALIAS caffe)
set_target_properties(caffe PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  DEFINE_SYMBOL ""
  INSTALL_RPATH "$ORIGIN")
target_compile_features(caffe PUBLIC cxx_std_17)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/core/version.cpp PROPERTIES
  COMPILE_DEFINITIONS CAFFE_VERSION="${PROJECT_VERSION}")
if(GLOG_HAS_YEAR)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/util/system/log_prefix.cpp PROPERTIES
    COMPILE_DEFINITIONS CAFFE_GLOG_HAS_YEAR)
endif()
target_compile_definitions(caffe PUBLIC ${caffe_definitions}
  PRIVATE $<$<COMPILE_LANGUAGE:CXX>:CAFFE_BUILT_IN>)
target_include_directories(caffe PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Headers of src/caffe are the library's own, and of programs that belong to it: they say so by
# caffe_internal_headers(target).
function(caffe_internal_headers)
  foreach(target IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  endforeach()
endfunction()
caffe_internal_headers(caffe)
# System folders: no warnings from generated code and other people's headers.
target_include_directories(caffe SYSTEM PUBLIC $<BUILD_INTERFACE:${generated_dir}> ${caffe_include_dirs})
target_link_libraries(caffe PUBLIC ${caffe_libraries})
if(caffe_boost_thread)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/core/internal_thread.cpp PROPERTIES
    COMPILE_DEFINITIONS CAFFE_BOOST_THREAD)
  target_link_libraries(caffe PRIVATE ${caffe_boost_thread})
endif()
if(HAVE_ONEDNN)
  if(NOT ONEDNN_INCLUDE_DIR STREQUAL "/usr/include")
    set_source_files_properties(${onednn_sources} PROPERTIES
      INCLUDE_DIRECTORIES "${ONEDNN_INCLUDE_DIR}")
  endif()
  target_link_libraries(caffe PRIVATE ${ONEDNN_LIBRARY})
endif()
if(HAVE_MPI)
  target_link_libraries(caffe PRIVATE ${MPI_C_LIBRARIES})
endif()

set(caffe_warnings -Wall -Wextra -Wno-sign-compare)
# Of GCC 12's standard library Clang reports that std::stable_sort calls what is deprecated.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_FLAGS "-std=c++17 -Werror=deprecated-declarations")
  check_cxx_source_compiles("#include <algorithm>
int main(int count, char** arguments) { std::stable_sort(arguments, arguments + count); }"
    STABLE_SORT_IS_QUIET)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_QUIET)
  if(NOT STABLE_SORT_IS_QUIET)
    list(APPEND caffe_warnings -Wno-deprecated-declarations)
  endif()
endif()
if(CAFFE_WERROR)
  list(APPEND caffe_warnings -Werror)
endif()

# Kernels include little, and have flags of their own.
if(CAFFE_PCH)
  target_precompile_headers(caffe PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/src/caffe/precompiled.hpp>")
  set(without_pch ${sources} ${caffe_kernel_sources} ${onednn_sources} ${mpi_source})
  list(FILTER without_pch INCLUDE REGEX "/kernels/cpu/|/onednn/|/mpi/")
  set_source_files_properties(${without_pch} ${proto_dir}/caffe.pb.cc PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON)
endif()

# What instantiates members of a class that another file instantiates as a whole, Net's among them, and
# what has the names of another file: the GPU's of the CPU's, absent.cpp of what it stands for.
file(GLOB net_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caffe/net/net*.cpp)
set(apart ${sources})
list(FILTER apart INCLUDE REGEX "/cuda/|_gpu[.]cpp$|/absent[.]cpp$")
foreach(name data/data_transformer layers/normalization/batch_norm_engines)
  list(APPEND apart ${PROJECT_SOURCE_DIR}/src/caffe/${name}.cpp)
endforeach()
set_source_files_properties(${apart} ${net_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
caffe_unity(caffe ${sources} ${onednn_sources})
set(without_loops ${sources})
list(FILTER without_loops INCLUDE REGEX
  "/src/caffe/(inference/(graph|passes|report)/|net/net_)[a-z0-9_]+\\.cpp$")
list(FILTER without_loops EXCLUDE REGEX "/net_comparison\\.cpp$")
caffe_without_loops(${without_loops})

# OpenMP's settings, whose library is initialized before libgomp, and the chain that leads to it from
# libcaffe (openmp_settings.cpp says why). All are shared, whatever libcaffe is.
set(caffe_openmp_libraries "")
foreach(link RANGE 6)
  set(name caffe_openmp_settings_${link})
  add_library(${name} SHARED ${PROJECT_SOURCE_DIR}/src/caffe/openmp_settings/chain.cpp)
  if(link EQUAL 0)
    set_property(TARGET ${name} PROPERTY SOURCES
      ${PROJECT_SOURCE_DIR}/src/caffe/openmp_settings/openmp_settings.cpp)
  else()
    target_link_libraries(${name} PRIVATE ${next})
    target_compile_definitions(${name} PRIVATE NEXT=${next})
  endif()
  target_compile_definitions(${name} PRIVATE THIS=${name})
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION} INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_compile_options(${name} PRIVATE ${caffe_warnings})
  list(APPEND caffe_openmp_libraries ${name})
  set(next ${name})
endforeach()
target_link_libraries(caffe PRIVATE ${next})
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/caffe/core/threads.cpp PROPERTIES
  COMPILE_DEFINITIONS CAFFE_RESTORE_OPENMP_ENVIRONMENT=${next})

# Layers and solvers register themselves when the program starts: of a static library every object
# has to be linked, used or not. Options come before the objects and libraries, so that where the
# library itself follows nothing is left to take from it.
if(NOT BUILD_SHARED_LIBS)
  target_link_options(caffe INTERFACE
    "LINKER:--whole-archive,$<TARGET_FILE:$<TARGET_NAME:caffe>>,--no-whole-archive")
endif()

target_compile_options(caffe PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:${caffe_warnings}>)
if(HAVE_CUDA)
  caffe_cuda_settings(caffe)
endif()

if(HAVE_VIDEO)
  add_library(caffe_video MODULE ${PROJECT_SOURCE_DIR}/src/caffe/io/video/plugin/video_plugin.cpp)
  set_target_properties(caffe_video PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    CXX_VISIBILITY_PRESET hidden)
  target_compile_features(caffe_video PRIVATE cxx_std_17)
  caffe_internal_headers(caffe_video)
  target_include_directories(caffe_video SYSTEM PRIVATE ${OPENCV_videoio_INCLUDE_DIR})
  target_compile_options(caffe_video PRIVATE ${caffe_warnings})
  target_link_libraries(caffe_video PRIVATE ${OPENCV_videoio_LIBRARY} ${OPENCV_LIBRARIES})
endif()
