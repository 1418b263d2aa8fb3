#include <cuda_runtime_api.h>

#include <mutex>
#include <sstream>
#include <unordered_map>

#include "../device_registry.hpp"
#include "caffe/context.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/recording.hpp"
#include "check.hpp"

namespace caffe {
namespace {

using cuda::Check;

class CudaGraph : public Recording {
 public:
  /// Takes the graph.
  explicit CudaGraph(cudaGraph_t graph) {
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    Check(status, "making a CUDA graph ready to run");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(graph_); }
  void Launch(Stream& stream) override {
    Check(cudaGraphLaunch(graph_, static_cast<cudaStream_t>(stream.handle())),
          "starting a CUDA graph");
  }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

class CudaStream : public Stream, public Recorder {
 public:
  // In step with CUDA's default stream, on which people's own layers start their kernels.
  CudaStream() { Check(cudaStreamCreate(&stream_), "creating a CUDA stream"); }
  /// Somebody else's.
  explicit CudaStream(cudaStream_t stream) : stream_(stream), owned_(false) {}
  ~CudaStream() override {
    if (owned_) cudaStreamDestroy(stream_);
  }
  void Synchronize() override { Check(cudaStreamSynchronize(stream_), "computing on the GPU"); }
  void* handle() const override { return stream_; }
  void WaitFor(Stream& other) override {
    cudaEvent_t reached;
    Check(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "creating a CUDA event");
    const cudaStream_t before = static_cast<cudaStream_t>(other.handle());
    const cudaError_t recorded = cudaEventRecord(reached, before);
    const cudaError_t waiting =
        recorded == cudaSuccess ? cudaStreamWaitEvent(stream_, reached, 0) : recorded;
    cudaEventDestroy(reached);  // CUDA keeps it until it was reached
    Check(waiting, "ordering CUDA streams");
  }

  // Another thread may do what it likes meanwhile.
  std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
    Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "recording a CUDA graph");
    bool complete = true;
    try {
      work();
    } catch (const Error&) {
      complete = false;
    }
    cudaGraph_t graph = nullptr;
    complete = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && complete;
    cudaGetLastError();
    if (complete && graph) return std::make_unique<CudaGraph>(graph);
    if (graph) cudaGraphDestroy(graph);
    return nullptr;
  }

 private:
  cudaStream_t stream_ = nullptr;
  const bool owned_ = true;
};

cudaStream_t Handle(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

/// What the present GPU's pool holds and nobody uses: cudaMemGetInfo counts it as taken.
size_t FreeInPool() {
  int id = 0;
  cudaMemPool_t pool;
  uint64_t held = 0, used = 0;
  if (cudaGetDevice(&id) != cudaSuccess || cudaDeviceGetDefaultMemPool(&pool, id) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return held - used;
}

/// Memory of the present GPU for what is put on `stream` from now on.
void* AllocateInOrder(size_t size, cudaStream_t stream) {
  void* pointer = nullptr;
  const cudaError_t status = cudaMallocAsync(&pointer, size > 0 ? size : 1, stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    Fail("out of GPU memory: ", size, " bytes were asked for, ", free + FreeInPool(), " of ", total,
         " are free; a smaller batch needs less");
  }
  Check(status, "allocating GPU memory");
  return pointer;
}

/// One GPU. Memory comes from CUDA's stream-ordered pool, which keeps what was freed for the next
/// who asks: allocating costs no synchronisation.
class CudaDevice : public Device {
 public:
  explicit CudaDevice(int id) : id_(id) {
    Check(cudaGetDeviceProperties(&properties_, id), "asking for the GPU's properties");
    Check(cudaSetDevice(id), "choosing the GPU");
    cudaMemPool_t pool;
    Check(cudaDeviceGetDefaultMemPool(&pool, id), "asking for the GPU's memory pool");
    uint64_t keep_all = UINT64_MAX;
    Check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "setting up the GPU's memory pool");
  }

  std::string name() const override { return properties_.name; }

  std::string Description() const override {
    int driver = 0, runtime = 0, clock = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, id_);  // kHz
    const auto version = [](int number) {
      return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    const auto extents = [](const int* values) {
      std::ostringstream list;
      list << values[0] << ", " << values[1] << ", " << values[2];
      return list.str();
    };
    std::ostringstream text;
    text << "Name:                          " << properties_.name
         << "\nCompute capability:            " << properties_.major << '.' << properties_.minor
         << "\nCUDA driver, runtime:          " << version(driver) << ", " << version(runtime)
         << "\nTotal global memory:           " << properties_.totalGlobalMem
         << "\nNumber of multiprocessors:     " << properties_.multiProcessorCount
         << "\nClock rate:                    " << clock << " kHz"
         << "\nMemory bus width:              " << properties_.memoryBusWidth << " bits"
         << "\nL2 cache:                      " << properties_.l2CacheSize
         << "\nTotal constant memory:         " << properties_.totalConstMem
         << "\nTotal shared memory per block: " << properties_.sharedMemPerBlock
         << "\nTotal registers per block:     " << properties_.regsPerBlock
         << "\nWarp size:                     " << properties_.warpSize
         << "\nMaximum threads per block:     " << properties_.maxThreadsPerBlock
         << "\nMaximum dimension of block:    " << extents(properties_.maxThreadsDim)
         << "\nMaximum dimension of grid:     " << extents(properties_.maxGridSize)
         << "\nCopies beside kernels:         " << properties_.asyncEngineCount;
    return text.str();
  }

  void MakeCurrent() override { Check(cudaSetDevice(id_), "choosing the GPU"); }

  void* Allocate(size_t size) override {
    const cudaStream_t stream = Handle(Context::Current().stream());
    void* const pointer = AllocateInOrder(size, stream);
    std::lock_guard<std::mutex> lock(mutex_);
    streams_[pointer] = stream;
    return pointer;
  }

  // Memory goes back in the order of the stream that it came from. Who frees on another one may
  // not know what is under way, and waits for everything.
  void Free(void* pointer, size_t) noexcept override {
    cudaStream_t stream;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto found = streams_.find(pointer);
      stream = found->second;
      streams_.erase(found);
    }
    try {
      if (Handle(Context::Current().stream()) == stream) {
        cudaFreeAsync(pointer, stream);
        return;
      }
    } catch (const Error&) {
    }
    cudaFree(pointer);
  }

  std::unique_ptr<Stream> CreateStream() override {
    MakeCurrent();
    return std::unique_ptr<Stream>(new CudaStream);
  }

  void CopyToDevice(void* device, const void* host, size_t size, Stream& stream) override {
    Check(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, Handle(stream)),
          "copying to the GPU");
  }
  void CopyToHost(void* host, const void* device, size_t size, Stream& stream) override {
    Check(cudaMemcpyAsync(host, device, size, cudaMemcpyDeviceToHost, Handle(stream)),
          "copying from the GPU");
  }
  void CopyOnDevice(void* to, const void* from, size_t size, Stream& stream) override {
    Check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, Handle(stream)),
          "copying on the GPU");
  }
  void FillZero(void* device, size_t size, Stream& stream) override {
    Check(cudaMemsetAsync(device, 0, size, Handle(stream)), "clearing GPU memory");
  }

  void CopyAnywhere(void* to, const void* from, size_t size, Stream& stream) override {
    Check(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, Handle(stream)), "copying");
    stream.Synchronize();
  }

 private:
  const int id_;
  cudaDeviceProp properties_;
  std::mutex mutex_;
  std::unordered_map<void*, cudaStream_t> streams_;  // where each allocation came from
};

}  // namespace

namespace cuda {

std::unique_ptr<Stream> BorrowStream(void* stream) {
  return std::make_unique<CudaStream>(static_cast<cudaStream_t>(stream));
}

std::string ComputeCapability(int device) {
  int major = 0, minor = 0;
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking for the GPU's architecture");
  Check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "asking for the GPU's architecture");
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace cuda

void* cuda::AllocateOn(Stream& stream, size_t size) {
  if (!stream.handle()) return Device::Get().Allocate(size);
  return AllocateInOrder(size, Handle(stream));
}

void cuda::FreeOn(Stream& stream, void* pointer, size_t size) noexcept {
  if (stream.handle()) {
    cudaFreeAsync(pointer, Handle(stream));
    return;
  }
  try {
    Device::Get().Free(pointer, size);
  } catch (const Error&) {  // the device is gone, and its memory with it
  }
}

int NativeDeviceCount() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::string WhyNoNativeDevice() {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) return "no NVIDIA driver is installed here; use CPU mode";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return "no NVIDIA GPU is visible here; use CPU mode";
  cudaGetLastError();
  return std::string("CUDA says: ") + cudaGetErrorString(status);
}

std::shared_ptr<Device> MakeNativeDevice(int id) { return std::make_shared<CudaDevice>(id); }

}  // namespace caffe
