# Writes a header with a hash of the kernels of each kind of device: their sources, and what
# compiles them. Times in timing caches hold for kernels with the same hash.
# cmake -DSOURCE=FOLDER -DCOMPILER=TEXT -DOUTPUT=FILE -P KernelRevision.cmake
# Included, it is the list of these sources.

# Sets `files`, relative to `root`: the sources of kernels on "cpu" or "cuda", and of the layers that
# engines run, but not what editors put next to them. More arguments are file(GLOB)'s.
function(caffe_kernel_files root kind files)
  set(cpu algorithms onednn)
  set(cuda cuda)
  set(not_cpu "/cuda/|_gpu[.]cpp$")
  set(not_cuda "/cpu/")
  set(patterns ${root}/include/caffe/layers/*.*)
  foreach(folder kernels inference/backends layers ${${kind}})
    list(APPEND patterns ${root}/src/caffe/${folder}/*.*)
  endforeach()
  file(GLOB_RECURSE found RELATIVE ${root} ${ARGN} ${patterns})
  list(FILTER found INCLUDE REGEX "/[a-z][a-z0-9_]*[.](cpp|hpp|inc|cu)$")
  list(FILTER found EXCLUDE REGEX ${not_${kind}})
  list(APPEND found cmake/Kernels.cmake)
  list(SORT found)
  set(${files} ${found} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()
set(text "")
foreach(kind cpu cuda)
  caffe_kernel_files(${SOURCE} ${kind} files)
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
