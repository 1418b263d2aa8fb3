#include <cuda_runtime_api.h>

#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/core/stream_scope.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/device/device_registry.hpp"
#include "caffe/device/recording.hpp"
#include "caffe/util/string_stream.hpp"
#include "check.hpp"

namespace caffe {
namespace {

using cuda::Check;

/// Memory of a GPU's pool, or of cudaMalloc.
struct Block {
  void* pointer;
  int device;
  bool from_pool;
};

/// Frees memory behind all work that streams of this library were given. cudaFree would not wait
/// for work on memory of the pool; its GPU's default stream is behind all of them, and they wait
/// for it. Runs on borrowed streams are waited for by a stream of the library's.
void FreeBehindAll(const Block& block) {
  if (!block.from_pool) {
    cudaFree(block.pointer);
    return;
  }
  int present = 0;
  const bool elsewhere = cudaGetDevice(&present) == cudaSuccess && present != block.device;
  if (elsewhere) cudaSetDevice(block.device);
  // An error would be taken for the next kernel's.
  if (cudaFreeAsync(block.pointer, cudaStreamLegacy) != cudaSuccess) cudaGetLastError();
  if (elsewhere) cudaSetDevice(present);
}

/// Memory that goes back when this object dies.
class UnwantedMemory {
 public:
  UnwantedMemory() = default;
  ~UnwantedMemory() {
    for (const Block& block : blocks_) FreeBehindAll(block);
  }
  UnwantedMemory(const UnwantedMemory&) = delete;
  UnwantedMemory& operator=(const UnwantedMemory&) = delete;
  void Add(const Block& block) { blocks_.push_back(block); }

 private:
  std::vector<Block> blocks_;
};

/// What CudaDevice was given back since the calling thread began to record; null: it does not. A
/// recording may work on it each time it runs.
thread_local UnwantedMemory* freed_in_recording = nullptr;

class CudaGraph : public Recording {
 public:
  CudaGraph(cudaGraphExec_t graph, std::unique_ptr<UnwantedMemory> memory)
      : memory_(std::move(memory)), graph_(graph) {}
  ~CudaGraph() override { cudaGraphExecDestroy(graph_); }
  void Launch(Stream& stream) override {
    Check(cudaGraphLaunch(graph_, static_cast<cudaStream_t>(stream.handle())),
          "starting a CUDA graph");
  }

 private:
  const std::unique_ptr<UnwantedMemory> memory_;
  const cudaGraphExec_t graph_;
};

class CudaStream : public Stream, public Recorder {
 public:
  // By default synchronized with CUDA's default stream, on which custom layers start their kernels.
  explicit CudaStream(unsigned flags = cudaStreamDefault) {
    Check(cudaStreamCreateWithFlags(&stream_, flags), "creating a CUDA stream");
  }
  /// A borrowed stream.
  explicit CudaStream(cudaStream_t stream) : stream_(stream), owned_(false) {}
  // A new stream may get the same handle, which must mean that it comes after this one.
  ~CudaStream() override {
    if (!owned_) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
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

  // Other threads may use CUDA's default stream meanwhile, which CUDA forbids while a stream that
  // is synchronized with it records.
  std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
    return CudaStream(cudaStreamNonBlocking).Capture(work);
  }

 private:
  /// `work` finds this stream to be the thread's. Lets through what is no Error.
  std::unique_ptr<Recording> Capture(const std::function<void()>& work) {
    auto freed = std::make_unique<UnwantedMemory>();
    Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "recording a CUDA graph");
    freed_in_recording = freed.get();
    bool complete = true;
    std::exception_ptr thrown;
    try {
      const StreamScope on(this);
      work();
    } catch (const Error&) {
      complete = false;
    } catch (...) {
      complete = false;
      thrown = std::current_exception();
    }
    freed_in_recording = nullptr;
    cudaGraph_t graph = nullptr;
    complete = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && complete && graph;
    cudaGraphExec_t ready = nullptr;
    complete = complete && cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess;
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    if (thrown) std::rethrow_exception(thrown);
    if (!complete) return nullptr;
    return std::make_unique<CudaGraph>(ready, std::move(freed));
  }

  cudaStream_t stream_ = nullptr;
  const bool owned_ = true;
};

cudaStream_t Handle(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

/// Unused bytes of the present GPU's pool, which cudaMemGetInfo counts as taken.
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

/// Throws Error unless memory was allocated.
void CheckAllocation(cudaError_t status, size_t size) {
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw LacksMemory(Join("out of GPU memory: ", size, " bytes were asked for, ",
                           free + FreeInPool(), " of ", total,
                           " are free; a smaller batch needs less"));
  }
  Check(status, "allocating GPU memory");
}

/// Memory of the present GPU for what is put on `stream` from now on. On a stream that records it
/// is there while the recording runs, and has to be freed on that stream before the end.
void* AllocateInOrder(size_t size, cudaStream_t stream) {
  void* pointer = nullptr;
  CheckAllocation(cudaMallocAsync(&pointer, size > 0 ? size : 1, stream), size);
  return pointer;
}

/// Memory of the present GPU that is there from now on, for a thread that records.
void* AllocateWhileRecording(size_t size) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  Check(cudaThreadExchangeStreamCaptureMode(&mode), "allocating GPU memory");
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, size > 0 ? size : 1);
  cudaThreadExchangeStreamCaptureMode(&mode);
  CheckAllocation(status, size);
  return pointer;
}

/// One GPU. Memory comes from CUDA's stream-ordered pool, which keeps freed memory for later
/// requests: allocating costs no synchronisation.
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
      StringWriter list;
      list << values[0] << ", " << values[1] << ", " << values[2];
      return list.str();
    };
    StringWriter text;
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
         << "\nCopies during kernels:         " << properties_.asyncEngineCount;
    return text.str();
  }

  void MakeCurrent() override { Check(cudaSetDevice(id_), "choosing the GPU"); }

  void* Allocate(size_t size) override {
    const cudaStream_t stream = freed_in_recording ? nullptr : Handle(Context::Current().stream());
    void* const pointer = stream ? AllocateInOrder(size, stream) : AllocateWhileRecording(size);
    std::lock_guard<std::mutex> lock(mutex_);
    streams_[pointer] = stream;
    return pointer;
  }

  // Memory is freed in the order of the stream that it came from. A caller on another stream may
  // not know what is under way: then it is freed after all work.
  void Free(void* pointer, size_t) noexcept override {
    cudaStream_t stream;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto found = streams_.find(pointer);
      if (found == streams_.end()) return;
      stream = found->second;
      streams_.erase(found);
    }
    const Block block = {pointer, id_, stream != nullptr};
    if (freed_in_recording) return freed_in_recording->Add(block);
    try {
      if (Handle(Context::Current().stream()) == stream) {
        cudaFreeAsync(pointer, stream);
        return;
      }
    } catch (const Error&) {
    }
    FreeBehindAll(block);
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
  std::unordered_map<void*, cudaStream_t> streams_;  // where each allocation came from; null: none
};

}  // namespace

namespace cuda {

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

std::unique_ptr<Stream> BorrowNativeStream(void* stream) {
  // Streams without a handle are the tests' own.
  const cudaStream_t handle = stream ? static_cast<cudaStream_t>(stream) : cudaStreamLegacy;
  return std::make_unique<CudaStream>(handle);
}

int NativeDeviceOf(const void* memory) {
  cudaPointerAttributes attributes;
  Check(cudaPointerGetAttributes(&attributes, memory), "asking where memory lies");
  const bool on_gpu =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_gpu ? attributes.device : -1;
}

}  // namespace caffe
