#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_INTEGER_STEPS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_INTEGER_STEPS_HPP_

#include <memory>
#include <vector>

#include "caffe/inference/backends/integer_node.hpp"
#include "caffe/kernels/cuda/integers.hpp"
#include "caffe/syncedmem.hpp"
#include "cuda_target.hpp"

// The steps of IntegerOperation: nodes with `integers` and the parameters of
// quantize/integer_operations.hpp.
namespace caffe::inference::cuda {

/// An operand of 8-bit integers, in Caffe's order or with channels last.
caffe::cuda::Integers IntegersOf(const Operand& operand);
/// A plain one as `images` rows.
caffe::cuda::Integers RowsOf(const Operand& operand, size_t images);

/// A step whose values are all 8-bit integers.
class IntegerStep : public Step {
 public:
  explicit IntegerStep(const Node& node) : node_(node) {}
  bool takes_strides() const override { return true; }
  /// Throws Error unless all values that are read lie in 8 bits and one layout.
  void Bind(const Binding& binding) override;
  void Run(void* scratch) override {
    if (y().elements() > 0) Compute(scratch);
  }

 protected:
  virtual void Prepare() = 0;
  virtual void Compute(void* scratch) = 0;

  const Operand& x(size_t i = 0) const { return binding_.inputs[i]; }
  const Operand& y() const { return binding_.outputs[0]; }
  /// A parameter on the device; Error unless it has this type and count.
  template <typename T>
  const T* Parameter(size_t index, ElementType type, size_t count) const {
    RequireParameter(node_, index, type, count);
    return static_cast<const T*>(binding_.parameters[index]);
  }

  const Node& node_;
  Binding binding_;
};

/// The entries of a table of bytes.
constexpr size_t kTableSize = 256;

/// Softmax, LRN, Normalize, MVN.
std::unique_ptr<Step> MakeIntegerNormalization(const Node& node);
/// Interp and Resample.
std::unique_ptr<Step> MakeIntegerResizing(const Node& node);
/// Layers that move elements, in any order; Concat rescales.
std::unique_ptr<Step> MakeIntegerMoving(const Graph& graph, const Node& node);

/// Numbers that a step keeps on the device.
class DeviceNumbers {
 public:
  void Set(const std::vector<int32_t>& values);
  const int32_t* get() const { return static_cast<const int32_t*>(memory_->gpu_data()); }

 private:
  std::shared_ptr<SyncedMemory> memory_;
};

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_INTEGER_STEPS_HPP_
