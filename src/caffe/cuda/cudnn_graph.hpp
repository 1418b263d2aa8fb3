#ifndef CAFFE_CUDA_CUDNN_GRAPH_HPP_
#define CAFFE_CUDA_CUDNN_GRAPH_HPP_

#include <cudnn.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudnn.hpp"

namespace caffe::cuda {

// cuDNN 9's graph API: a graph of operations is described, cuDNN names engines that compute it as
// one, and each of these is made into a plan that runs.

/// Something that is described to cuDNN.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const std::vector<T>& values) {
    CheckCudnn(CAFFE_CALL(Cudnn, cudnnBackendSetAttribute, get(), name, type,
                          static_cast<int64_t>(values.size()), values.data()),
               "describing an operation");
  }
  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    Set(name, type, std::vector<T>{value});
  }
  void Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }
  void Set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& others);
  /// At most `most` values.
  template <typename T>
  std::vector<T> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t most) const {
    std::vector<T> values(most);
    int64_t count = 0;
    CheckCudnn(
        CAFFE_CALL(Cudnn, cudnnBackendGetAttribute, get(), name, type, most, &count, values.data()),
        "asking cuDNN");
    values.resize(std::min(count, most));
    return values;
  }
  /// At most `most` descriptors of a type.
  std::vector<CudnnDescriptor> Get(cudnnBackendAttributeName_t name,
                                   cudnnBackendDescriptorType_t type, int64_t most) const;
  /// Throws Error where cuDNN cannot do it.
  void Finalize(const char* what);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  std::shared_ptr<void> descriptor_;
};

/// The GPU that plans are made for: that of a handle, or one that is described, which is enough to
/// make plans but not to run them.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  int device = 0;                               ///< the handle's
  std::shared_ptr<CudnnDescriptor> properties;  ///< where there is no handle

  /// `json` as cuDNN writes a device's properties.
  static CudnnTarget Described(const std::string& json);
};

/// A target for the calling thread alone while this lives: cuDNN's handles are for one thread at a
/// time. Handles are kept for the next.
class TargetOfThread {
 public:
  TargetOfThread();  ///< the calling thread's GPU
  /// Like that of another thread, whose GPU becomes the calling thread's.
  explicit TargetOfThread(const CudnnTarget& like);
  ~TargetOfThread();
  TargetOfThread(const TargetOfThread&) = delete;
  TargetOfThread& operator=(const TargetOfThread&) = delete;
  const CudnnTarget& target() const { return target_; }

 private:
  void TakeHandle();

  CudnnTarget target_;
};

/// A number for each of two axes, which cuDNN has at least: those missing stand in front.
std::vector<int64_t> TwoAxes(const std::vector<int>& values, int otherwise);

/// An engine with its settings, on a graph. "28 2=21 3=0": its number, and the settings (knobs) by
/// number.
class CudnnPlan {
 public:
  /// Throws Error where the engine cannot compute the graph.
  CudnnPlan(const CudnnTarget& target, const CudnnDescriptor& configuration);
  const std::string& name() const { return name_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  /// `memory` by the tensors' numbers.
  void Execute(cudnnHandle_t handle, const std::map<int64_t, void*>& memory, void* workspace) const;

 private:
  CudnnDescriptor plan_;
  std::string name_;
  size_t workspace_bytes_ = 0;
};

/// Operations on tensors, which are numbers for those who describe them.
class CudnnGraph {
 public:
  using Tensor = int64_t;
  static constexpr Tensor kNone = -1;
  static constexpr int64_t kAlignment = 16;  ///< bytes

  /// Memory of the device at a multiple of kAlignment.
  Tensor Memory(cudnnDataType_t type, const std::vector<int64_t>& extents,
                const std::vector<int64_t>& strides);
  /// A float of the host, with as many axes as the tensors that it meets.
  Tensor Number(size_t axes);

  struct Convolution {
    std::vector<int64_t> stride, pad, dilation;
    cudnnDataType_t sums;
  };
  /// The result has the extents and strides of `like`, and `type`.
  Tensor Convolve(Tensor x, Tensor weights, const Convolution& convolution, cudnnDataType_t type,
                  Tensor like);

  /// The gradient, as floats, of the weights of a convolution of x, of whose results dy is the
  /// gradient. It has the extents and strides of `like`.
  Tensor DifferentiateWeights(Tensor x, Tensor dy, const Convolution& convolution, Tensor like);

  struct Function {
    cudnnPointwiseMode_t mode;
    /// Attributes that are not the mode's defaults.
    std::map<cudnnBackendAttributeName_t, double> numbers;
  };
  /// A function of a, and b unless that is kNone, computed in float; shaped as a. Of a NaN maxima
  /// and minima are asked to be NaN.
  Tensor Apply(const Function& function, Tensor a, Tensor b = kNone);

  /// What the last operation makes becomes `y`, memory.
  void WriteTo(Tensor y);

  /// Ends the description. Throws Error where it makes no sense to cuDNN.
  void Finalize(const CudnnTarget& target);

  /// Plans for the engines that cuDNN proposes, the best guess first, `most` at most. Those that
  /// `rejects` by their notes, need more than `most_workspace` bytes or cannot be made are left
  /// out. Threads make them together: cuDNN compiles many of them, which takes up to a second each.
  using Notes = std::set<cudnnBackendNumericalNote_t>;
  std::vector<CudnnPlan> Plans(const CudnnTarget& target,
                               const std::function<bool(const Notes&)>& rejects,
                               size_t most_workspace, size_t most) const;
  /// The plan of that name. Throws Error where there is none, or Plans would leave it out by its
  /// notes.
  CudnnPlan PlanNamed(const CudnnTarget& target, const std::string& name,
                      const std::function<bool(const Notes&)>& rejects) const;

 private:
  /// PlanNamed for each of these, in threads of their own; nothing where there is none.
  std::vector<std::optional<CudnnPlan>> PlansNamed(
      const CudnnTarget& target, const std::vector<std::string>& names,
      const std::function<bool(const Notes&)>& rejects) const;

  struct TensorFacts {
    cudnnDataType_t type;
    std::vector<int64_t> extents, strides;
    bool is_virtual = false, is_number = false;
  };
  enum class Kind { CONVOLUTION, WEIGHT_GRADIENT, FUNCTION };
  struct Operation {
    Kind kind;
    Tensor x, b, y;
    Convolution convolution;
    Function function;
  };
  CudnnDescriptor Describe(Tensor tensor) const;
  Tensor Between(cudnnDataType_t type, Tensor like);

  std::vector<TensorFacts> tensors_;
  std::vector<Operation> operations_;
  std::shared_ptr<CudnnDescriptor> graph_;
};

}  // namespace caffe::cuda

#endif  // CAFFE_CUDA_CUDNN_GRAPH_HPP_
