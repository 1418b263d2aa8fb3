// The gradient of float16 weights as floats: cuDNN computes it of channels-last factors, by engines
// that it compiles for a graph.
#include <cuda_runtime_api.h>

#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "caffe/common.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/cuda/own_convolutions.hpp"
#include "cudnn_graph.hpp"
#include "filled_channels.hpp"
#include "stopwatch.hpp"

namespace caffe::cuda {
namespace {

using Extents = std::vector<int64_t>;

constexpr size_t kMaxPlans = 5;
constexpr size_t kMaxWorkspace = size_t(1) << 30;

/// gradient = the gradient, (outputs, kernel..., channels), both filled up.
struct Description {
  CudnnGraph graph;
  CudnnGraph::Tensor x, dy, one, gradient;
};

CudnnGraph::Tensor ChannelsLast(CudnnGraph* graph, cudnnDataType_t type, int64_t num,
                                int64_t channels, const Extents& axes) {
  return graph->Memory(type, {num, channels, axes[0], axes[1]},
                       {axes[0] * axes[1] * channels, 1, axes[1] * channels, channels});
}

Description Describe(const kernels::ConvolutionShape& shape, int num) {
  Description d;
  const int64_t channels = FilledChannels(shape.channels), outputs = FilledChannels(shape.outputs);
  d.x = ChannelsLast(&d.graph, CUDNN_DATA_HALF, num, channels, TwoAxes(shape.input, 1));
  d.dy = ChannelsLast(&d.graph, CUDNN_DATA_HALF, num, outputs, TwoAxes(shape.output, 1));
  d.gradient =
      ChannelsLast(&d.graph, CUDNN_DATA_FLOAT, outputs, channels, TwoAxes(shape.kernel, 1));
  d.one = d.graph.Number(4);
  const CudnnGraph::Convolution convolution = {TwoAxes(shape.stride, 1), TwoAxes(shape.pad, 0),
                                               TwoAxes(shape.dilation, 1), CUDNN_DATA_FLOAT};
  // With a function behind it the result may have another type than the factors.
  const auto sums = d.graph.DifferentiateWeights(d.x, d.dy, convolution, d.gradient);
  d.graph.Apply({CUDNN_POINTWISE_MUL, {}}, sums, d.one);
  d.graph.WriteTo(d.gradient);
  return d;
}

/// The operands of one product.
struct Factors {
  void *x, *dy;
  float* gradient;

  void Multiply(Stream& stream, const Description& d, const CudnnPlan& plan) const {
    float one = 1;
    const Buffer<char> workspace(stream, plan.workspace_bytes());
    plan.Execute(CudnnHandle(stream), {{d.x, x}, {d.dy, dy}, {d.one, &one}, {d.gradient, gradient}},
                 workspace.get());
  }

  /// Milliseconds; infinite where it fails.
  float Time(Stream& stream, const Description& d, const CudnnPlan& plan) const {
    constexpr int kRuns = 3;
    try {
      Multiply(stream, d, plan);
      Stopwatch stopwatch(stream);
      stopwatch.Start();
      for (int i = 0; i < kRuns; ++i) Multiply(stream, d, plan);
      return stopwatch.Stop();
    } catch (const Error&) {
      return std::numeric_limits<float>::infinity();
    }
  }
};

/// What was found for one problem; no plan: nothing.
struct Choice {
  Description description;
  std::unique_ptr<const CudnnPlan> plan;
};

bool Rejects(const CudnnGraph::Notes& notes) {
  return notes.count(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) > 0 ||
         notes.count(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) > 0;
}

/// The plans that can be made.
std::vector<CudnnPlan> PlansFor(Description* description) {
  const TargetOfThread gpu;
  try {
    description->graph.Finalize(gpu.target());
    return description->graph.Plans(gpu.target(), Rejects, kMaxWorkspace, kMaxPlans);
  } catch (const Error&) {
    return {};
  }
}

std::vector<int> KeyOf(const kernels::ConvolutionShape& shape, int num) {
  int device = 0;
  Check(cudaGetDevice(&device), "asking which GPU is in use");
  std::vector<int> key = {device, num, shape.channels, shape.outputs};
  for (const auto* values :
       {&shape.input, &shape.output, &shape.kernel, &shape.stride, &shape.pad, &shape.dilation}) {
    key.insert(key.end(), values->begin(), values->end());
  }
  return key;
}

/// Times all plans on the operands of a problem.
std::shared_ptr<const Choice> Choose(Stream& stream, const kernels::ConvolutionShape& shape,
                                     int num, const Factors& factors) {
  const auto choice = std::make_shared<Choice>();
  choice->description = Describe(shape, num);
  float best = std::numeric_limits<float>::infinity();
  for (CudnnPlan& plan : PlansFor(&choice->description)) {
    const float time = factors.Time(stream, choice->description, plan);
    if (!(time < best)) continue;
    best = time;
    choice->plan = std::make_unique<CudnnPlan>(std::move(plan));
  }
  if (!choice->plan) {
    LOG(INFO) << "cuDNN has no gradient of " << shape.outputs << " x " << shape.channels
              << " channels' float16 weights in FLOAT; factors are widened for it.";
  }
  return choice;
}

std::mutex choosing;
/// By KeyOf. Never freed: cuDNN, whose plans they hold, may end before the statics of this library.
std::map<std::vector<int>, std::shared_ptr<const Choice>>& Choices() {
  static auto& choices = *new std::map<std::vector<int>, std::shared_ptr<const Choice>>;
  return choices;
}

/// Null before there is one.
std::shared_ptr<const Choice> FindChoice(const std::vector<int>& key) {
  std::lock_guard<std::mutex> lock(choosing);
  const auto found = Choices().find(key);
  return found == Choices().end() ? nullptr : found->second;
}

}  // namespace

bool CudnnHalfWeightGradient(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                             bool channels_last, const float16* x, const float16* dy,
                             float* d_weights) {
  if (shape.axes() > 2 || shape.group > 1) return false;
  const std::vector<int> key = KeyOf(shape, num);
  std::shared_ptr<const Choice> choice = FindChoice(key);
  if (choice && !choice->plan) return false;
  const int channels = FilledChannels(shape.channels);
  const Buffer<float> gradient(stream,
                               FilledChannels(shape.outputs) * shape.kernel_size() * channels);
  const FilledImages filled_x(stream, num, shape.channels, shape.input_spatial(), channels_last, x);
  const FilledImages filled_dy(stream, num, shape.outputs, shape.output_spatial(), channels_last,
                               dy);
  const Factors factors = {filled_x.get(), filled_dy.get(), gradient.get()};
  if (!choice) {
    choice = Choose(stream, shape, num, factors);
    std::lock_guard<std::mutex> lock(choosing);
    Choices()[key] = choice;
  }
  if (!choice->plan) return false;
  factors.Multiply(stream, choice->description, *choice->plan);
  AddChannelsLastWeights(stream, shape, channels, gradient.get(), d_weights);
  return true;
}

}  // namespace caffe::cuda
