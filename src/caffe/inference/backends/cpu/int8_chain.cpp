// Convolutions of 8-bit integers that backends/joined_layers.cpp has joined, by
// kernels/int8_chain.hpp: the same bits as those of "int8", one behind another; the rest in float
// or, of nodes with `integers`, in fixed point.
#include "caffe/kernels/int8_chain.hpp"

#include <algorithm>
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
#include "tile_variants.hpp"

namespace caffe::inference::cpu {
namespace {

using Chain = std::shared_ptr<const kernels::Int8Chain>;

/// For weights that allow products of bytes without VNNI (implementation "int8_small_pairs").
constexpr char kSmallPairs[] = "small_pairs";

const std::vector<std::string> kOfBlocks = {"", kSmallPairs};

/// The others are TileVariants, with channels last. Throws Error for one that is none.
Layout::Kind LayoutOf(const std::string& variant) {
  if (std::find(kOfBlocks.begin(), kOfBlocks.end(), variant) != kOfBlocks.end()) return kBlocked;
  TileShapeOf(variant);
  return kChannelsLast;
}

/// Null where there is no kernel.
Chain ChainOf(const std::vector<kernels::ConvolutionShape>& shapes, const std::string& variant) {
  std::vector<kernels::Int8Chain::Link> links;
  for (const kernels::ConvolutionShape& shape : shapes) {
    links.push_back({shape, variant == kSmallPairs && !shape.is_depthwise()});
    if (LayoutOf(variant) == kChannelsLast) links.back().channels_last = TileShapeOf(variant);
  }
  return kernels::Int8Chain::Make(links);
}

/// What kernels read of signed weights.
bool HasSignedWeights(const Node& layer) {
  return !layer.integers || layer.integers->weight_zero_point == 0;
}

class Int8ChainStep : public JoinedStep {
 public:
  explicit Int8ChainStep(const Node& node) : JoinedStep(node, LayoutOf(VariantOf(node))) {
    for (const Node& layer : layers_) {
      Require(layer.integers.has_value() == node.integers.has_value() && HasSignedWeights(layer),
              "its layers do not compute alike");
    }
  }

  size_t scratch_bytes() const override { return chain_->scratch_bytes(x_.shape[0]); }

  void Run(void* scratch) override {
    const int num = x_.shape[0];
    if (node_.integers) {
      chain_->Forward(num, NumbersOf(x_), integer_links_, scratch, Target());
    } else {
      chain_->Forward(num, NumbersOf(x_), links_, scratch, Target());
    }
  }

 private:
  void Prepare(const std::vector<kernels::ConvolutionShape>& shapes) override {
    const Shape image(x_.shape.begin() + 1, x_.shape.end());
    if (!chain_ || image != image_) chain_ = ChainOf(shapes, VariantOf(node_));
    image_ = image;
    Require(chain_ != nullptr, "there is no kernel for a bottom of shape ", ShapeString(x_.shape));
    for (size_t i = 0; i < layers_.size(); ++i) {
      RequireParameter(layers_[i].parameters, 0, ElementType::INT8,
                       chain_->kernel(i).packed_size());
    }
    node_.integers ? PrepareIntegers(shapes) : PrepareFloats(shapes);
  }

  void PrepareFloats(const std::vector<kernels::ConvolutionShape>& shapes) {
    scales_.clear();
    links_.clear();
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Constant>& parameters = layers_[i].parameters;
      RequireParameter(parameters, 1, ElementType::FLOAT, shapes[i].outputs);
      RequireParameter(parameters, 2, ElementType::FLOAT, shapes[i].outputs);
      const Operand x = InputOf(i), y = OutputOf(i);
      // The scale of a sum is that of the weights times the input's.
      scales_.push_back(parameters[2].ToVector());
      for (float& scale : scales_.back()) scale *= x.scale;
      kernels::PostOps post = Post(i);
      post.scale = scales_.back().data();
      post.bias = parameters[1].floats();
      post.residual_scale = residual_.scale;
      post.factor = 1 / y.scale;
      post.zero_point = y.zero_point;
      links_.push_back({WeightsOf(i), post, x.zero_point, y.type});
    }
  }

  void PrepareIntegers(const std::vector<kernels::ConvolutionShape>& shapes) {
    rescalings_.resize(layers_.size());
    rows_.resize(layers_.size());
    integer_links_.clear();
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Operand y = OutputOf(i);
      rescalings_[i] = RescalingOf(layers_[i], shapes[i].outputs, InputOf(i), y);
      const bool is_last = i + 1 == layers_.size();
      if (is_last) added_.Prepare(layers_[i], y, residual_, rescalings_[i]);
      const kernels::Residual* const residual = is_last ? added_.get() : nullptr;
      rows_[i] = chain_->kernel(i).Prepare(rescalings_[i], y.type, residual);
      integer_links_.push_back({WeightsOf(i), &rescalings_[i], rows_[i].get(), residual, y.type});
    }
  }

  /// How a layer's bottom and top are stored, without their data.
  Operand InputOf(size_t layer) const { return layer == 0 ? x_ : Stored(*between_[layer - 1]); }
  Operand OutputOf(size_t layer) const {
    return layer == between_.size() ? y_ : Stored(*between_[layer]);
  }
  static Operand Stored(const Epilogue& step) {
    Operand operand;
    operand.type = step.type;
    operand.scale = step.affine.scale;
    operand.zero_point = step.affine.zero_point;
    return operand;
  }
  const int8_t* WeightsOf(size_t layer) const {
    return static_cast<const int8_t*>(layers_[layer].parameters[0].data.get());
  }

  Chain chain_;
  Shape image_;  // that it is for
  // In floats.
  std::vector<std::vector<float>> scales_;
  std::vector<kernels::Int8Chain::Layer> links_;
  // In integers.
  std::vector<kernels::Rescaling> rescalings_;
  std::vector<std::shared_ptr<const kernels::RescalingRows>> rows_;
  AddedBytes added_;
  std::vector<kernels::Int8Chain::IntegerLayer> integer_links_;
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
    if (!std::all_of(layers.begin(), layers.end(), HasSignedWeights)) {
      return context.None("does not take weights with a zero point");
    }
    const auto shapes = ShapesOfJoined(layers, context.graph.values[node.inputs[0]].shape);
    const Layout::Kind layout = context.graph.values[node.inputs[0]].layout;
    std::vector<Candidate> all;
    for (const std::string& variant : layout == kBlocked ? kOfBlocks : AllTileVariants()) {
      if (!shapes || !ChainOf(*shapes, variant)) continue;
      if (variant == kSmallPairs && !PairsFit(layers, *shapes)) continue;
      const Format format = {ElementType::INT8, layout};
      all.push_back(Formats(*this, node, ElementType::INT8, format, format));
      all.back().variant = variant;
    }
    return all.empty() ? context.None("has no kernel for its shapes") : all;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const std::vector<Node> layers = JoinedLayers(node);
    const std::vector<const Epilogue*> between = BottomsBetween(node);
    const Value& input = graph.values[node.inputs[0]];
    const auto shapes = ShapesOfJoined(layers, input.shape);
    const Chain chain = shapes ? ChainOf(*shapes, VariantOf(node)) : nullptr;
    if (!chain) throw Unsupported("has no kernel for its shapes");
    const AffineParameters y = graph.values[node.outputs[0]].affine;
    const bool has_slopes = std::any_of(layers.begin(), layers.end(), HasSlopes);
    std::vector<Constant> packed;  // equally many of each layer
    for (size_t i = 0; i < layers.size(); ++i) {
      const Constant weights = NewConstant(ElementType::INT8, chain->kernel(i).packed_size());
      const AffineParameters& x = i == 0 ? input.affine : between[i - 1]->affine;
      std::vector<Constant> of_layer;
      if (node.integers) {
        chain->kernel(i).PackWeights(SignedWeightsOf(layers[i]), Elements<int8_t>(weights));
        const int to = (i == between.size() ? y : between[i]->affine).zero_point;
        of_layer = PackedIntegers(layers[i], weights, x.zero_point, to, has_slopes);
      } else {
        const QuantizedWeights quantized = QuantizeWeights(layers[i]);
        chain->kernel(i).PackWeights(quantized.values.data(), Elements<int8_t>(weights));
        of_layer = {
            weights,
            BiasLessZeroPoints(graph, layers[i], x, quantized, PostOpsOf(layers[i])->residual),
            Constant::Of({static_cast<int>(quantized.scales.size())}, quantized.scales)};
      }
      packed.insert(packed.end(), of_layer.begin(), of_layer.end());
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
      if (shape.is_depthwise()) continue;
      const std::vector<int8_t> rounded =
          layers[i].integers ? std::vector<int8_t>() : QuantizeWeights(layers[i]).values;
      const int8_t* const weights =
          layers[i].integers ? SignedWeightsOf(layers[i]) : rounded.data();
      if (!kernels::Int8Convolution::PairsFit(shape, /*plain_input=*/false, weights)) return false;
    }
    return true;
  }
  /// Of an integer-only layer that is not packed yet.
  static const int8_t* SignedWeightsOf(const Node& layer) {
    return static_cast<const int8_t*>(layer.parameters[0].data.get());
  }
};

}  // namespace

const Implementation& Int8Chain() {
  static const Int8ChainImplementation implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
