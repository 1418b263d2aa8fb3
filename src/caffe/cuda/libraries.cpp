#include "caffe/cuda/libraries.hpp"

#include <cublasLt.h>

#include "caffe/error.hpp"
#include "cudnn.hpp"
#include "dynamic_library.hpp"

namespace caffe {
namespace cuda {
namespace {

/// 91900 is 9.19.0.
std::string Version(size_t number) {
  return Join(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

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

void StartLibraries(const Stream& stream) {
  if (stream.handle() && CudnnIsInstalled()) CudnnHandle(stream);
}

}  // namespace cuda
}  // namespace caffe
