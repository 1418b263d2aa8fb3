// Convolutions by cuDNN: descriptions of a problem, the choice of an algorithm, the call.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/cuda/converted.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/own_convolutions.hpp"
#include "caffe/kernels/instances.hpp"
#include "check.hpp"
#include "cudnn.hpp"
#include "stopwatch.hpp"

namespace caffe::cuda {
namespace {

/// A problem in cuDNN's terms. Once an algorithm is chosen it does not change, so that threads may
/// share it.
class Problem {
 public:
  Problem(const kernels::ConvolutionShape& shape, int num, cudnnDataType_t type,
          bool channels_last) {
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreateTensorDescriptor, &x), "describing a tensor");
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreateTensorDescriptor, &y), "describing a tensor");
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreateFilterDescriptor, &weights), "describing weights");
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnCreateConvolutionDescriptor, &convolution),
               "describing a convolution");
    SetTensor(x, type, channels_last, num, shape.channels, Padded(shape.input, 1));
    SetTensor(y, type, channels_last, num, shape.outputs, Padded(shape.output, 1));
    const std::vector<int> kernel =
        Joined(shape.outputs, shape.channels / shape.group, Padded(shape.kernel, 1));
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetFilterNdDescriptor, weights, type,
                          channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                          static_cast<int>(kernel.size()), kernel.data()),
               "describing weights");
    const std::vector<int> pad = Padded(shape.pad, 0), stride = Padded(shape.stride, 1),
                           dilation = Padded(shape.dilation, 1);
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetConvolutionNdDescriptor, convolution,
                          static_cast<int>(pad.size()), pad.data(), stride.data(), dilation.data(),
                          CUDNN_CROSS_CORRELATION,
                          type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
               "describing a convolution");
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetConvolutionGroupCount, convolution, shape.group),
               "describing a convolution");
  }
  ~Problem() {
    if (x) CAFFE_CALL(Cudnn, cudnnDestroyTensorDescriptor, x);
    if (y) CAFFE_CALL(Cudnn, cudnnDestroyTensorDescriptor, y);
    if (weights) CAFFE_CALL(Cudnn, cudnnDestroyFilterDescriptor, weights);
    if (convolution) CAFFE_CALL(Cudnn, cudnnDestroyConvolutionDescriptor, convolution);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void SetMath(cudnnMathType_t math) {
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetConvolutionMathType, convolution, math),
               "describing a convolution");
  }

  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t weights = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

 private:
  // cuDNN has two spatial axes or more: those in front that are missing have extent 1.
  static std::vector<int> Padded(std::vector<int> values, int otherwise) {
    while (values.size() < 2) values.insert(values.begin(), otherwise);
    return values;
  }
  static std::vector<int> Joined(int first, int second, const std::vector<int>& rest) {
    std::vector<int> result = {first, second};
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  }
  static void SetTensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, bool channels_last,
                        int num, int channels, const std::vector<int>& spatial) {
    const std::vector<int> extents = Joined(num, channels, spatial);
    std::vector<int> strides(extents.size(), 1);
    int step = 1;
    const auto next = [&](size_t axis) {
      strides[axis] = step;
      step *= extents[axis];
    };
    if (channels_last) next(1);
    for (size_t axis = extents.size() - 1; axis > 1; --axis) next(axis);
    if (!channels_last) next(1);
    next(0);
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnSetTensorNdDescriptor, tensor, type,
                          static_cast<int>(extents.size()), extents.data(), strides.data()),
               "describing a tensor");
  }
};

// The three products alike: inputs a and b, output c = alpha product + beta c.

struct Forward {
  using Performance = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  static constexpr int kNumber = 0;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static constexpr const char* kName = "forward";

  static cudnnStatus_t Propose(cudnnHandle_t handle, const Problem& p, int* count,
                               Performance* proposals) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionForwardAlgorithm_v7, handle, p.x, p.weights,
                      p.convolution, p.y, kAlgorithms, count, proposals);
  }
  static cudnnStatus_t Workspace(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                                 size_t* bytes) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionForwardWorkspaceSize, handle, p.x, p.weights,
                      p.convolution, p.y, algorithm, bytes);
  }
  /// a: x, b: weights, c: y.
  static cudnnStatus_t Run(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                           void* workspace, size_t bytes, const void* alpha, const void* a,
                           const void* b, const void* beta, void* c) {
    return CAFFE_CALL(Cudnn, cudnnConvolutionForward, handle, alpha, p.x, a, p.weights, b,
                      p.convolution, algorithm, workspace, bytes, beta, p.y, c);
  }
};

struct BackwardData {
  using Performance = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  static constexpr int kNumber = 1;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static constexpr const char* kName = "backward data";

  static cudnnStatus_t Propose(cudnnHandle_t handle, const Problem& p, int* count,
                               Performance* proposals) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionBackwardDataAlgorithm_v7, handle, p.weights, p.y,
                      p.convolution, p.x, kAlgorithms, count, proposals);
  }
  static cudnnStatus_t Workspace(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                                 size_t* bytes) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionBackwardDataWorkspaceSize, handle, p.weights, p.y,
                      p.convolution, p.x, algorithm, bytes);
  }
  /// a: dy, b: weights, c: dx.
  static cudnnStatus_t Run(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                           void* workspace, size_t bytes, const void* alpha, const void* a,
                           const void* b, const void* beta, void* c) {
    return CAFFE_CALL(Cudnn, cudnnConvolutionBackwardData, handle, alpha, p.weights, b, p.y, a,
                      p.convolution, algorithm, workspace, bytes, beta, p.x, c);
  }
};

struct BackwardWeights {
  using Performance = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr int kNumber = 2;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static constexpr const char* kName = "backward filter";

  static cudnnStatus_t Propose(cudnnHandle_t handle, const Problem& p, int* count,
                               Performance* proposals) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionBackwardFilterAlgorithm_v7, handle, p.x, p.y,
                      p.convolution, p.weights, kAlgorithms, count, proposals);
  }
  static cudnnStatus_t Workspace(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                                 size_t* bytes) {
    return CAFFE_CALL(Cudnn, cudnnGetConvolutionBackwardFilterWorkspaceSize, handle, p.x, p.y,
                      p.convolution, p.weights, algorithm, bytes);
  }
  /// a: x, b: dy, c: the weights' gradient.
  static cudnnStatus_t Run(cudnnHandle_t handle, const Problem& p, Algorithm algorithm,
                           void* workspace, size_t bytes, const void* alpha, const void* a,
                           const void* b, const void* beta, void* c) {
    return CAFFE_CALL(Cudnn, cudnnConvolutionBackwardFilter, handle, alpha, p.x, a, p.y, b,
                      p.convolution, algorithm, workspace, bytes, beta, p.weights, c);
  }
};

/// A problem with the algorithm that computes it.
struct Plan {
  std::unique_ptr<Problem> problem;
  int algorithm = -1;
  size_t workspace = 0;  // bytes
};

/// The most that a workspace may take: algorithms that trade memory for speed leave half of what
/// is free.
size_t WorkspaceLimit() {
  constexpr size_t kMax = size_t(2) << 30;
  size_t free = 0, total = 0;
  Check(cudaMemGetInfo(&free, &total), "asking for the GPU's free memory");
  return std::min(free / 2, kMax);
}

/// One product on its operands.
template <typename Pass, typename T>
struct Call {
  Stream& stream;
  cudnnHandle_t handle;
  const T *a, *b;
  T* c;

  /// c = the product.
  cudnnStatus_t Run(const Problem& problem, int algorithm, size_t bytes) const {
    const AccumulatorType<T> one = 1, zero = 0;
    const Buffer<char> workspace(stream, bytes);
    return Pass::Run(handle, problem, static_cast<typename Pass::Algorithm>(algorithm),
                     workspace.get(), bytes, &one, a, b, &zero, c);
  }

  /// The milliseconds that an algorithm takes; infinite where it fails.
  float Time(const Problem& problem, int algorithm, size_t bytes) const {
    constexpr int kRuns = 3;
    constexpr float kNever = std::numeric_limits<float>::infinity();
    try {
      if (Run(problem, algorithm, bytes) != CUDNN_STATUS_SUCCESS) return kNever;
      Stopwatch stopwatch(stream);
      stopwatch.Start();
      for (int i = 0; i < kRuns; ++i) {
        if (Run(problem, algorithm, bytes) != CUDNN_STATUS_SUCCESS) return kNever;
      }
      return stopwatch.Stop() / kRuns;
    } catch (const Error&) {  // no memory for the workspace
      return kNever;
    }
  }
};

/// What is asked for unless the options say more: DEFAULT would allow TF32 for float.
template <typename T>
cudnnMathType_t MathFor(const ConvolutionOptions& options) {
  Require(options.math >= -1 && options.math <= CUDNN_FMA_MATH, "cudnn_math_override is -1 to ",
          static_cast<int>(CUDNN_FMA_MATH), ", not ", options.math);
  if (options.math >= 0) return static_cast<cudnnMathType_t>(options.math);
  return sizeof(T) == 2   ? CUDNN_TENSOR_OP_MATH
         : sizeof(T) == 4 ? CUDNN_FMA_MATH
                          : CUDNN_DEFAULT_MATH;
}

/// The algorithm that the options name.
template <typename Pass>
void TakeNamed(cudnnHandle_t handle, int algorithm, Plan* plan) {
  Require(algorithm < Pass::kAlgorithms, "conv_algos_override: cuDNN's algorithms for the ",
          Pass::kName, " pass are 0 to ", Pass::kAlgorithms - 1, " (-1: the fastest), not ",
          algorithm);
  const cudnnStatus_t status = Pass::Workspace(
      handle, *plan->problem, static_cast<typename Pass::Algorithm>(algorithm), &plan->workspace);
  Require(status == CUDNN_STATUS_SUCCESS, "conv_algos_override: algorithm ", algorithm, " of the ",
          Pass::kName, " pass cannot compute this convolution (",
          CAFFE_CALL(Cudnn, cudnnGetErrorString, status), "): give -1");
  plan->algorithm = algorithm;
}

/// The fastest of cuDNN's proposals; of those that give the same bits in each run, if there are
/// any. None: the plan stays without an algorithm.
template <typename Pass, typename T>
void TakeFastest(const Call<Pass, T>& call, cudnnMathType_t math, Plan* plan) {
  std::vector<typename Pass::Performance> proposals(Pass::kAlgorithms);
  int count = 0;
  if (Pass::Propose(call.handle, *plan->problem, &count, proposals.data()) !=
      CUDNN_STATUS_SUCCESS) {
    return;
  }
  proposals.resize(count);
  const size_t limit = WorkspaceLimit();
  const auto unfit = [&](const typename Pass::Performance& proposal) {
    return proposal.status != CUDNN_STATUS_SUCCESS || proposal.memory > limit;
  };
  proposals.erase(std::remove_if(proposals.begin(), proposals.end(), unfit), proposals.end());
  const auto repeatable = [](const typename Pass::Performance& proposal) {
    return proposal.determinism == CUDNN_DETERMINISTIC;
  };
  if (std::any_of(proposals.begin(), proposals.end(), repeatable)) {
    proposals.erase(std::remove_if(proposals.begin(), proposals.end(),
                                   [&](const auto& proposal) { return !repeatable(proposal); }),
                    proposals.end());
  }
  float best = std::numeric_limits<float>::infinity();
  cudnnMathType_t best_math = math;
  for (const auto& proposal : proposals) {
    // A proposal without tensor cores may come back as DEFAULT where FMA was asked for.
    const cudnnMathType_t its_math = math == CUDNN_FMA_MATH ? math : proposal.mathType;
    plan->problem->SetMath(its_math);
    size_t bytes = 0;
    if (Pass::Workspace(call.handle, *plan->problem, proposal.algo, &bytes) !=
            CUDNN_STATUS_SUCCESS ||
        bytes > limit) {
      continue;
    }
    const float time = call.Time(*plan->problem, proposal.algo, bytes);
    if (!(time < best)) continue;
    best = time;
    best_math = its_math;
    plan->algorithm = proposal.algo;
    plan->workspace = bytes;
  }
  plan->problem->SetMath(best_math);
}

using Key = std::vector<int>;

template <typename Pass, typename T>
Key KeyOf(const kernels::ConvolutionShape& shape, int num, int algorithm, cudnnMathType_t math,
          bool channels_last) {
  int device = 0;
  Check(cudaGetDevice(&device), "asking which GPU is in use");
  Key key = {Pass::kNumber,  static_cast<int>(sizeof(T)),
             device,         algorithm,
             math,           num,
             shape.channels, shape.outputs,
             shape.group,    channels_last};
  for (const auto* values :
       {&shape.input, &shape.output, &shape.kernel, &shape.stride, &shape.pad, &shape.dilation}) {
    key.insert(key.end(), values->begin(), values->end());
  }
  return key;
}

/// What is done without cuDNN.
const char* OtherWay(bool channels_last) {
  return channels_last ? "it is computed in Caffe's order." : "column matrices do it.";
}

/// Null, and why is logged, where cuDNN cannot describe the problem.
std::unique_ptr<Problem> Describe(const kernels::ConvolutionShape& shape, int num,
                                  cudnnDataType_t type, cudnnMathType_t math, bool channels_last) {
  try {
    auto problem = std::make_unique<Problem>(shape, num, type, channels_last);
    problem->SetMath(math);
    return problem;
  } catch (const Error& error) {
    LOG(INFO) << error.what() << "; " << OtherWay(channels_last);
    return nullptr;
  }
}

/// The plan for a problem. In the first call it is made, by computing the product on `call`'s
/// operands with each candidate; others wait for it.
template <typename Pass, typename T>
std::shared_ptr<const Plan> FindPlan(const kernels::ConvolutionShape& shape, int num, int algorithm,
                                     const ConvolutionOptions& options, const Call<Pass, T>& call) {
  static std::mutex mutex;
  static auto& plans = *new std::map<Key, std::shared_ptr<const Plan>>;  // cuDNN may end first
  const cudnnMathType_t math = MathFor<T>(options);
  const Key key = KeyOf<Pass, T>(shape, num, algorithm, math, options.channels_last);
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  const auto plan = std::make_shared<Plan>();
  plan->problem = Describe(shape, num, CudnnType<T>(), math, options.channels_last);
  if (plan->problem && algorithm >= 0) {
    TakeNamed<Pass>(call.handle, algorithm, plan.get());
  } else if (plan->problem) {
    TakeFastest(call, math, plan.get());
    if (plan->algorithm < 0) {
      LOG(INFO) << "cuDNN has no " << Pass::kName << " pass for a convolution of " << num << " x "
                << shape.channels << " channels"
                << (options.channels_last ? " that are last; " : "; ")
                << OtherWay(options.channels_last);
    }
  }
  return plans[key] = plan;
}

bool Fits(const kernels::ConvolutionShape& shape) { return shape.axes() <= 3; }

/// Runs a pass whose output is overwritten.
template <typename Pass, typename T>
bool Compute(Stream& stream, const kernels::ConvolutionShape& shape, int num, int algorithm,
             const ConvolutionOptions& options, const T* a, const T* b, T* c) {
  // Tensor cores have no use for doubles with channels last.
  if (options.channels_last && sizeof(T) == 8) return false;
  if (!Fits(shape) || !CudnnIsInstalled()) return false;
  const Call<Pass, T> call{stream, CudnnHandle(stream), a, b, c};
  const auto plan = FindPlan<Pass, T>(shape, num, algorithm, options, call);
  if (plan->algorithm < 0) return false;
  CheckCudnn(call.Run(*plan->problem, plan->algorithm, plan->workspace), "convolving");
  return true;
}

}  // namespace

template <typename T>
bool CudnnConvolutionForward(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                             const ConvolutionOptions& options, const T* x, const T* weights,
                             T* y) {
  return Compute<Forward>(stream, shape, num, options.forward_algorithm, options, x, weights, y);
}

template <typename T>
bool CudnnConvolutionBackwardData(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                                  const ConvolutionOptions& options, const T* dy, const T* weights,
                                  T* dx) {
  return Compute<BackwardData>(stream, shape, num, options.data_algorithm, options, dy, weights,
                               dx);
}

namespace {

// cuDNN writes the gradient in the type and order of its factors: it is computed apart, then added.
template <typename T>
bool AddWeightGradient(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                       const ConvolutionOptions& options, const T* x, const T* dy, T* d_weights) {
  constexpr bool is_float = std::is_same<T, float>::value;
  if (options.channels_last && (!is_float || shape.group > 1)) return false;
  const int count = static_cast<int>(shape.weight_count());
  const Buffer<T> gradient(stream, count);
  if (!Compute<BackwardWeights>(stream, shape, num, options.weights_algorithm, options, x, dy,
                                gradient.get())) {
    return false;
  }
  if constexpr (is_float) {
    if (options.channels_last) {
      AddChannelsLastWeights(stream, shape, shape.channels, gradient.get(), d_weights);
      return true;
    }
  }
  Axpby(stream, count, T(1), static_cast<const T*>(gradient.get()), T(1), d_weights);
  return true;
}

/// How many images are widened at once: as many as fit, and divide all.
int ImagesAtOnce(const kernels::ConvolutionShape& shape, int num) {
  constexpr size_t kElements = size_t(1) << 27;
  const size_t fitting = kElements / std::max<size_t>(1, shape.input_size() + shape.output_size());
  int images = static_cast<int>(std::min<size_t>(num, std::max<size_t>(1, fitting)));
  while (num % images != 0) --images;
  return images;
}

/// The gradient has a float's range, which cuDNN has no algorithms for but those of floats. FP16
/// factors lose nothing as TF32: tensor cores compute the products.
bool AddWeightGradient(Stream& stream, const kernels::ConvolutionShape& shape, int num,
                       ConvolutionOptions options, const float16* x, const float16* dy,
                       float* d_weights) {
  if (options.weights_algorithm < 0 && options.math < 0 &&
      CudnnHalfWeightGradient(stream, shape, num, options.channels_last, x, dy, d_weights)) {
    return true;
  }
  if (options.channels_last) return false;
  if (options.math < 0) options.math = CUDNN_DEFAULT_MATH;
  const int images = ImagesAtOnce(shape, num);
  for (int n = 0; n < num; n += images) {
    const ReadAsType<float, float16> wide_x(stream, static_cast<int>(images * shape.input_size()),
                                            x + n * shape.input_size());
    const ReadAsType<float, float16> wide_dy(stream, static_cast<int>(images * shape.output_size()),
                                             dy + n * shape.output_size());
    if (!AddWeightGradient(stream, shape, images, options, wide_x.get(), wide_dy.get(),
                           d_weights)) {
      return false;  // at the first images, all are alike
    }
  }
  return true;
}

}  // namespace

template <typename T>
bool CudnnConvolutionBackwardWeights(Stream& stream, const kernels::ConvolutionShape& shape,
                                     int num, const ConvolutionOptions& options, const T* x,
                                     const T* dy, AccumulatorType<T>* d_weights) {
  if (!Fits(shape) || !CudnnIsInstalled()) return false;
  return AddWeightGradient(stream, shape, num, options, x, dy, d_weights);
}

#define INSTANTIATE(T)                                                                           \
  template bool CudnnConvolutionForward(Stream&, const kernels::ConvolutionShape&, int,          \
                                        const ConvolutionOptions&, const T*, const T*, T*);      \
  template bool CudnnConvolutionBackwardData(Stream&, const kernels::ConvolutionShape&, int,     \
                                             const ConvolutionOptions&, const T*, const T*, T*); \
  template bool CudnnConvolutionBackwardWeights(Stream&, const kernels::ConvolutionShape&, int,  \
                                                const ConvolutionOptions&, const T*, const T*,   \
                                                AccumulatorType<T>*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace caffe::cuda
