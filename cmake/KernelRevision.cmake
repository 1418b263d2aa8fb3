# Writes a header with a hash of the kernels of each kind of device: their sources, and what
# compiles them. Times in timing caches hold for kernels with the same hash.
# cmake -DSOURCE=FOLDER -DCOMPILER=TEXT -DOUTPUT=FILE -P KernelRevision.cmake
set(common include/caffe/kernels/*.hpp src/caffe/inference/backends/*.*)
set(cpu src/caffe/kernels/cpu/*.* src/caffe/onednn/*.* src/caffe/inference/backends/cpu/*.*)
set(cuda include/caffe/kernels/cuda/*.hpp src/caffe/kernels/cuda/*.* src/caffe/cuda/*.*
  src/caffe/inference/backends/cuda/*.*)
set(text "")
foreach(kind cpu cuda)
  set(files "")
  foreach(pattern ${common} ${${kind}})
    file(GLOB found RELATIVE ${SOURCE} ${SOURCE}/${pattern})
    list(APPEND files ${found})
  endforeach()
  # Not what editors put next to them.
  list(FILTER files INCLUDE REGEX "/[a-z][a-z0-9_]*[.](cpp|hpp|inc|cu)$")
  list(APPEND files cmake/Kernels.cmake)
  list(SORT files)
  set(hashes "${COMPILER}")
  foreach(file ${files})
    file(SHA256 ${SOURCE}/${file} hash)
    string(APPEND hashes "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 12 hash)
  string(TOUPPER ${kind} name)
  string(APPEND text "#define CAFFE_${name}_KERNELS \"${hash}\"\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
