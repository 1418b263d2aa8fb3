// Deconvolutions across channels in FLOAT, FLOAT16 and BFLOAT16 by
// kernels/packed_deconvolution.hpp, in blocks of channels.
#include <utility>

#include "algorithm_convolution.hpp"

namespace caffe::inference::cpu {
namespace {

/// The convolution whose gradient a Deconvolution of this shape is.
kernels::ConvolutionShape ConvolutionOf(kernels::ConvolutionShape shape) {
  std::swap(shape.channels, shape.outputs);
  std::swap(shape.input, shape.output);
  return shape;
}

class PackedDeconvolutionImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "packed_deconvolution"; }
  bool transposed() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (node.type() != "Deconvolution" || node.integers || !Activates(node)) {
      return context.None("is for Deconvolutions of floats with what kernels can fuse");
    }
    const auto shape = KernelShapeOf(context.graph, node);
    if (!shape || node.parameters.empty() || !Plan(node, Dense(context.graph, node, false))) {
      return context.None(kNoKernelForShape);
    }
    return InFloats(*this, context, node, kBlocked);
  }

  // What computes each channel by itself keeps its weights in another type, and images in one
  // piece.
  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    if (c.plain_source || c.shape.is_depthwise()) return nullptr;
    return algorithms::PackedDeconvolution(ConvolutionOf(c.shape), c.num, node.math);
  }
};

}  // namespace

const Implementation& PackedDeconvolution() {
  static const PackedDeconvolutionImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
