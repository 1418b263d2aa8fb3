// Convolutions with what follows them as graphs of cuDNN's, and what each of them reads.
#include "cudnn_fused_convolution.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cuda/own_convolutions.hpp"
#include "caffe/util/string_stream.hpp"
#include "cudnn_graph.hpp"

namespace caffe::cuda {
namespace {

using Extents = std::vector<int64_t>;
using Tensor = CudnnGraph::Tensor;

static_assert(kOperandAlignment % CudnnGraph::kAlignment == 0, "what cuDNN is promised");

// Making one may take a second.
constexpr size_t kMaxWholePlans = 3, kMaxPlansAlone = 2;

cudnnDataType_t TypeOf(ElementType type) {
  switch (type) {
    case ElementType::FLOAT:
      return CUDNN_DATA_FLOAT;
    case ElementType::FLOAT16:
      return CUDNN_DATA_HALF;
    case ElementType::BFLOAT16:
      return CUDNN_DATA_BFLOAT16;
    case ElementType::INT8:
      return CUDNN_DATA_INT8;
    case ElementType::UINT8:
      return CUDNN_DATA_UINT8;
    default:
      Fail("engines on the GPU have no arrays of type ", Name(type));
  }
}

bool IsInteger(ElementType type) { return SizeOf(type) == 1; }

/// (num, channels, rows, columns) by strides, as ConvolutionProblem has them.
struct Place {
  Place(bool channels_last, int64_t num, int64_t channels, const std::vector<int>& spatial,
        size_t stride)
      : extents({num, channels}) {
    const Extents axes = TwoAxes(spatial, 1);
    const int64_t step = static_cast<int64_t>(stride);
    extents.insert(extents.end(), axes.begin(), axes.end());
    strides = channels_last ? Extents{axes[0] * axes[1] * step, 1, axes[1] * step, step}
                            : Extents{step, axes[0] * axes[1], axes[1], 1};
  }
  Extents extents, strides;
};

/// A graph with the tensors that a run has to give it; kNone: it has none.
struct Description {
  CudnnGraph graph;
  Tensor x = CudnnGraph::kNone, weights = x, y = x, bias = x, scales = x, slopes = x;
  Tensor residual = x, residual_scale = x, factor = x, least = x, zero = x;
};

/// Describes a problem step by step.
class Describer {
 public:
  explicit Describer(const ConvolutionProblem& problem)
      : problem_(problem), shape_(problem.shape) {}

  /// The convolution and all that follows it.
  Description Whole() {
    const bool integers = IsInteger(problem_.input);
    d_.y = Memory(problem_.output, OutputStride(problem_));
    Tensor value = Convolve(integers ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT);
    // Of integers the order of the CPU's kernels, of floats that which cuDNN has ready-made engines
    // for.
    if (integers) value = Apply(CUDNN_POINTWISE_MUL, value, d_.scales = PerOutput());
    if (!integers) value = AddResidual(value);
    if (problem_.has_bias) value = Apply(CUDNN_POINTWISE_ADD, value, d_.bias = PerOutput());
    if (integers) value = AddResidual(value);
    value = Activate(value);
    if (IsInteger(problem_.output)) Quantize(value);
    d_.graph.WriteTo(d_.y);
    return std::move(d_);
  }

  /// The convolution alone, to `type`, with places of the output `stride` apart.
  Description Alone(ElementType type, size_t stride) {
    d_.y = Memory(type, stride);
    Convolve(TypeOf(type));
    d_.graph.WriteTo(d_.y);
    return std::move(d_);
  }

 private:
  /// An array shaped as the output.
  Tensor Memory(ElementType type, size_t stride) {
    const Place place(problem_.channels_last, problem_.num, shape_.outputs, shape_.output, stride);
    return d_.graph.Memory(TypeOf(type), place.extents, place.strides);
  }

  Tensor PerOutput() {
    const int64_t outputs = shape_.outputs;
    return d_.graph.Memory(
        CUDNN_DATA_FLOAT, {1, outputs, 1, 1},
        problem_.channels_last ? Extents{outputs, 1, outputs, outputs} : Extents{outputs, 1, 1, 1});
  }

  Tensor Convolve(cudnnDataType_t result) {
    const Place x(problem_.channels_last, problem_.num, shape_.channels, shape_.input,
                  InputStride(problem_));
    const int64_t channels = shape_.channels / shape_.group;
    const Place weights(problem_.channels_last, shape_.outputs, channels, shape_.kernel,
                        problem_.channels_last ? channels : channels * shape_.kernel_size());
    d_.x = d_.graph.Memory(TypeOf(problem_.input), x.extents, x.strides);
    const ElementType type = IsInteger(problem_.input) ? ElementType::INT8 : problem_.input;
    d_.weights = d_.graph.Memory(TypeOf(type), weights.extents, weights.strides);
    const CudnnGraph::Convolution convolution = {
        TwoAxes(shape_.stride, 1), TwoAxes(shape_.pad, 0), TwoAxes(shape_.dilation, 1),
        IsInteger(problem_.input) ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT};
    return d_.graph.Convolve(d_.x, d_.weights, convolution, result, d_.y);
  }

  Tensor Apply(cudnnPointwiseMode_t mode, Tensor a, Tensor b) {
    return d_.graph.Apply({mode, {}}, a, b);
  }
  Tensor Number() { return d_.graph.Number(4); }

  Tensor AddResidual(Tensor value) {
    if (!problem_.has_residual) return value;
    Tensor residual = d_.residual = Memory(problem_.residual, ResidualStride(problem_));
    if (IsInteger(problem_.residual)) {
      residual = Apply(CUDNN_POINTWISE_MUL, residual, d_.residual_scale = Number());
    }
    return Apply(CUDNN_POINTWISE_ADD, value, residual);
  }

  Tensor Activate(Tensor value) {
    using kernels::Activation;
    const Activation& f = problem_.activation;
    const float a = static_cast<float>(f.a), b = static_cast<float>(f.b);
    switch (f.kind) {
      case Activation::NONE:
        return value;
      case Activation::RELU: {
        CudnnGraph::Function relu = {CUDNN_POINTWISE_RELU_FWD, {}};
        if (a != 0) relu.numbers[CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE] = a;
        return d_.graph.Apply(relu, value);
      }
      case Activation::CLIP:
        return d_.graph.Apply({CUDNN_POINTWISE_RELU_FWD,
                               {{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, a},
                                {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, b}}},
                              value);
      case Activation::PRELU: {  // max(x, 0) + slope min(x, 0)
        d_.zero = Number();
        d_.slopes = PerOutput();
        const Tensor above = Apply(CUDNN_POINTWISE_MAX, value, d_.zero);
        const Tensor below = Apply(CUDNN_POINTWISE_MIN, value, d_.zero);
        return Apply(CUDNN_POINTWISE_ADD, above, Apply(CUDNN_POINTWISE_MUL, below, d_.slopes));
      }
      case Activation::ELU:
        if (b != 1) break;
        return d_.graph.Apply({CUDNN_POINTWISE_ELU_FWD, {{CUDNN_ATTR_POINTWISE_ELU_ALPHA, a}}},
                              value);
      case Activation::SIGMOID:
        return Apply(CUDNN_POINTWISE_SIGMOID_FWD, value, CudnnGraph::kNone);
      case Activation::SWISH:
        return d_.graph.Apply({CUDNN_POINTWISE_SWISH_FWD, {{CUDNN_ATTR_POINTWISE_SWISH_BETA, a}}},
                              value);
      case Activation::TANH:
        Fail("cuDNN's hyperbolic tangent is NaN far from 0 (cuDNN 9 on an H100)");
      default:
        break;
    }
    Fail("cuDNN has no such activation");
  }

  /// That writing rounds to the nearest even integer and saturates is an assumption: cuDNN's
  /// documentation does not say it. Our integers have no -128.
  void Quantize(Tensor value) {
    value = Apply(CUDNN_POINTWISE_MUL, value, d_.factor = Number());
    if (problem_.output == ElementType::INT8 && !IsNeverNegative()) {
      Apply(CUDNN_POINTWISE_MAX, value, d_.least = Number());
    }
  }
  bool IsNeverNegative() const {
    using kernels::Activation;
    const Activation& f = problem_.activation;
    return (f.kind == Activation::RELU && f.a == 0) || (f.kind == Activation::CLIP && f.a >= 0) ||
           f.kind == Activation::SIGMOID;
  }

  const ConvolutionProblem& problem_;
  const kernels::ConvolutionShape& shape_;
  Description d_;
};

/// Numbers of the host that graphs read; they stay where they are while a plan runs.
struct Numbers {
  float residual_scale, factor, least = -127.f, zero = 0.f;
};

std::map<int64_t, void*> MemoryOf(const Description& d, const ConvolutionArguments& arguments,
                                  void* y, Numbers* numbers) {
  std::map<int64_t, void*> memory;
  const auto give = [&](Tensor tensor, const void* place) {
    if (tensor != CudnnGraph::kNone) memory[tensor] = const_cast<void*>(place);
  };
  give(d.x, arguments.x);
  give(d.weights, arguments.weights);
  give(d.y, y);
  give(d.bias, arguments.bias);
  give(d.scales, arguments.scales);
  give(d.slopes, arguments.slopes);
  give(d.residual, arguments.residual);
  give(d.residual_scale, &numbers->residual_scale);
  give(d.factor, &numbers->factor);
  give(d.least, &numbers->least);
  give(d.zero, &numbers->zero);
  return memory;
}

/// A plan of cuDNN's on the memory of a run.
class CudnnRun {
 public:
  CudnnRun(Description description, CudnnPlan plan)
      : description_(std::move(description)), plan_(std::move(plan)) {}
  const CudnnPlan& plan() const { return plan_; }
  void Run(const Stream& stream, const ConvolutionArguments& arguments, void* y,
           void* workspace) const {
    Numbers numbers;
    numbers.residual_scale = arguments.residual_scale;
    numbers.factor = 1 / arguments.output_scale;
    plan_.Execute(CudnnHandle(stream), MemoryOf(description_, arguments, y, &numbers), workspace);
  }

 private:
  const Description description_;
  const CudnnPlan plan_;
};

class Whole : public FusedConvolution {
 public:
  Whole(Description description, CudnnPlan plan)
      : run_(std::move(description), std::move(plan)),
        name_(std::string(kCudnnWhole) + ' ' + run_.plan().name()) {}
  const std::string& name() const override { return name_; }
  size_t workspace_bytes() const override { return run_.plan().workspace_bytes(); }
  void Run(Stream& stream, const ConvolutionArguments& arguments, void* workspace) const override {
    run_.Run(stream, arguments, arguments.y, workspace);
  }

 private:
  const CudnnRun run_;
  const std::string name_;
};

/// What cuDNN's convolution writes before ApplyToPixels finishes it.
ElementType TypeBetween(const ConvolutionProblem& problem) {
  return IsInteger(problem.input) ? ElementType::FLOAT : problem.input;
}
/// True if that can be written in y's place.
bool IsInPlace(const ConvolutionProblem& problem) {
  return TypeBetween(problem) == problem.output && !problem.has_residual;
}
size_t StrideBetween(const ConvolutionProblem& problem) {
  if (IsInPlace(problem)) return OutputStride(problem);
  ConvolutionProblem dense = problem;
  dense.output_stride = 0;
  return OutputStride(dense);
}

/// The convolution alone, then the rest.
class Finished : public FusedConvolution {
 public:
  Finished(const ConvolutionProblem& problem, Description description, CudnnPlan plan)
      : problem_(problem),
        run_(std::move(description), std::move(plan)),
        name_(std::string(kCudnnFinish) + ' ' + run_.plan().name()) {}
  const std::string& name() const override { return name_; }
  size_t workspace_bytes() const override {
    return Aligned(run_.plan().workspace_bytes()) + BytesBetween();
  }

  void Run(Stream& stream, const ConvolutionArguments& arguments, void* workspace) const override {
    void* const between = IsInPlace(problem_) ? arguments.y
                                              : static_cast<char*>(workspace) +
                                                    Aligned(run_.plan().workspace_bytes());
    run_.Run(stream, arguments, between, workspace);
    Finish(stream, arguments, between);
  }

 private:
  static size_t Aligned(size_t bytes) { return kernels::RoundUp(bytes, 256); }
  size_t BytesBetween() const {
    return IsInPlace(problem_)
               ? 0
               : problem_.num * problem_.shape.output_size() * SizeOf(TypeBetween(problem_));
  }

  void Finish(Stream& stream, const ConvolutionArguments& arguments, void* between) const {
    kernels::Activation activation = problem_.activation;
    activation.slopes = arguments.slopes;
    const float* scales = IsInteger(problem_.input) ? arguments.scales : nullptr;
    const float* bias = problem_.has_bias ? arguments.bias : nullptr;
    const int outputs = problem_.shape.outputs;
    const int places = static_cast<int>(problem_.shape.output_spatial());
    const auto finish = [&](auto array, auto apply) {
      using Arrays = decltype(array);
      const auto at = [](const void* data, ElementType type, size_t stride, float scale) {
        return Arrays{const_cast<void*>(data), type, static_cast<decltype(array.stride)>(stride),
                      scale};
      };
      const Arrays residual = at(arguments.residual, problem_.residual, ResidualStride(problem_),
                                 arguments.residual_scale);
      apply(at(between, TypeBetween(problem_), StrideBetween(problem_), 1),
            problem_.has_residual ? &residual : nullptr,
            at(arguments.y, problem_.output, OutputStride(problem_), arguments.output_scale));
    };
    if (problem_.channels_last) {
      finish(Pixels(), [&](const Pixels& x, const Pixels* residual, const Pixels& y) {
        ApplyToPixels(stream, problem_.num * places, outputs, x, scales, bias, residual, activation,
                      y);
      });
    } else {
      finish(Planes(), [&](const Planes& x, const Planes* residual, const Planes& y) {
        ApplyToPlanes(stream, problem_.num, outputs, places, x, scales, bias, residual, activation,
                      y);
      });
    }
  }

  const ConvolutionProblem problem_;
  const CudnnRun run_;
  const std::string name_;
};

/// Engines that compute something else than requested: with rounded factors or sums, far less
/// exactly, or not the same bits in each run.
bool Rejects(const ConvolutionProblem& problem, const CudnnGraph::Notes& notes) {
  if (notes.count(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ||
      notes.count(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) ||
      notes.count(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)) {
    return true;
  }
  return problem.input == ElementType::FLOAT && !problem.tf32 &&
         (notes.count(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
          notes.count(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
}

/// All of a problem, or its convolution alone.
Description Describe(const CudnnTarget& target, const ConvolutionProblem& problem, bool whole) {
  Describer describer(problem);
  Description description =
      whole ? describer.Whole() : describer.Alone(TypeBetween(problem), StrideBetween(problem));
  description.graph.Finalize(target);
  return description;
}

/// With the plan of that name. Throws Error where there is none.
std::pair<Description, CudnnPlan> MakeNamed(const CudnnTarget& target,
                                            const ConvolutionProblem& problem, bool whole,
                                            const std::string& engine) {
  Description description = Describe(target, problem, whole);
  CudnnPlan plan = description.graph.PlanNamed(
      target, engine, [&](const CudnnGraph::Notes& notes) { return Rejects(problem, notes); });
  return {std::move(description), std::move(plan)};
}

using Ways = std::vector<std::shared_ptr<const FusedConvolution>>;

/// What a plan depends on, but for the numbers that a run is given.
std::string KeyOf(const CudnnTarget& target, const ConvolutionProblem& problem) {
  const kernels::ConvolutionShape& shape = problem.shape;
  const kernels::Activation& activation = problem.activation;
  StringWriter key;
  key << target.device << ' ' << problem.num << ' ' << shape.channels << ' ' << shape.outputs << ' '
      << shape.group;
  for (const std::vector<int>* extents :
       {&shape.input, &shape.output, &shape.kernel, &shape.stride, &shape.pad, &shape.dilation}) {
    for (const int extent : *extents) key << ' ' << extent;
    key << ';';
  }
  key << problem.channels_last << ' ' << Name(problem.input) << ' ' << Name(problem.output) << ' '
      << Name(problem.residual) << ' ' << problem.has_bias << problem.has_residual << problem.tf32
      << ' ' << InputStride(problem) << ' ' << OutputStride(problem) << ' '
      << ResidualStride(problem) << std::hexfloat << ' ' << activation.kind << ' ' << activation.a
      << ' ' << activation.b;
  return key.str();
}

/// The part of a problem that its convolution alone depends on.
ConvolutionProblem AloneOf(const ConvolutionProblem& problem) {
  ConvolutionProblem alone = problem;
  alone.output = alone.residual = TypeBetween(problem);
  alone.output_stride = StrideBetween(problem);
  alone.residual_stride = 0;
  alone.has_bias = alone.has_residual = false;
  alone.activation = {};
  return alone;
}

/// How cuDNN computes one description. Unchanging once it is made.
struct Plans {
  Description description;
  std::vector<CudnnPlan> plans;  ///< the best guess first
};

Plans MakePlans(const CudnnTarget& target, const ConvolutionProblem& problem, bool whole,
                size_t most_workspace) {
  try {
    Plans made{Describe(target, problem, whole), {}};
    made.plans = made.description.graph.Plans(
        target, [&](const CudnnGraph::Notes& notes) { return Rejects(problem, notes); },
        most_workspace, whole ? kMaxWholePlans : kMaxPlansAlone);
    return made;
  } catch (const Error&) {  // cuDNN cannot describe it
    return {};
  }
}

/// All that was made for GPUs that are here: making a plan takes up to a second or two, and nets
/// repeat their layers. Never freed: cuDNN may end before the statics of this library.
class KnownPlans {
 public:
  static KnownPlans& Get() {
    static auto& known = *new KnownPlans;
    return known;
  }
  /// The first caller makes them, others wait.
  std::shared_ptr<const Plans> Of(const CudnnTarget& target, const ConvolutionProblem& problem,
                                  bool whole, size_t most_workspace) {
    const Key key = KeyFor(target, problem, whole);
    std::promise<std::shared_ptr<const Plans>> promise;
    std::unique_lock<std::mutex> lock(mutex_);
    auto [entry, first] = listed_.try_emplace({key, most_workspace});
    if (first) entry->second = promise.get_future();
    const auto future = entry->second;
    lock.unlock();
    if (!first) return future.get();
    try {
      promise.set_value(
          std::make_shared<const Plans>(MakePlans(target, problem, whole, most_workspace)));
    } catch (...) {  // no memory, no more threads: a later call may succeed
      promise.set_exception(std::current_exception());
      lock.lock();
      listed_.erase({key, most_workspace});
    }
    return future.get();
  }
  /// One by its name. Throws Error where there is none.
  std::pair<Description, CudnnPlan> Named(const CudnnTarget& target,
                                          const ConvolutionProblem& problem, bool whole,
                                          const std::string& engine) {
    const Key key = KeyFor(target, problem, whole);
    std::vector<std::shared_future<std::shared_ptr<const Plans>>> listed;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = named_.find({key, engine});
      if (found != named_.end()) return found->second;
      for (auto i = listed_.lower_bound({key, 0}); i != listed_.end() && i->first.first == key;
           ++i) {
        listed.push_back(i->second);
      }
    }
    for (const auto& plans : listed) {
      for (const CudnnPlan& plan : plans.get()->plans) {
        if (plan.name() == engine) return {plans.get()->description, plan};
      }
    }
    auto made = MakeNamed(target, problem, whole, engine);
    const std::lock_guard<std::mutex> lock(mutex_);
    return named_.emplace(std::make_pair(key, engine), std::move(made)).first->second;
  }

 private:
  using Key = std::pair<bool, std::string>;
  static Key KeyFor(const CudnnTarget& target, const ConvolutionProblem& problem, bool whole) {
    return {whole, KeyOf(target, whole ? problem : AloneOf(problem))};
  }

  std::mutex mutex_;
  std::map<std::pair<Key, size_t>, std::shared_future<std::shared_ptr<const Plans>>> listed_;
  std::map<std::pair<Key, std::string>, std::pair<Description, CudnnPlan>> named_;
};

/// True if nothing follows the convolution: then its two ways are one.
bool IsAlone(const ConvolutionProblem& problem) {
  return !IsInteger(problem.input) && !problem.has_bias && !problem.has_residual &&
         problem.activation.kind == kernels::Activation::NONE &&
         TypeBetween(problem) == problem.output;
}

/// plans(target, whole) says what there is; both kinds are made at the same time.
template <typename GetPlans>
Ways WaysOn(const CudnnTarget& target, const ConvolutionProblem& problem, size_t most_workspace,
            const GetPlans& plans) {
  Ways ways;
  const auto add = [&](std::shared_ptr<const FusedConvolution> way) {
    if (way->workspace_bytes() <= most_workspace) ways.push_back(std::move(way));
  };
  std::future<std::shared_ptr<const Plans>> alone;
  if (!IsAlone(problem)) {
    alone = std::async(std::launch::async, [&] {
      const TargetOfThread own(target);
      return plans(own.target(), false);
    });
  }
  const std::shared_ptr<const Plans> whole = plans(target, true);
  for (const CudnnPlan& plan : whole->plans) {
    add(std::make_shared<Whole>(whole->description, plan));
  }
  if (!alone.valid()) return ways;
  const std::shared_ptr<const Plans> rest = alone.get();
  for (const CudnnPlan& plan : rest->plans) {
    add(std::make_shared<Finished>(problem, rest->description, plan));
  }
  return ways;
}

/// named(whole, engine) gives a description and its plan.
template <typename Named>
std::shared_ptr<const FusedConvolution> WayNamed(const ConvolutionProblem& problem,
                                                 const std::string& name, const Named& named) {
  const size_t space = name.find(' ');
  const std::string kind = name.substr(0, space);
  Require(space != std::string::npos && (kind == kCudnnWhole || kind == kCudnnFinish), "'", name,
          "' does not name a way of computing a convolution by cuDNN");
  auto [description, plan] = named(kind == kCudnnWhole, name.substr(space + 1));
  if (kind == kCudnnWhole) return std::make_shared<Whole>(description, plan);
  return std::make_shared<Finished>(problem, description, plan);
}

/// False where cuDNN would take the problem and compute something else (seen with cuDNN 9 on an
/// H100): other types than FLOAT in Caffe's order, and pixels that begin where tensor cores'
/// kernels cannot load them because they do not lie side by side.
bool IsLoadable(const ConvolutionProblem& problem) {
  if (!problem.channels_last) {
    return problem.input == ElementType::FLOAT && problem.output == ElementType::FLOAT &&
           (!problem.has_residual || problem.residual == ElementType::FLOAT);
  }
  const auto fits = [](ElementType type, size_t stride, size_t channels) {
    return stride * SizeOf(type) % kOperandAlignment == 0 ||
           (stride == channels && !IsInteger(type));
  };
  const size_t outputs = problem.shape.outputs;
  return fits(problem.input, InputStride(problem), problem.shape.channels) &&
         fits(problem.output, OutputStride(problem), outputs) &&
         (!problem.has_residual || fits(problem.residual, ResidualStride(problem), outputs));
}

/// What the calling thread asks for while MakeConvolutionsAskedFor listens; null otherwise.
thread_local std::vector<std::function<void()>>* asked_for = nullptr;

}  // namespace

Ways CudnnConvolutions(const ConvolutionProblem& problem, size_t most_workspace) {
  if (!IsLoadable(problem)) return {};
  if (asked_for) {
    asked_for->push_back([=] { CudnnConvolutions(problem, most_workspace); });
    return {};
  }
  const TargetOfThread gpu;
  return WaysOn(gpu.target(), problem, most_workspace, [&](const CudnnTarget& target, bool whole) {
    return KnownPlans::Get().Of(target, problem, whole, most_workspace);
  });
}

std::shared_ptr<const FusedConvolution> CudnnConvolutionNamed(const ConvolutionProblem& problem,
                                                              const std::string& name) {
  Require(IsLoadable(problem), "cuDNN is not asked for '", name,
          "': its kernels misread arrays that lie so");
  if (asked_for) {
    asked_for->push_back([=] { CudnnConvolutionNamed(problem, name); });
    return NotYetMade(name);
  }
  const TargetOfThread gpu;
  return WayNamed(problem, name, [&](bool whole, const std::string& engine) {
    return KnownPlans::Get().Named(gpu.target(), problem, whole, engine);
  });
}

std::shared_ptr<const FusedConvolution> NotYetMade(const std::string& name) {
  class Placeholder : public FusedConvolution {
   public:
    explicit Placeholder(const std::string& name) : name_(name) {}
    const std::string& name() const override { return name_; }
    void Run(Stream&, const ConvolutionArguments&, void*) const override {
      Fail("'", name_, "' has been asked for, and not been made");
    }

   private:
    const std::string name_;
  };
  return std::make_shared<Placeholder>(name);
}

bool NotesConvolutions() { return asked_for != nullptr; }

void MakeConvolutionsAskedFor(const std::function<void()>& ask) {
  std::vector<std::function<void()>> wanted;
  asked_for = &wanted;
  try {
    ask();
  } catch (...) {
    asked_for = nullptr;
    throw;
  }
  asked_for = nullptr;
  if (wanted.empty()) return;
  const TargetOfThread gpu;
  std::atomic<size_t> next{0};
  std::vector<std::future<void>> workers;
  // Making one takes a few threads more.
  const size_t cores = std::clamp(std::thread::hardware_concurrency(), 1u, 32u);
  for (size_t i = 0; i < std::min(cores, wanted.size()); ++i) {
    workers.push_back(std::async(std::launch::async, [&] {
      const TargetOfThread own(gpu.target());
      for (size_t index; (index = next++) < wanted.size();) {
        try {
          wanted[index]();
        } catch (const Error&) {  // later calls return it
        }
      }
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
}

Ways CudnnConvolutionsElsewhere(const std::string& properties, const ConvolutionProblem& problem,
                                size_t most_workspace) {
  const CudnnTarget elsewhere = CudnnTarget::Described(properties);
  return WaysOn(elsewhere, problem, most_workspace, [&](const CudnnTarget& target, bool whole) {
    return std::make_shared<const Plans>(MakePlans(target, problem, whole, most_workspace));
  });
}

std::shared_ptr<const FusedConvolution> CudnnConvolutionElsewhereNamed(
    const std::string& properties, const ConvolutionProblem& problem, const std::string& name) {
  const CudnnTarget target = CudnnTarget::Described(properties);
  return WayNamed(problem, name, [&](bool whole, const std::string& engine) {
    return MakeNamed(target, problem, whole, engine);
  });
}

}  // namespace caffe::cuda
