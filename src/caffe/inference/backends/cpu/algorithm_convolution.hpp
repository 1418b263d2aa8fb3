#ifndef CAFFE_INFERENCE_BACKENDS_CPU_ALGORITHM_CONVOLUTION_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_ALGORITHM_CONVOLUTION_HPP_

#include "caffe/algorithms/convolution.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {

/// A convolution as an engine runs it.
struct PlacedConvolution {
  kernels::ConvolutionShape shape;  ///< KernelShapeOf
  int num = 0;
  bool plain_source = false;      ///< else channels lie in blocks, as the output's do
  kernels::ImageStrides strides;  ///< 0: images lie one behind another
  /// The sizes that the weights are packed for.
  kernels::ConvolutionShape packed_shape;
  int packed_num = 0;
};

/// Convolutions and Deconvolutions between floating-point numbers by an algorithm that layers use
/// as well.
class AlgorithmConvolution : public Implementation {
 public:
  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

  /// True if it computes Deconvolutions, false for convolutions.
  virtual bool transposed() const { return false; }
  /// The layout of the output's channels.
  virtual Layout::Kind layout() const { return kBlocked; }
  /// Null where there is none.
  virtual algorithms::AlgorithmPtr Plan(const Node& node,
                                        const PlacedConvolution& convolution) const = 0;
  /// The type in which packed weights lie.
  virtual ElementType PackedType(const Node& node) const { return node.math; }
  /// True if it reads and writes blobs of these types.
  virtual bool TakesBlobs(const Operand& x, const Operand& y, const Operand& residual) const;

 protected:
  /// The convolution of a node of the graph, dense.
  static PlacedConvolution Dense(const Graph& graph, const Node& node, bool plain_source);
};

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_ALGORITHM_CONVOLUTION_HPP_
