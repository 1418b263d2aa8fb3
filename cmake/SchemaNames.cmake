# Run with -P: writes to OUTPUT a using-declaration for each message, enum, value and function that
# HEADER, protoc's caffe.pb.h, declares in namespace caffe. caffe/nvcaffe.hpp includes it.
file(STRINGS ${HEADER} lines REGEX
  "^(class [A-Za-z0-9_]+ |enum [A-Za-z0-9_]+ |  [A-Za-z0-9_]+ = -?[0-9]+,?$)")
set(names "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^(class|enum)? *([A-Za-z0-9_]+).*" "\\2" name "${line}")
  list(APPEND names ${name})
  if(line MATCHES "^enum")
    list(APPEND names ${name}_IsValid ${name}_Name ${name}_Parse)
  endif()
endforeach()
list(REMOVE_DUPLICATES names)
set(text "")
foreach(name IN LISTS names)
  string(APPEND text "using caffe::${name};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
