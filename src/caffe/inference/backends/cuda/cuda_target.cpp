#include "cuda_target.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "caffe/core/unsupported.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/cuda/libraries.hpp"
#include "caffe/device/recording.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/kernel_revision.hpp"
#include "caffe/inference/plan_file.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cuda/fused_convolution.hpp"
#include "cuda_engine.hpp"
#include "device_weights.hpp"

namespace caffe::inference::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// The only node of a graph, bound to GPU memory.
class BenchmarkOperands {
 public:
  BenchmarkOperands(const Graph& graph, const Node& node, const std::shared_ptr<GpuQueue>& queue)
      : queue_(queue), weights_(WithNode(graph, node), queue) {
    for (const int input : node.inputs) binding_.inputs.push_back(Made(graph.values[input]));
    for (const Epilogue& step : node.epilogue) {
      binding_.operands.push_back(step.operand < 0 ? Operand() : Made(graph.values[step.operand]));
    }
    for (const int output : node.outputs) binding_.outputs.push_back(Made(graph.values[output]));
    if (&ImplementationOf(CudaTarget(), node.implementation) == &AnyLayer()) return;
    for (const Constant& parameter : node.parameters) {
      binding_.parameters.push_back(weights_.PlaceOf(parameter.data.get()));
    }
  }
  const Binding& binding() const { return binding_; }
  void* Scratch(size_t bytes) {
    memory_.push_back(queue_->Allocate(std::max<size_t>(bytes, 1)));
    return memory_.back().get();
  }

 private:
  static Graph WithNode(const Graph& graph, const Node& node) {
    Graph all;
    all.values = graph.values;
    all.nodes = {node};
    return all;
  }

  Operand Made(const Value& value) {
    // Repeats its numbers: drawing them on the host takes longer than computing on the GPU.
    constexpr size_t kDrawn = 1 << 16;
    Operand operand = Described(value, value.shape);
    const size_t drawn = std::min(operand.elements(), kDrawn), bytes = operand.bytes();
    const Constant elements = NewConstant(operand.type, drawn);
    FillLikeActivations(operand.type, drawn, Elements<void>(elements));
    operand.data = Scratch(bytes);
    if (bytes == 0) return operand;
    char* const data = static_cast<char*>(operand.data);
    size_t done = drawn * SizeOf(operand.type);
    queue_->device().CopyToDevice(data, elements.data.get(), done, queue_->stream());
    for (; done < bytes; done += std::min(done, bytes - done)) {
      queue_->device().CopyOnDevice(data + done, data, std::min(done, bytes - done),
                                    queue_->stream());
    }
    queue_->stream().Synchronize();
    return operand;
  }

  const std::shared_ptr<GpuQueue> queue_;
  const DeviceWeights weights_;
  std::vector<std::shared_ptr<void>> memory_;
  Binding binding_;
};

/// The least time of a run, in microseconds, over `iterations` recordings of several. As in an
/// engine, nothing but the GPU's own time counts where they can be recorded. One run suffices for a
/// slow one.
double LeastTime(const std::function<void()>& run, int iterations, Stream& stream) {
  constexpr double kSlow = 20'000, kEnough = 2'000;
  const auto time = [&](const auto& work) {
    const auto begin = Clock::now();
    work();
    stream.Synchronize();
    return MicrosecondsSince(begin);
  };
  const double once = time(run);
  if (once > kSlow) return once;
  const int runs = std::clamp(static_cast<int>(kEnough / once), 1, 8);
  const auto several = [&] {
    for (int i = 0; i < runs; ++i) run();
  };
  const std::unique_ptr<Recording> recording = Record(stream, several);
  const std::function<void()> work =
      recording ? std::function<void()>([&] { recording->Launch(stream); }) : several;
  time(work);
  double least = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  for (int i = 0; i < iterations || MicrosecondsSince(start) < kEnough; ++i) {
    least = std::min(least, time(work) / runs);
    if (i > 2 && MicrosecondsSince(start) > 10 * kSlow) break;
  }
  return least;
}

class Gpu : public Target {
 public:
  const char* name() const override { return kTarget; }

  const std::vector<const Implementation*>& implementations() const override {
    static const std::vector<const Implementation*> all = {
        &Convolution(),    &InnerProduct(),     &Gemm(),        &Pooling(), &AcrossChannels(),
        &IntegerWeights(), &IntegerOperation(), &Elementwise(), &Moving(),  &Reorder(),
        &AnyLayer()};
    return all;
  }
  const Implementation& reorder() const override { return Reorder(); }
  const Implementation& any_layer() const override { return AnyLayer(); }
  const std::vector<Layout::Kind>& layouts() const override {
    static const std::vector<Layout::Kind> all = {kLast};
    return all;
  }
  int block(ElementType type) const override { return ChannelMultiple(type); }
  size_t alignment() const override { return caffe::cuda::kOperandAlignment; }
  bool takes_unsigned() const override { return false; }  // no tensor core does
  bool fuses_integer_sums() const override { return false; }

  std::string TimingKey() const override {
    return Join(PlanFingerprint(kTarget), " kernels ", CudaKernelRevision());
  }

  void Prepare(const std::function<void()>& list) const override {
    caffe::cuda::MakeConvolutionsAskedFor(list);
  }

  double Measure(const Graph& graph, const Node& node, int iterations,
                 size_t max_workspace) const override {
    const std::shared_ptr<GpuQueue> queue = GpuQueue::Make();
    const GpuQueue::Scope scope(*queue);
    const auto step = ImplementationOf(*this, node.implementation).Make(graph, node);
    const LayerStep* layer = dynamic_cast<LayerStep*>(step.get());
    const bool may_run = iterations == 0 && (!layer || node.math == ElementType::FLOAT);
    if (may_run && max_workspace == 0) return 0;
    BenchmarkOperands operands(graph, node, queue);
    step->Bind(operands.binding());
    RequireWorkspace(step->scratch_bytes(), max_workspace);
    if (may_run) return 0;
    void* const scratch = operands.Scratch(step->scratch_bytes());
    step->Run(scratch);
    queue->stream().Synchronize();
    if (layer && node.math != ElementType::FLOAT && !layer->native()) {
      throw Unsupported("computes this layer in another type");
    }
    if (iterations == 0) return 0;
    return LeastTime([&] { step->Run(scratch); }, iterations, queue->stream());
  }

  double RelativeTime(const Candidate& candidate) const override {
    const std::string name = candidate.implementation->name();
    const double size = SizeOf(candidate.math) / 4.0;
    if (candidate.variant == "direct") return 20 * size;
    if (name == "layer") return 3;
    if (name == "move" || name == "integers") return 0.01;
    return size;
  }
};

}  // namespace

int ChannelMultiple(ElementType type) { return caffe::cuda::ChannelAlignment(type); }

int PadChannels(int channels, ElementType type) {
  return static_cast<int>(kernels::RoundUp(channels, ChannelMultiple(type)));
}

int PixelCount(const Operand& operand) {
  return operand.layout == kPlain ? 1 : static_cast<int>(operand.images);
}

int ChannelCount(const Operand& operand) {
  return static_cast<int>(operand.layout == kPlain ? operand.elements() : operand.image);
}

caffe::cuda::Pixels PixelsOf(const Operand& operand) {
  Require(operand.layout == kLast || operand.dense(), "a plain blob has gaps");
  const size_t stride = operand.layout == kPlain ? operand.elements() : operand.stride;
  return {operand.data, operand.type, static_cast<int>(stride), operand.scale, operand.zero_point};
}

caffe::cuda::Planes PlanesOf(const Operand& operand) {
  return {operand.data, operand.type, operand.stride, operand.scale, operand.zero_point};
}

kernels::Activation ActivationOf(const NodePostOps& epilogue, const void* slopes) {
  kernels::Activation activation = epilogue.activation();
  activation.slopes = static_cast<const float*>(slopes);
  return activation;
}

std::vector<float> Padded(std::vector<float> values, size_t count, float fill) {
  values.resize(std::max(count, values.size()), fill);
  return values;
}

const Target& CudaTarget() {
  Require(Device::available(), Device::WhyNone());
  static const Gpu target;
  return target;
}

std::string GpuFingerprint() {
  Device& device = Device::Get();
  const bool native = Context::Current().stream().handle() != nullptr;
  if (!native) return device.name();
  return Join(device.name(), ", compute capability ",
              caffe::cuda::ComputeCapability(Context::Current().settings().device), ", ",
              caffe::cuda::LibraryVersions());
}

}  // namespace caffe::inference::cuda
