// Convolutions in FLOAT, FLOAT16 and BFLOAT16 that backends/joined_layers.cpp has joined, by
// kernels/packed_chain.hpp: with channels last the same numbers as those of "channels_last", one
// behind another, in blocks of channels, in BFLOAT16, those of "packed_bf16" and "packed".
#include "caffe/kernels/packed_chain.hpp"

#include <memory>
#include <string>

#include "caffe/blob.hpp"
#include "caffe/core/dispatch_float.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "joined_step.hpp"
#include "tile_variants.hpp"

namespace caffe::inference::cpu {
namespace {

using PackedChainPtr = std::shared_ptr<const kernels::PackedChain>;

/// The variants but this one, which is in blocks of channels, are TileVariants.
constexpr char kInBlocks[] = "blocked";

Layout::Kind LayoutOfChain(const std::string& variant) {
  return variant == kInBlocks ? kBlocked : kChannelsLast;
}

/// Null where there is no kernel. Throws Error for a variant that is none.
PackedChainPtr PackedChainOf(const Node& node, const std::vector<kernels::ConvolutionShape>& shapes,
                             const std::string& variant) {
  const std::vector<const Epilogue*> between = BottomsBetween(node);
  std::vector<kernels::PackedChain::Link> links;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ElementType output = i < between.size() ? between[i]->type : node.math;
    if (!IsFloatType(output)) return nullptr;
    links.push_back({shapes[i], node.math, output});
    if (variant != kInBlocks) links.back().channels_last = TileShapeOf(variant);
  }
  return kernels::PackedChain::Make(links);
}

class PackedChainStep : public JoinedStep {
 public:
  explicit PackedChainStep(const Node& node) : JoinedStep(node, LayoutOfChain(VariantOf(node))) {
    Require(IsFloatType(node.math), "it does not compute in floating-point numbers");
  }

  size_t scratch_bytes() const override { return chain_->scratch_bytes(x_.shape[0]); }

  void Run(void* scratch) override {
    chain_->Forward(x_.shape[0], NumbersOf(x_), links_, scratch, Target());
  }

 private:
  void Prepare(const std::vector<kernels::ConvolutionShape>& shapes) override {
    Require(IsFloatType(x_.type) && IsFloatType(y_.type) &&
                (!residual_.data || residual_.type == y_.type),
            "its blobs are of types that kernels do not take");
    const Shape image(x_.shape.begin() + 1, x_.shape.end());
    if (!chain_ || image != image_) chain_ = PackedChainOf(node_, shapes, VariantOf(node_));
    image_ = image;
    Require(chain_ != nullptr, "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
    links_.clear();
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Constant>& parameters = layers_[i].parameters;
      RequireParameter(parameters, 0, node_.math, chain_->kernel(i).packed_size());
      RequireParameter(parameters, 1, ElementType::FLOAT, shapes[i].outputs);
      links_.push_back({{parameters[0].data.get(), parameters[0].type}, Post(i)});
      links_.back().post.bias = parameters[1].floats();
    }
  }

  PackedChainPtr chain_;
  Shape image_;  // that it is for
  std::vector<kernels::PackedChain::Layer> links_;
};

class PackedChainImplementation : public Implementation {
 public:
  const char* name() const override { return "packed_chain"; }
  bool has_variants() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Value& input = context.graph.values[node.inputs[0]];
    if (!IsJoined(node) || !IsFloatType(node.math)) {
      return context.None("is for convolutions that a later pass joins");
    }
    const auto shapes = ShapesOfJoined(JoinedLayers(node), input.shape);
    std::vector<Candidate> all;
    for (const std::string& variant :
         input.layout == kChannelsLast ? AllTileVariants() : std::vector<std::string>{kInBlocks}) {
      if (!shapes || !PackedChainOf(node, *shapes, variant)) continue;
      const Format format = {node.math, input.layout};
      all.push_back(Formats(*this, node, node.math, format, format));
      all.back().variant = variant;
    }
    return all.empty() ? context.None("has no kernel for its shapes") : all;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const std::vector<Node> layers = JoinedLayers(node);
    const auto shapes = ShapesOfJoined(layers, graph.values[node.inputs[0]].shape);
    const PackedChainPtr chain = shapes ? PackedChainOf(node, *shapes, VariantOf(node)) : nullptr;
    if (!chain) throw Unsupported("has no kernel for its shapes");
    std::vector<Constant> packed;
    for (size_t i = 0; i < layers.size(); ++i) {
      const kernels::PackedConvolution& kernel = chain->kernel(i);
      packed.push_back(NewConstant(node.math, kernel.packed_size()));
      DispatchFloat(node.math, [&](auto tag) {
        using W = decltype(tag);
        kernel.PackWeights(layers[i].parameters[0].floats(), /*scale=*/nullptr,
                           Elements<W>(packed.back()));
      });
      const int outputs = (*shapes)[i].outputs;
      packed.push_back(Constant::Of({outputs}, BiasOf(layers[i], outputs)));
    }
    return packed;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<PackedChainStep>(node);
  }
};

}  // namespace

const Implementation& PackedChain() {
  static const PackedChainImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
