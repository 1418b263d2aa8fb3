#include "cudnn.hpp"

#include <map>
#include <string>

#include "caffe/common.hpp"
#include "caffe/core/unsupported.hpp"
#include "check.hpp"

namespace caffe::cuda {
namespace {

/// One thread's handles, a GPU each.
struct Handles {
  std::map<int, cudnnHandle_t> of_device;
  ~Handles() {
    for (const auto& entry : of_device) CAFFE_CALL(Cudnn, cudnnDestroy, entry.second);
  }
};

}  // namespace

void CheckCudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string said = CAFFE_CALL(Cudnn, cudnnGetErrorString, status);
  const std::string message = Join(what, ": cuDNN says ", said);
  // Since version 9 there are many of these, which say what is not supported.
  if (said.rfind("CUDNN_STATUS_NOT_SUPPORTED", 0) == 0) throw Unsupported(message);
  throw Error(message);
}

cudnnHandle_t CudnnHandle(const Stream& stream) {
  static thread_local Handles handles;
  int device = 0;
  Check(cudaGetDevice(&device), "asking which GPU is in use");
  const auto found = handles.of_device.find(device);
  cudnnHandle_t handle = nullptr;
  if (found != handles.of_device.end()) {
    handle = found->second;
  } else {
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreate, &handle), "starting cuDNN");
    handles.of_device[device] = handle;
  }
  CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetStream, handle, static_cast<cudaStream_t>(stream.handle())),
             "giving cuDNN a stream");
  return handle;
}

bool CudnnIsInstalled() {
  static const bool installed = [] {
    try {
      CAFFE_CALL(Cudnn, cudnnGetVersion);
      return true;
    } catch (const Error& error) {
      LOG(WARNING) << "Convolutions on the GPU run without cuDNN, far slower: " << error.what();
      return false;
    }
  }();
  return installed;
}

}  // namespace caffe::cuda
