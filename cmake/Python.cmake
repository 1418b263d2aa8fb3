# The Python package: the module python/caffe/_caffe, next to the package's .py files, and the compiled
# schema that its messages are made from.
#
# The interpreter is Python_EXECUTABLE (or PYTHON_EXECUTABLE, as Caffe called it) where that is set;
# else the first of the active virtual environment's, PATH's and the system's that has numpy,
# protobuf, and headers.
set(HAVE_PYTHON FALSE)
set(python_package ${PROJECT_SOURCE_DIR}/python/caffe)
# What is built goes next to the sources, so that PYTHONPATH=python does; but for a wheel (SKBUILD).
set(python_output ${python_package})
if(SKBUILD)
  set(python_output ${PROJECT_BINARY_DIR}/python)
  file(MAKE_DIRECTORY ${python_output}/proto)
endif()

set(python_remedy "")
function(caffe_try_python executable)
  execute_process(
    COMMAND ${executable} -c "import os, sys, sysconfig, numpy, google.protobuf
assert sys.version_info >= (3, 9), 'Python 3.9 or newer is needed'
assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')), 'no Python.h'
print(sys.executable)"
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    set(python_found ${output} PARENT_SCOPE)
  else()
    string(REGEX REPLACE ".*\n" "" reason "${error}")
    set(python_remedy "${python_remedy} ${executable}: ${reason};" PARENT_SCOPE)
  endif()
endfunction()

if(NOT BUILD_python STREQUAL "OFF")
  if(PYTHON_EXECUTABLE AND NOT Python_EXECUTABLE)
    set(Python_EXECUTABLE ${PYTHON_EXECUTABLE})
  endif()
  if(Python_EXECUTABLE)
    set(python_found ${Python_EXECUTABLE})
  else()
    set(python_found "")
    foreach(candidate $ENV{VIRTUAL_ENV}/bin/python3 python3 /usr/bin/python3)
      if(NOT python_found)
        caffe_try_python(${candidate})
      endif()
    endforeach()
  endif()
  if(python_found)
    set(Python_EXECUTABLE ${python_found})
    find_package(Python 3.9 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.Embed)
  endif()
  if(Python_Development.Module_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import pybind11; print(pybind11.get_include())"
      OUTPUT_VARIABLE pybind11_hint ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_path(PYBIND11_INCLUDE_DIR pybind11/pybind11.h HINTS ${pybind11_hint})
    mark_as_advanced(PYBIND11_INCLUDE_DIR)
  endif()
  if(Python_Development.Module_FOUND AND PYBIND11_INCLUDE_DIR)
    set(HAVE_PYTHON TRUE)
    caffe_summary(python "${Python_VERSION}, ${Python_EXECUTABLE}")
  elseif(BUILD_python STREQUAL "ON")
    message(FATAL_ERROR "BUILD_python=ON, but Python (with its headers, numpy and protobuf) or "
      "pybind11 was not found: ${caffe_remedy}; Python_EXECUTABLE names another interpreter."
      "${python_remedy}")
  else()
    caffe_summary(python "off, not found:${python_remedy}")
  endif()
else()
  caffe_summary(python "off")
endif()

# The schema for caffe/proto/caffe_pb2.py; of use without the module too.
add_custom_command(OUTPUT ${python_output}/proto/caffe.desc
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/src/caffe/proto
          --descriptor_set_out=${python_output}/proto/caffe.desc ${proto_file}
  DEPENDS ${proto_file}
  COMMENT "Generating caffe.desc"
  VERBATIM)
add_custom_target(pycaffe_schema ALL DEPENDS ${python_output}/proto/caffe.desc)

if(HAVE_PYTHON)
  file(GLOB python_sources CONFIGURE_DEPENDS ${python_package}/*.cpp)
  Python_add_library(pycaffe MODULE WITH_SOABI ${python_sources})
  add_dependencies(pycaffe pycaffe_schema)
  set_target_properties(pycaffe PROPERTIES
    OUTPUT_NAME _caffe
    LIBRARY_OUTPUT_DIRECTORY ${python_output}
    CXX_VISIBILITY_PRESET hidden)
  target_include_directories(pycaffe SYSTEM PRIVATE ${PYBIND11_INCLUDE_DIR})
  target_compile_options(pycaffe PRIVATE ${caffe_warnings} ${caffe_less_optimization})
  target_link_libraries(pycaffe PRIVATE caffe)
  caffe_unity(pycaffe ${python_sources})
  caffe_internal_headers(pycaffe)

  # A wheel gets the .py files by itself (pyproject.toml); an installation has python/ as Caffe's had.
  if(SKBUILD)
    install(TARGETS pycaffe DESTINATION caffe COMPONENT python)
    install(TARGETS ${caffe_openmp_libraries} LIBRARY DESTINATION caffe COMPONENT python
      NAMELINK_SKIP)
    set_target_properties(pycaffe PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(FILES ${python_output}/proto/caffe.desc DESTINATION caffe/proto COMPONENT python)
  else()
    install(DIRECTORY ${python_package} DESTINATION python FILES_MATCHING
      PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "*.desc"
      PATTERN "__pycache__" EXCLUDE)
    foreach(script classify detect draw_net genDefaultModel train)
      install(PROGRAMS ${PROJECT_SOURCE_DIR}/python/${script}.py DESTINATION python)
    endforeach()
    install(TARGETS pycaffe DESTINATION python/caffe)
    set_target_properties(pycaffe PROPERTIES
      INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}")
  endif()

  # Python layers in programs that are not Python: needs a libcaffe that both use, and libpython.
  if(BUILD_SHARED_LIBS AND Python_Development.Embed_FOUND)
    add_library(caffe_python MODULE ${PROJECT_SOURCE_DIR}/python/plugin/python_plugin.cpp)
    set_target_properties(caffe_python PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
      CXX_VISIBILITY_PRESET hidden)
    target_include_directories(caffe_python SYSTEM PRIVATE ${PYBIND11_INCLUDE_DIR})
    target_include_directories(caffe_python PRIVATE ${PROJECT_SOURCE_DIR}/include)
    caffe_internal_headers(caffe_python)
    target_compile_definitions(caffe_python PRIVATE
      CAFFE_PYTHON_EXECUTABLE="${Python_EXECUTABLE}")
    target_compile_options(caffe_python PRIVATE ${caffe_warnings})
    target_link_libraries(caffe_python PRIVATE Python::Python)
    add_dependencies(caffe_python pycaffe)
    # The plugin looks for the package in ../python, as it is installed.
    if(NOT EXISTS ${PROJECT_BINARY_DIR}/python)
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${PROJECT_BINARY_DIR}/python SYMBOLIC)
    endif()
    install(TARGETS caffe_python LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endif()
