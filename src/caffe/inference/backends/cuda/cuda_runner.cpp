#include "cuda_runner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "caffe/core/repeatable.hpp"
#include "caffe/cuda/libraries.hpp"
#include "caffe/cuda/pinned_memory.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "cuda_engine.hpp"

namespace caffe::inference::cuda {
namespace {

class DeviceMemory : public TargetMemory {
 public:
  DeviceMemory(std::shared_ptr<GpuQueue> queue, std::shared_ptr<const DeviceWeights> weights)
      : queue_(std::move(queue)), weights_(std::move(weights)) {}

  std::shared_ptr<void> Allocate(size_t bytes) override { return queue_->Allocate(bytes); }
  const void* PlaceOf(const std::shared_ptr<const void>& constant) override {
    return weights_->PlaceOf(constant.get());
  }

  void CopyRows(size_t rows, size_t bytes, const void* from, size_t from_stride, void* to,
                size_t to_stride) override {
    Stream& stream = Context::Current().stream();
    if (rows <= 1 || (from_stride == bytes && to_stride == bytes)) {
      queue_->device().CopyOnDevice(to, from, rows * bytes, stream);
      return;
    }
    Require(std::max({rows, from_stride, to_stride}) <= size_t(std::numeric_limits<int>::max()),
            "images of ", bytes, " bytes are too large to be gathered on a GPU");
    const auto pixels = [](const void* data, size_t stride) {
      return caffe::cuda::Pixels{const_cast<void*>(data), ElementType::UINT8,
                                 static_cast<int>(stride), 1};
    };
    caffe::cuda::CopyPixels(stream, static_cast<int>(rows), static_cast<int>(bytes),
                            pixels(from, from_stride), pixels(to, to_stride));
  }

  void Read(const void* from, size_t bytes, void* to) override {
    if (bytes == 0) return;
    Stream& stream = Context::Current().stream();
    queue_->device().CopyToHost(to, from, bytes, stream);
    stream.Synchronize();
  }

  void Wait() override { Context::Current().stream().Synchronize(); }

 private:
  const std::shared_ptr<GpuQueue> queue_;
  const std::shared_ptr<const DeviceWeights> weights_;
};

/// Custom layers may do something else the next time.
bool DoesTheSameAgain(const Graph& graph) {
  const std::vector<bool> dependent = HaveDataDependentShapes(graph);
  if (std::count(dependent.begin(), dependent.end(), true) > 0) return false;
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.type() == kReorder || IsRepeatable(node.layer);
  });
}

}  // namespace

CudaRunner::CudaRunner(std::shared_ptr<const Graph> graph, const std::shared_ptr<GpuQueue>& queue,
                       std::shared_ptr<const DeviceWeights> weights)
    : LoweredRunner(graph, CudaTarget(), std::make_unique<DeviceMemory>(queue, weights)),
      queue_(queue),
      weights_(std::move(weights)),
      records_(DoesTheSameAgain(*graph)) {
  for (const std::vector<int>* values : {&graph->inputs, &graph->outputs}) {
    for (const int value : *values) Grow(BytesOf(graph->values[value]), &host_[value]);
  }
}

// Weights may go back in the order of another runner's stream.
CudaRunner::~CudaRunner() {
  const GpuQueue::Scope scope(*queue_);
  try {
    weights_->KeepFor(queue_->stream());
  } catch (const Error&) {  // the GPU has failed: no run is possible any more
  }
  recording_.reset();
  Clear();
}

void CudaRunner::SetInputShapes(const std::vector<Shape>& shapes) {
  bool same = true;
  for (size_t i = 0; i < shapes.size(); ++i) same = same && shapes[i] == shape(graph().inputs[i]);
  if (same) return;
  const GpuQueue::Scope scope(*queue_);
  Forget();
  LoweredRunner::SetInputShapes(shapes);
}

void* CudaRunner::Grow(size_t bytes, HostMemory* memory) const {
  if (!memory->data || memory->bytes < bytes) {
    memory->data = caffe::cuda::AllocatePinned(queue_->stream(), bytes);
    memory->bytes = bytes;
  }
  return memory->data.get();
}

float* CudaRunner::data(int value) { return static_cast<float*>(host_.at(value).data.get()); }

std::vector<float> CudaRunner::Floats(int value) {
  const GpuQueue::Scope scope(*queue_);
  return LoweredRunner::Floats(value);
}

void CudaRunner::Forget() {
  recording_.reset();
  has_run_ = false;
}

void CudaRunner::Put(int value, void* memory) {
  if (!Moves(value, memory)) return;
  Forget();
  SetPlace(value, memory);
}

// If recording fails, the work that steps believe to be done was never executed.
void CudaRunner::RecordSteps() {
  caffe::cuda::StartLibraries(queue_->stream());
  stale_ = true;
  recording_ = Record(queue_->stream(), [this] { LoweredRunner::Run(nullptr); });
  records_ = recording_ != nullptr;
  stale_ = !records_;
}

void CudaRunner::MakeReady() {
  if (!stale_) return;
  RenewSteps();
  stale_ = false;
}

// The first run may allocate and copy what later ones reuse.
void CudaRunner::Compute(Stream& stream) {
  MakeReady();
  if (records_ && has_run_ && !recording_) {
    RecordSteps();
    MakeReady();
  }
  if (recording_) return recording_->Launch(stream);
  const StreamScope on(&stream);
  LoweredRunner::Run(nullptr);
  has_run_ = true;
}

/// In the runner's own memory.
void CudaRunner::PutAllHere() {
  for (const std::vector<int>* values : {&graph().inputs, &graph().outputs}) {
    for (const int value : *values) Put(value, nullptr);
  }
}

void CudaRunner::CopyInputs(Stream& stream) {
  for (const int input : graph().inputs) {
    const size_t bytes = CountOf(shape(input)) * sizeof(float);
    if (bytes > 0) queue_->device().CopyToDevice(place(input), data(input), bytes, stream);
  }
}

void CudaRunner::CopyOutputs(Stream& stream) {
  for (const int output : graph().outputs) {
    if (graph().IsInput(output)) continue;
    const size_t bytes = CountOf(shape(output)) * sizeof(float);
    void* const host = Grow(bytes, &host_[output]);
    if (bytes > 0) queue_->device().CopyToHost(host, place(output), bytes, stream);
  }
}

void CudaRunner::Run(const AfterNode& after) {
  const GpuQueue::Scope scope(*queue_);
  Stream& stream = queue_->stream();
  PutAllHere();
  CopyInputs(stream);
  if (after) {
    stream.Synchronize();
    MakeReady();
    LoweredRunner::Run(after);
  } else {
    Compute(stream);
  }
  CopyOutputs(stream);
  stream.Synchronize();
}

RunTimes CudaRunner::TimedRun(bool transfers) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const GpuQueue::Scope scope(*queue_);
  Stream& stream = queue_->stream();
  PutAllHere();
  RunTimes times;
  times.begin = now();
  if (transfers) {
    CopyInputs(stream);
    stream.Synchronize();
  }
  times.inputs = now();
  Compute(stream);
  times.enqueued = now();
  stream.Synchronize();
  times.computed = now();
  if (transfers) {
    CopyOutputs(stream);
    stream.Synchronize();
  }
  times.end = now();
  return times;
}

void CudaRunner::Start(Stream& stream, const std::vector<const void*>& inputs,
                       const std::vector<void*>& outputs) {
  const GpuQueue::Scope scope(*queue_);
  for (const int output : graph().outputs) {
    Require(!is_dependent(output), "output '", graph().values[output].name,
            "' has a shape that depends on the data, which only Run finds out");
    Require(!graph().IsInput(output), "output '", graph().values[output].name,
            "' is an input: nothing computes it");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Put(graph().inputs[i], const_cast<void*>(inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) Put(graph().outputs[i], outputs[i]);
  // Runs share the runner's activations: each waits for the one before, on whatever stream, even if
  // that one failed.
  stream.WaitFor(queue_->stream());
  try {
    Compute(stream);
  } catch (...) {
    queue_->stream().WaitFor(stream);
    throw;
  }
  queue_->stream().WaitFor(stream);
}

std::unique_ptr<Runner> MakeCudaRunner(std::shared_ptr<const Graph> graph) {
  const std::shared_ptr<GpuQueue> queue = GpuQueue::Make();
  const GpuQueue::Scope scope(*queue);
  const auto weights = DeviceWeights::Of(graph, queue);
  return std::make_unique<CudaRunner>(std::move(graph), queue, weights);
}

}  // namespace caffe::inference::cuda
