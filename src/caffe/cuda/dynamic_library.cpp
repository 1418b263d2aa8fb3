#include "dynamic_library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <mutex>

#include "caffe/error.hpp"

namespace caffe::cuda {
namespace {

std::mutex opening;

}  // namespace

DynamicLibrary::DynamicLibrary(std::vector<std::string> files, std::string remedy)
    : files_(std::move(files)), remedy_(std::move(remedy)) {}

void* DynamicLibrary::Find(const char* symbol) {
  std::lock_guard<std::mutex> lock(opening);
  std::string why;
  for (size_t i = 0; !handle_ && i < files_.size(); ++i) {
    handle_ = dlopen(files_[i].c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!handle_ && why.empty()) why = dlerror();
  }
  Require(handle_ != nullptr, files_.front(), " could not be loaded (", why, "): ", remedy_);
  void* address = dlsym(handle_, symbol);
  Require(address != nullptr, files_.front(), " has no function ", symbol, ": ", remedy_);
  return address;
}

// The runtime's major version decides which cuBLAS fits.
DynamicLibrary& CublasLt() {
  static DynamicLibrary library({"libcublasLt.so." + std::to_string(CUDART_VERSION / 1000)},
                                "install CUDA's libraries (apt: libcublas, pip: nvidia-cublas) and "
                                "name their folder in LD_LIBRARY_PATH");
  return library;
}

DynamicLibrary& Cublas() {
  static DynamicLibrary library({"libcublas.so." + std::to_string(CUDART_VERSION / 1000)},
                                "install CUDA's libraries (apt: libcublas, pip: nvidia-cublas) and "
                                "name their folder in LD_LIBRARY_PATH");
  return library;
}

DynamicLibrary& Curand() {
  static DynamicLibrary library({"libcurand.so.10"},
                                "install CUDA's libraries (apt: libcurand, pip: nvidia-curand) and "
                                "name their folder in LD_LIBRARY_PATH");
  return library;
}

DynamicLibrary& Cudnn() {
  static DynamicLibrary library({"libcudnn.so.9"},
                                "install cuDNN 9 (apt: libcudnn9, pip: nvidia-cudnn-cu13) and name "
                                "its folder in LD_LIBRARY_PATH");
  return library;
}

DynamicLibrary& Nccl() {
  static DynamicLibrary library({"libnccl.so.2"},
                                "install NCCL (apt: libnccl2, pip: nvidia-nccl-cu13) and name its "
                                "folder in LD_LIBRARY_PATH");
  return library;
}

}  // namespace caffe::cuda
