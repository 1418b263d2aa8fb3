// Convolutions of 8-bit integers that backends/joined_layers.cpp has joined, by
// kernels/int8_chain.hpp: the same bits as those of "int8", one behind another.
#include "caffe/kernels/int8_chain.hpp"

#include <memory>
#include <string>

#include "caffe/blob.hpp"
#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "integer_rescaling.hpp"
#include "joined_step.hpp"

namespace caffe::inference::cpu {
namespace {

using Chain = std::shared_ptr<const kernels::Int8Chain>;

/// For weights that allow products of bytes without VNNI (implementation "int8_small_pairs").
constexpr char kSmallPairs[] = "small_pairs";

/// Null where there is no kernel.
Chain ChainOf(const std::vector<kernels::ConvolutionShape>& shapes, const std::string& variant) {
  std::vector<kernels::Int8Chain::Link> links;
  for (const kernels::ConvolutionShape& shape : shapes) {
    links.push_back({shape, variant == kSmallPairs && !shape.is_depthwise()});
  }
  return kernels::Int8Chain::Make(links);
}

/// How the bottoms of the layers behind the first are stored.
std::vector<const Epilogue*> Between(const Node& node) {
  std::vector<const Epilogue*> between;
  for (const Epilogue& step : node.epilogue) {
    if (MultipliesWeights(step)) between.push_back(&step);
  }
  return between;
}

class Int8ChainStep : public JoinedStep {
 public:
  explicit Int8ChainStep(const Node& node) : JoinedStep(node), between_(Between(node)) {
    const std::string variant = VariantOf(node);
    Require(variant.empty() || variant == kSmallPairs,
            "implementation 'int8_chain' has no variant '", variant,
            "': was the plan built by another version?");
  }

  size_t scratch_bytes() const override { return chain_->scratch_bytes(x_.shape[0]); }

  void Run(void* scratch) override {
    chain_->Forward(x_.shape[0], NumbersOf(x_), links_, scratch, Target());
  }

 private:
  void Prepare(const std::vector<kernels::ConvolutionShape>& shapes) override {
    const Shape image(x_.shape.begin() + 1, x_.shape.end());
    if (!chain_ || image != image_) chain_ = ChainOf(shapes, VariantOf(node_));
    image_ = image;
    Require(chain_ != nullptr, "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
    scales_.clear();
    links_.clear();
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Constant>& parameters = layers_[i].parameters;
      RequireParameter(parameters, 0, ElementType::INT8, chain_->kernel(i).packed_size());
      RequireParameter(parameters, 1, ElementType::FLOAT, shapes[i].outputs);
      RequireParameter(parameters, 2, ElementType::FLOAT, shapes[i].outputs);
      const float input_scale = i == 0 ? x_.scale : between_[i - 1]->affine.scale;
      const bool is_last = i + 1 == layers_.size();
      const float output_scale = is_last ? y_.scale : between_[i]->affine.scale;
      // The scale of a sum is that of the weights times the input's.
      scales_.push_back(parameters[2].ToVector());
      for (float& scale : scales_.back()) scale *= input_scale;
      kernels::PostOps post = Post(i);
      post.scale = scales_.back().data();
      post.bias = parameters[1].floats();
      post.residual_scale = residual_.scale;
      post.factor = 1 / output_scale;
      post.zero_point = is_last ? y_.zero_point : between_[i]->affine.zero_point;
      links_.push_back({static_cast<const int8_t*>(parameters[0].data.get()), post,
                        i == 0 ? x_.zero_point : between_[i - 1]->affine.zero_point,
                        is_last ? y_.type : between_[i]->type});
    }
  }

  const std::vector<const Epilogue*> between_;
  Chain chain_;
  Shape image_;  // that it is for
  std::vector<std::vector<float>> scales_;
  std::vector<kernels::Int8Chain::Layer> links_;
};

class Int8ChainImplementation : public Implementation {
 public:
  const char* name() const override { return "int8_chain"; }
  bool has_variants() const override { return true; }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsJoined(node) || node.math != ElementType::INT8) {
      return context.None("is for convolutions in 8 bits, which a later pass joins");
    }
    const std::vector<Node> layers = JoinedLayers(node);
    const auto shapes = ShapesOfJoined(layers, context.graph.values[node.inputs[0]].shape);
    std::vector<Candidate> all;
    for (const std::string& variant : {std::string(), std::string(kSmallPairs)}) {
      if (!shapes || !ChainOf(*shapes, variant)) continue;
      if (variant == kSmallPairs && !PairsFit(layers, *shapes)) continue;
      const Format blocked = {ElementType::INT8, kBlocked};
      all.push_back(Formats(*this, node, ElementType::INT8, blocked, blocked));
      all.back().variant = variant;
    }
    return all.empty() ? context.None("has no kernel for its shapes") : all;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const std::vector<Node> layers = JoinedLayers(node);
    const std::vector<const Epilogue*> between = Between(node);
    const Value& input = graph.values[node.inputs[0]];
    const auto shapes = ShapesOfJoined(layers, input.shape);
    const Chain chain = shapes ? ChainOf(*shapes, VariantOf(node)) : nullptr;
    if (!chain) throw Unsupported("has no kernel for its shapes");
    std::vector<Constant> packed;
    for (size_t i = 0; i < layers.size(); ++i) {
      const QuantizedWeights quantized = QuantizeWeights(layers[i]);
      packed.push_back(NewConstant(ElementType::INT8, chain->kernel(i).packed_size()));
      chain->kernel(i).PackWeights(quantized.values.data(), Elements<int8_t>(packed.back()));
      packed.push_back(BiasLessZeroPoints(graph, layers[i],
                                          i == 0 ? input.affine : between[i - 1]->affine, quantized,
                                          PostOpsOf(layers[i])->residual));
      packed.push_back(Constant::Of({static_cast<int>(quantized.scales.size())}, quantized.scales));
    }
    return packed;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<Int8ChainStep>(node);
  }

 private:
  static bool PairsFit(const std::vector<Node>& layers,
                       const std::vector<kernels::ConvolutionShape>& shapes) {
    if (!kernels::HasSaturatingByteProducts()) return false;
    for (size_t i = 0; i < layers.size(); ++i) {
      const kernels::ConvolutionShape& shape = shapes[i];
      if (!shape.is_depthwise() &&
          !kernels::Int8Convolution::PairsFit(shape, /*plain_input=*/false,
                                              QuantizeWeights(layers[i]).values.data())) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace

const Implementation& Int8Chain() {
  static const Int8ChainImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
