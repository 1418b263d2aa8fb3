# A program for each file in tools/ and for each folder there, under its name in build/tools; tools/common
# is what they share. The targets are called tool_..., because the one called caffe is the library.
file(GLOB tools_common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/common/*.cpp)
# Tools have no loops that take time, but one, and the library's precompiled header, and so its flags.
function(caffe_tool_options target)
  target_compile_options(${target} PRIVATE ${caffe_warnings} ${caffe_less_optimization})
  if(CAFFE_PCH)
    target_compile_definitions(${target} PRIVATE CAFFE_BUILT_IN)
    target_compile_options(${target} PRIVATE -fPIC)
    target_precompile_headers(${target} REUSE_FROM caffe)
  endif()
endfunction()
add_library(tools_common STATIC ${tools_common})
target_link_libraries(tools_common PUBLIC caffe)
caffe_internal_headers(tools_common)
caffe_tool_options(tools_common)

set(caffe_tools "")
function(caffe_tool name)
  add_executable(tool_${name} ${ARGN})
  set_target_properties(tool_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_link_libraries(tool_${name} PRIVATE tools_common)
  caffe_internal_headers(tool_${name})
  caffe_tool_options(tool_${name})
  list(LENGTH ARGN count)
  if(count GREATER 1)
    caffe_unity(tool_${name} ${ARGN})
  endif()
  set(caffe_tools ${caffe_tools} tool_${name} PARENT_SCOPE)
endfunction()

file(GLOB tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tools/compute_image_mean.cpp PROPERTIES
  COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>")  # adds all pixels
foreach(source IN LISTS tools)
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "^convert_mnist" AND NOT ZLIB_FOUND)
    caffe_summary(${name} "off, zlib not found")
    continue()
  endif()
  caffe_tool(${name} ${source})
endforeach()
file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*/main.cpp)
foreach(main IN LISTS folders)
  get_filename_component(folder ${main} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  caffe_tool(${name} ${sources})
endforeach()
foreach(name convert_mnist_data convert_mnist_siamese_data)
  if(TARGET tool_${name})
    target_link_libraries(tool_${name} PRIVATE ZLIB::ZLIB)
  endif()
endforeach()

# Scripts of Caffe and of its users call build/tools/NAME.bin and the converters under build/examples.
function(caffe_old_path target path)
  if(TARGET ${target})
    get_filename_component(folder ${PROJECT_BINARY_DIR}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:${target}>
              ${PROJECT_BINARY_DIR}/${path})
  endif()
endfunction()
foreach(name caffe compute_image_mean convert_annoset convert_imageset create_label_map extract_features
             get_image_size upgrade_net_proto_binary upgrade_net_proto_text upgrade_solver_proto_text)
  caffe_old_path(tool_${name} tools/${name}.bin)
endforeach()
caffe_old_path(tool_convert_mnist_data examples/mnist/convert_mnist_data)
caffe_old_path(tool_convert_mnist_data examples/mnist/convert_mnist_data.bin)
caffe_old_path(tool_convert_cifar_data examples/cifar10/convert_cifar_data)
caffe_old_path(tool_convert_cifar_data examples/cifar10/convert_cifar_data.bin)
caffe_old_path(tool_convert_mnist_siamese_data examples/siamese/convert_mnist_siamese_data)
caffe_old_path(tool_convert_mnist_siamese_data examples/siamese/convert_mnist_siamese_data.bin)
