#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_NODE_HPP_

#include <optional>
#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/fused_function.hpp"
#include "caffe/kernels/image_strides.hpp"
#include "caffe/pointwise.hpp"
#include "implementation.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// What kernels can do with a sum before they write it:
/// y = function(activation(sum + bias + residual)); one of the two does nothing.
struct FusedEpilogue {
  int residual = -1;  ///< the number of the step whose operand is added; -1: nothing is
  PointwiseActivation activation;
  std::vector<float> slopes;  ///< of PRELU: one an output, filled up to a multiple of 16

  bool activates() const {
    return activation.kind != PointwiseActivation::NONE ||
           function_.kind != kernels::FusedFunction::NONE;
  }
  /// With these slopes: good as long as they are.
  kernels::FusedFunction function() const;
  void set_function(const kernels::FusedFunction& function) { function_ = function; }

 private:
  kernels::FusedFunction function_;
};
/// Nothing where the node's epilogue is something else. Of a node that multiplies weights.
std::optional<FusedEpilogue> FusedEpilogueOf(const Node& node);
/// True if the epilogue is an activation, or empty.
bool Activates(const Node& node);

/// Of a node with channels on axis 1, one input, one output, images on axis 0; nothing for others.
std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Node& node, const Shape& input,
                                                            const Shape& output);

/// The same for the shapes that the graph has.
std::optional<kernels::ConvolutionShape> ConvolutionShapeOf(const Graph& graph, const Node& node);

/// Throws Error unless the node has a parameter of this number, type and count: of a plan that is
/// damaged anything may be missing.
void RequireParameter(const Node& node, size_t index, ElementType type, size_t count);

/// What all steps of convolutions have: places, the epilogue, parameter 1 as the bias. Channels of
/// the output and the residual lie in blocks; those of the input may.
class ConvolutionStep : public Step {
 public:
  /// Throws Error where the node is no convolution of one input, or its epilogue another one.
  explicit ConvolutionStep(const Node& node);
  void Bind(const Binding& binding) override;
  bool takes_strides() const override { return true; }

 protected:
  /// Makes the kernel. Throws Error unless the parameters are what it reads.
  virtual void Prepare(const kernels::ConvolutionShape& shape) = 0;

  const Node& node_;
  const FusedEpilogue epilogue_;
  Operand x_, y_, residual_;  // no data: there is no residual
};

/// The bias; zeros where the node has none.
std::vector<float> BiasOf(const Node& node, size_t outputs);

/// From one image to the next. `residual` may have no data.
kernels::ImageStrides StridesOf(const Operand& x, const Operand& y, const Operand& residual);

/// A candidate with all inputs in `input`, all operands and outputs in `output`.
Candidate Formats(const Implementation& implementation, const Node& node, ElementType math,
                  const Format& input, const Format& output);

/// Channels up to which a picture's input is read in Caffe's order.
constexpr int kPlainChannels = 4;

/// Elements of a constant of any type, allocated aligned and zero.
Constant NewConstant(ElementType type, size_t count);
/// To fill a constant that was just made.
template <typename T>
T* Elements(const Constant& constant) {
  return static_cast<T*>(const_cast<void*>(constant.data.get()));
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CONVOLUTION_NODE_HPP_
