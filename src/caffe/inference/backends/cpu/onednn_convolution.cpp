// Convolutions by oneDNN: in FLOAT, and of few weights rounded to 16 bits, between floats; and in
// BFLOAT16, which processors with AVX512-BF16 or tiles multiply faster than floats.
#include "algorithm_convolution.hpp"
#include "caffe/inference/backends/element_types.hpp"

namespace caffe::inference::cpu {
namespace {

// Weights that may lie there as floats where they were to be halves.
constexpr size_t kMaxWide = 1 << 15;

/// Between numbers of `type`, which are those of the packed weights, too.
algorithms::AlgorithmPtr PlanIn(ElementType type, const Node& node, const PlacedConvolution& c) {
  const NodePostOps post_ops = *PostOpsOf(node);
  onednn::Convolution::Options options;
  options.bias = true;
  options.residual = post_ops.residual >= 0;
  options.activation = post_ops.activation();
  options.activation.slopes = nullptr;  // those of a temporary
  options.type = options.result = type;
  onednn::ConvolutionPlaces places;
  places.source_block = c.plain_source ? 1 : ChannelBlock();
  places.target_block = ChannelBlock();
  places.strides = c.strides;
  places.packed_shape = c.packed_shape;
  places.packed_num = c.packed_num;
  return algorithms::OneDnnConvolution(c.shape, c.num, options, places);
}

constexpr char kOff[] = "is off, or not in this build";

class OneDnnImplementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "onednn"; }
  bool NeedsOpenMp(const Graph&, const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    if (!onednn::Enabled()) return context.None(kOff);
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && !algorithms::MayBePlain(shape->channels, shape->group)) continue;
      const auto algorithm = Plan(node, Dense(context.graph, node, plain));
      if (!algorithm) continue;
      for (const ElementType type : kFloatTypes) {
        if (!context.Stores(type)) continue;
        if (type != ElementType::FLOAT && algorithm->packed_size() > kMaxWide) continue;
        candidates.push_back(Formats(*this, node, type,
                                     {ElementType::FLOAT, plain ? kPlain : kBlocked},
                                     {ElementType::FLOAT, kBlocked}));
      }
    }
    if (candidates.empty()) context.Note("has no fast convolution of this shape between floats");
    return candidates;
  }

  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    return PlanIn(ElementType::FLOAT, node, c);
  }
  ElementType PackedType(const Node&) const override { return ElementType::FLOAT; }
  bool TakesBlobs(const Operand& x, const Operand& y, const Operand& residual) const override {
    return x.type == ElementType::FLOAT && y.type == ElementType::FLOAT &&
           residual.type == ElementType::FLOAT;
  }
};

class OneDnnBFloat16Implementation : public AlgorithmConvolution {
 public:
  const char* name() const override { return "onednn_bf16"; }
  bool NeedsOpenMp(const Graph&, const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!ConvolutionShapeOf(context.graph, node) || !PostOpsOf(node)) {
      return context.None(kNoConvolution);
    }
    if (!onednn::Enabled()) return context.None(kOff);
    if (!context.Stores(ElementType::BFLOAT16)) return context.None("is for blobs of BFLOAT16");
    if (!Plan(node, Dense(context.graph, node, false))) {
      return context.None("has no fast convolution of this shape in BFLOAT16");
    }
    const Format format = {ElementType::BFLOAT16, kBlocked};
    return {Formats(*this, node, ElementType::BFLOAT16, format, format)};
  }

  algorithms::AlgorithmPtr Plan(const Node& node, const PlacedConvolution& c) const override {
    return PlanIn(ElementType::BFLOAT16, node, c);
  }
  ElementType PackedType(const Node&) const override { return ElementType::BFLOAT16; }
  bool TakesBlobs(const Operand& x, const Operand& y, const Operand& residual) const override {
    return x.type == ElementType::BFLOAT16 && y.type == ElementType::BFLOAT16 &&
           (!residual.data || residual.type == ElementType::BFLOAT16);
  }
};

}  // namespace

const Implementation& OneDnnConvolution() {
  static const OneDnnImplementation implementation;
  return implementation;
}

const Implementation& OneDnnBFloat16Convolution() {
  static const OneDnnBFloat16Implementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
