// Convolutions in FLOAT, FLOAT16 and BFLOAT16 by kernels/packed_convolution.hpp.
#include "algorithm_convolution.hpp"

namespace caffe::inference::cpu {
namespace {

class PackedImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "packed"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && (shape->channels > algorithms::kPlainChannels || shape->group > 1)) continue;
      if (!Plan(node, Dense(context.graph, node, plain))) continue;
      for (Candidate& candidate : InFloats(*this, context, node, plain ? kPlain : kBlocked)) {
        candidates.push_back(std::move(candidate));
      }
    }
    if (candidates.empty()) context.Note(kNoKernelForShape);
    return candidates;
  }

  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    return algorithms::PackedConvolution(c.shape, c.num, c.plain_source, node.math);
  }
};

}  // namespace

const Implementation& PackedConvolution() {
  static const PackedImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
