# Libraries that libcaffe needs, and those that it uses when they are there. What programs that link
# libcaffe need too is collected in caffe_libraries, caffe_include_dirs and caffe_definitions; the
# lines of the summary in caffe_parts.
set(caffe_libraries "")
set(caffe_include_dirs "")
set(caffe_definitions "")
set(caffe_parts "")

# A line of the summary: what became of a part. The text may hold semicolons.
macro(caffe_summary part text)
  list(APPEND caffe_parts ${part})
  set(caffe_part_${part} "${text}")
endmacro()

set(caffe_remedy "scripts/install_dependencies.sh installs it on Debian and Ubuntu")

# A library by header and file, for packages without a CMake configuration. Further arguments: folders
# below the usual ones in which the header lies.
function(caffe_find name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
    set(${name}_FOUND TRUE PARENT_SCOPE)
  else()
    set(${name}_FOUND FALSE PARENT_SCOPE)
  endif()
endfunction()

function(caffe_require name)
  caffe_find(${name} ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found: ${caffe_remedy}")
  endif()
endfunction()

macro(caffe_use libraries)
  list(APPEND caffe_libraries ${libraries})
  list(APPEND caffe_include_dirs ${ARGN})
endmacro()

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
# From CMake 3.30 on: Boost's own configuration, or a warning.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.65 REQUIRED)
caffe_use("OpenMP::OpenMP_CXX;Threads::Threads;${CMAKE_DL_LIBS}" ${Boost_INCLUDE_DIRS})
# Internal threads are Boost's where its library is there: old programs wait in them by functions of
# Boost's, which end when the thread is to stop.
find_package(Boost 1.65 QUIET OPTIONAL_COMPONENTS thread)
set(caffe_boost_thread "")
if(TARGET Boost::thread)
  get_target_property(caffe_boost_thread Boost::thread LOCATION)
  # A static one would need Boost's other libraries by name.
  if(NOT caffe_boost_thread MATCHES "\\.(so|dylib)")
    set(caffe_boost_thread "")
  endif()
endif()

# protobuf's own configuration knows that newer versions need abseil; older packages have none.
find_package(Protobuf CONFIG QUIET)
if(NOT TARGET protobuf::libprotobuf OR NOT TARGET protobuf::protoc)
  find_package(Protobuf MODULE REQUIRED)
endif()
# Versions from 2022 on are 21, 22, ... and, as C++ libraries, 3.21 or 4.22 and so on.
if(Protobuf_VERSION AND Protobuf_VERSION VERSION_LESS 3.12)
  message(FATAL_ERROR "protobuf ${Protobuf_VERSION} was found, 3.12 or newer is needed")
endif()
caffe_use(protobuf::libprotobuf ${Protobuf_INCLUDE_DIRS})

# glog 0.7 wants a definition that its own target brings.
find_package(glog CONFIG QUIET)
if(TARGET glog::glog)
  caffe_use(glog::glog)
else()
  caffe_require(GLOG glog/logging.h glog)
  caffe_use(${GLOG_LIBRARY} ${GLOG_INCLUDE_DIR})
endif()
caffe_require(GFLAGS gflags/gflags.h gflags)
caffe_use(${GFLAGS_LIBRARY} ${GFLAGS_INCLUDE_DIR})

# From 0.6 on glog's lines begin with the year, unless it is told otherwise.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_QUIET ON)
if(TARGET glog::glog)
  set(CMAKE_REQUIRED_LIBRARIES glog::glog ${GFLAGS_LIBRARY})
else()
  set(CMAKE_REQUIRED_LIBRARIES ${GLOG_LIBRARY} ${GFLAGS_LIBRARY})
endif()
set(CMAKE_REQUIRED_INCLUDES ${GLOG_INCLUDE_DIR} ${GFLAGS_INCLUDE_DIR})
check_cxx_source_compiles("#include <glog/logging.h>
int main() { return FLAGS_log_year_in_prefix; }" GLOG_HAS_YEAR)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_QUIET)

include(cmake/Blas.cmake)
caffe_use("${CBLAS_LIBRARIES}" ${CBLAS_INCLUDE_DIR})

# An optional part: `found` names a variable that says whether it is there. Sets HAVE_<part>, and the
# definition USE_<part>, and its line of the summary.
macro(caffe_part part found)
  set(HAVE_${part} FALSE)
  if(USE_${part} STREQUAL "OFF")
    caffe_summary(${part} "off")
  elseif(${found})
    set(HAVE_${part} TRUE)
    caffe_summary(${part} "on")
    list(APPEND caffe_definitions USE_${part})
  elseif(USE_${part} STREQUAL "ON")
    message(FATAL_ERROR "USE_${part}=ON, but ${part} was not found: ${caffe_remedy}")
  else()
    caffe_summary(${part} "off, not found")
  endif()
endmacro()

caffe_find(LMDB lmdb.h lmdb)
caffe_part(LMDB LMDB_FOUND)
caffe_find(LEVELDB leveldb/db.h leveldb)
caffe_part(LEVELDB LEVELDB_FOUND)
foreach(part LMDB LEVELDB)
  if(HAVE_${part})
    caffe_use(${${part}_LIBRARY} ${${part}_INCLUDE_DIR})
  endif()
endforeach()

# The three libraries that are used: OpenCV's own configuration asks for all of OpenCV's packages.
set(OPENCV_LIBRARIES "")
set(OPENCV_FOUND TRUE)
foreach(module imgcodecs imgproc core)
  caffe_find(OPENCV_${module} opencv2/${module}.hpp opencv_${module} opencv4)
  list(APPEND OPENCV_LIBRARIES ${OPENCV_${module}_LIBRARY})
  if(NOT OPENCV_${module}_FOUND)
    set(OPENCV_FOUND FALSE)
  endif()
endforeach()
caffe_part(OPENCV OPENCV_FOUND)
if(HAVE_OPENCV)
  caffe_use("${OPENCV_LIBRARIES}" ${OPENCV_core_INCLUDE_DIR})
endif()
# For VideoData: not linked to libcaffe but to a library that it loads when it needs videos.
caffe_find(OPENCV_videoio opencv2/videoio.hpp opencv_videoio opencv4)
set(HAVE_VIDEO FALSE)
if(HAVE_OPENCV AND OPENCV_videoio_FOUND)
  set(HAVE_VIDEO TRUE)
endif()

if(NOT USE_HDF5 STREQUAL "OFF")
  find_package(HDF5 QUIET COMPONENTS C HL)
endif()
caffe_part(HDF5 HDF5_FOUND)
if(HAVE_HDF5)
  caffe_use("${HDF5_HL_LIBRARIES};${HDF5_C_LIBRARIES};${HDF5_LIBRARIES}" ${HDF5_INCLUDE_DIRS})
endif()

# Not by its own configuration: Debian's fails where the headers of OpenCL are not installed. Only
# the library's own sources see it, so dependents need neither its headers nor a definition. DNNL_DIR
# chooses among several, as does CMAKE_PREFIX_PATH.
set(DNNL_DIR "" CACHE PATH "oneDNN: where it is installed, or the folder of its dnnl-config.cmake")
if(NOT DNNL_DIR STREQUAL "${ONEDNN_SEARCHED}")
  unset(ONEDNN_INCLUDE_DIR CACHE)
  unset(ONEDNN_LIBRARY CACHE)
  set(ONEDNN_SEARCHED "${DNNL_DIR}" CACHE INTERNAL "the DNNL_DIR of the configuration before")
endif()
set(onednn_where "")
if(DNNL_DIR)
  set(onednn_where " in DNNL_DIR=${DNNL_DIR}")
  set(onednn_roots ${DNNL_DIR})
  if(DNNL_DIR MATCHES "/cmake/dnnl/?$")  # behind lib, or lib and the architecture
    list(APPEND onednn_roots ${DNNL_DIR}/../../.. ${DNNL_DIR}/../../../..)
  endif()
  find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp PATHS ${onednn_roots}
    PATH_SUFFIXES include NO_DEFAULT_PATH)
  find_library(ONEDNN_LIBRARY dnnl PATHS ${onednn_roots}
    PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
  mark_as_advanced(ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY)
endif()
if(NOT DNNL_DIR OR (ONEDNN_INCLUDE_DIR AND ONEDNN_LIBRARY))
  caffe_find(ONEDNN oneapi/dnnl/dnnl.hpp dnnl)
else()
  set(ONEDNN_FOUND FALSE)
endif()
set(ONEDNN_VERSION "")
if(ONEDNN_FOUND)
  file(STRINGS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h onednn_numbers
    REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX MATCHALL "[0-9]+" onednn_numbers "${onednn_numbers}")
  list(JOIN onednn_numbers "." ONEDNN_VERSION)
  if(ONEDNN_VERSION VERSION_LESS 2.6)
    set(ONEDNN_FOUND FALSE)
  endif()
endif()
set(HAVE_ONEDNN FALSE)
if(USE_ONEDNN STREQUAL "OFF")
  caffe_summary(ONEDNN "off")
elseif(ONEDNN_FOUND)
  set(HAVE_ONEDNN TRUE)
  caffe_summary(ONEDNN "on, ${ONEDNN_VERSION}")
elseif(ONEDNN_VERSION)
  set(onednn_old "oneDNN ${ONEDNN_VERSION} was found, 2.6 or newer is needed")
  if(USE_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "USE_ONEDNN=ON, but ${onednn_old}")
  endif()
  caffe_summary(ONEDNN "off, ${onednn_old}")
elseif(USE_ONEDNN STREQUAL "ON" OR DNNL_DIR)
  message(FATAL_ERROR "oneDNN was not found${onednn_where} (Debian: libdnnl-dev)")
else()
  caffe_summary(ONEDNN "off, not found")
endif()

# Like oneDNN it is seen by one source file only.
set(HAVE_MPI FALSE)
if(NOT USE_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS C)
endif()
if(USE_MPI STREQUAL "OFF")
  caffe_summary(MPI "off")
elseif(MPI_C_FOUND)
  set(HAVE_MPI TRUE)
  caffe_summary(MPI "on, ${MPI_C_LIBRARIES}")
elseif(USE_MPI STREQUAL "ON")
  message(FATAL_ERROR "USE_MPI=ON, but MPI was not found: ${caffe_remedy}; MPI_HOME names another")
else()
  caffe_summary(MPI "off, not found")
endif()

include(cmake/Cuda.cmake)

find_package(ZLIB QUIET)  # convert_mnist_data reads gzipped idx files

list(REMOVE_DUPLICATES caffe_libraries)
list(REMOVE_DUPLICATES caffe_include_dirs)
# As a system folder it would come before the compiler's own, which breaks #include_next.
list(REMOVE_ITEM caffe_include_dirs /usr/include)
