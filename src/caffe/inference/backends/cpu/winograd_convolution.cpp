// 3x3 and 5x5 convolutions in FLOAT, FLOAT16 and BFLOAT16 by kernels/winograd.hpp.
#include "algorithm_convolution.hpp"

namespace caffe::inference::cpu {
namespace {

class WinogradImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "winograd"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    if (!kernels::HasWinograd(*shape)) {
      return context.None(
          "is for 3x3 and 5x5 kernels with stride and dilation 1, pads smaller than the kernel, "
          "and "
          "groups of whole blocks of channels");
    }
    if (shape->channels <= algorithms::kPlainChannels) {
      return context.None(Join("is for more than ", algorithms::kPlainChannels, " channels"));
    }
    if (context.graph.values[node.inputs[0]].shape[0] == 0) return context.None("has no images");
    return InFloats(*this, context, node, kBlocked);
  }

  algorithms::AlgorithmPtr Plan(const Node&, const PlacedConvolution& c) const override {
    return c.plain_source ? nullptr : algorithms::WinogradConvolution(c.shape, c.num);
  }
};

}  // namespace

const Implementation& WinogradConvolution() {
  static const WinogradImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
