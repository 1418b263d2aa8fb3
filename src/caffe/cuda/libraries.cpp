#include "caffe/cuda/libraries.hpp"

#include <cublasLt.h>
#include <dlfcn.h>

#include "caffe/error.hpp"
#include "cudnn.hpp"
#include "dynamic_library.hpp"

namespace caffe::cuda {
namespace {

/// 91900 is 9.19.0.
std::string Version(size_t number) {
  return Join(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

#ifdef USE_NCCL
bool DriverIsInstalled() {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver != nullptr;
}
#endif

}  // namespace

std::string LibraryVersions() {
  std::string text = "no cuDNN";
  if (CudnnIsInstalled()) text = "cuDNN " + Version(CAFFE_CALL(Cudnn, cudnnGetVersion));
  try {
    return text + ", cuBLASLt " + Version(CAFFE_CALL(CublasLt, cublasLtGetVersion));
  } catch (const Error&) {
    return text + ", no cuBLASLt";
  }
}

std::string WhyNoNccl() {
#ifdef USE_NCCL
  if (!DriverIsInstalled() && !Device::available()) return Device::WhyNone();
  try {
    Nccl().Find("ncclCommInitRank");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
#else
  return "this libcaffe was built without NCCL, which training on several GPUs needs";
#endif
}

void StartLibraries(const Stream& stream) {
  if (stream.handle() && CudnnIsInstalled()) CudnnHandle(stream);
}

}  // namespace caffe::cuda
