#include "caffe/cuda/pinned_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "caffe/error.hpp"
#include "check.hpp"

namespace caffe::cuda {

std::shared_ptr<void> AllocatePinned(Stream& stream, size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  std::shared_ptr<void> memory;
  if (stream.handle()) {
    void* pinned = nullptr;
    Check(cudaMallocHost(&pinned, bytes), "allocating memory of the host that the GPU can reach");
    memory.reset(pinned, [](void* p) { cudaFreeHost(p); });
  } else {
    memory.reset(std::malloc(bytes), std::free);
    Require(memory != nullptr, "out of memory: ", bytes, " bytes were asked for");
  }
  std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace caffe::cuda
