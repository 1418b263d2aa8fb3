# One program for each file in tools/, under its name in build/tools. The targets are called tool_...,
# because the one called caffe is the library.
file(GLOB tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
set(caffe_tools "")
foreach(source IN LISTS tools)
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "^convert_mnist" AND NOT ZLIB_FOUND)
    list(APPEND caffe_parts "${name}|off, zlib not found")
    continue()
  endif()
  add_executable(tool_${name} ${source})
  set_target_properties(tool_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_link_libraries(tool_${name} PRIVATE caffe)
  target_compile_options(tool_${name} PRIVATE ${caffe_warnings})
  list(APPEND caffe_tools tool_${name})
endforeach()
foreach(name convert_mnist_data convert_mnist_siamese_data)
  if(TARGET tool_${name})
    target_link_libraries(tool_${name} PRIVATE ZLIB::ZLIB)
  endif()
endforeach()

# Caffe's own scripts call build/tools/caffe.bin and the converters under build/examples.
function(caffe_old_path tool path)
  if(TARGET tool_${tool})
    get_filename_component(folder ${PROJECT_BINARY_DIR}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(TARGET tool_${tool} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:tool_${tool}>
              ${PROJECT_BINARY_DIR}/${path})
  endif()
endfunction()
caffe_old_path(caffe tools/caffe.bin)
caffe_old_path(convert_mnist_data examples/mnist/convert_mnist_data)
caffe_old_path(convert_mnist_data examples/mnist/convert_mnist_data.bin)
caffe_old_path(convert_cifar_data examples/cifar10/convert_cifar_data)
caffe_old_path(convert_cifar_data examples/cifar10/convert_cifar_data.bin)
caffe_old_path(convert_mnist_siamese_data examples/siamese/convert_mnist_siamese_data)
caffe_old_path(convert_mnist_siamese_data examples/siamese/convert_mnist_siamese_data.bin)
