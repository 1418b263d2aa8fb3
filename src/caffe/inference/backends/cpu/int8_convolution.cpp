// Convolutions of 8-bit integers by kernels/int8_convolution.hpp: exact sums, the rest in float or,
// of nodes with `integers`, in fixed point.
#include "caffe/kernels/int8_convolution.hpp"
#include "caffe/algorithms/convolution.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "convolution_step.hpp"
#include "integer_rescaling.hpp"
#include "tile_variants.hpp"

namespace caffe::inference::cpu {
namespace {

using Int8Kernel = std::shared_ptr<const kernels::Int8Convolution>;

/// Ways to the same bits.
enum class Way {
  DEFINITION,
  SMALL_PAIRS,  ///< by products of bytes, for weights that allow it; variants: inputs are copied
  WINOGRAD,     ///< its variants are tiles of so many outputs
  CHANNELS_LAST
};

using Variants = std::vector<std::string>;
const Variants kNone = {""}, kCopies = {"", "copied"}, kTiles = {"4x4", "2x2"};

int SideOf(const std::string& variant) { return variant == "4x4" ? 4 : 2; }

/// Null where there is no kernel for the shape and the input's layout. With channels last a variant
/// is one of TileVariants.
Int8Kernel MakeKernel(Way way, const std::string& variant, const kernels::ConvolutionShape& shape,
                      bool plain_input) {
  using Kernel = kernels::Int8Convolution;
  switch (way) {
    case Way::DEFINITION:
      return Kernel::Make(shape, plain_input);
    case Way::SMALL_PAIRS:
      return Kernel::MakeForSmallPairs(shape, plain_input, variant == "copied");
    case Way::WINOGRAD:
      return plain_input ? nullptr : Kernel::MakeWinograd(shape, SideOf(variant));
    case Way::CHANNELS_LAST:
      return Kernel::MakeChannelsLast(shape, plain_input, TileShapeOf(variant));
  }
  return nullptr;
}

class Int8ConvolutionStep : public ConvolutionStep {
 public:
  Int8ConvolutionStep(Way way, const Node& node, Layout::Kind layout)
      : ConvolutionStep(node, layout), way_(way) {}
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(x_.shape[0]); }

  void Run(void* scratch) override {
    if (node_.integers) return RunIntegers(scratch);
    kernels::PostOps post = Post();
    post.scale = scales_.data();
    post.residual_scale = residual_.scale;
    post.factor = 1 / y_.scale;
    post.zero_point = y_.zero_point;
    kernel_->Forward(x_.shape[0], NumbersOf(x_), bytes(), post, scratch, Target(), x_.zero_point);
  }

 private:
  void Prepare(const kernels::ConvolutionShape& shape) override {
    kernel_ = MakeKernel(way_, VariantOf(node_), shape, x_.plain());
    Require(kernel_ != nullptr, "there is no kernel for its shape");
    RequireParameter(node_, 0, ElementType::INT8, kernel_->packed_size());
    if (node_.integers) {
      rescaling_ = RescalingOf(node_, shape.outputs, x_, y_);
      added_.Prepare(node_, y_, residual_, rescaling_);
      rows_ = kernel_->Prepare(rescaling_, y_.type, added_.get());
      return;
    }
    RequireParameter(node_, 2, ElementType::FLOAT, shape.outputs);
    // The scale of a sum is that of the weights times the input's.
    scales_ = node_.parameters[2].ToVector();
    for (float& scale : scales_) scale *= x_.scale;
  }

  void RunIntegers(void* scratch) {
    kernel_->Forward(x_.shape[0], NumbersOf(x_), bytes(), rescaling_, scratch, Target(),
                     added_.get(), rows_.get());
  }

  const int8_t* bytes() const { return static_cast<const int8_t*>(weights().data); }

  const Way way_;
  Int8Kernel kernel_;
  std::vector<float> scales_;
  kernels::Rescaling rescaling_;
  std::shared_ptr<const kernels::RescalingRows> rows_;
  AddedBytes added_;
};

class Int8ConvolutionImpl : public Implementation {
 public:
  Int8ConvolutionImpl(const char* name, Way way, const Variants& variants = kNone)
      : name_(name),
        way_(way),
        variants_(variants),
        layout_(way == Way::CHANNELS_LAST ? kChannelsLast : kBlocked) {}
  const char* name() const override { return name_; }
  bool has_variants() const override { return variants_ != kNone; }
  bool Takes(const Node& node) const override {
    return !node.integers || node.integers->weight_zero_point == 0;
  }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Graph& graph = context.graph;
    const auto shape = ConvolutionShapeOf(graph, node);
    const auto epilogue = PostOpsOf(node);
    if (!shape || !epilogue) return context.None(kNoConvolution);
    if (way_ == Way::SMALL_PAIRS && !kernels::HasSaturatingByteProducts()) {
      return context.None("is for AVX2 and AVX-512 without VNNI");
    }
    const std::string reason = context.WhyNotInt8(node.inputs[0]);
    if (!reason.empty()) return context.None(reason);
    std::vector<int8_t> rounded;  // once for all variants
    const auto weights = [&] {
      if (node.integers) return static_cast<const int8_t*>(node.parameters[0].data.get());
      if (rounded.empty()) rounded = QuantizeWeights(node).values;
      return static_cast<const int8_t*>(rounded.data());
    };
    std::vector<Candidate> candidates;
    bool has_kernel = false;
    const Variants variants = layout_ == kChannelsLast ? TileVariants(*shape) : variants_;
    for (const std::string& variant : variants) {
      for (const bool plain : {true, false}) {
        if (plain && !algorithms::MayBePlain(shape->channels, shape->group)) continue;
        if (!MakeKernel(way_, variant, *shape, plain)) continue;
        has_kernel = true;
        const std::string too_large = WhyTooLarge(variant, *shape, plain, weights);
        if (!too_large.empty()) {
          context.Note(too_large);
          continue;
        }
        for (Candidate& candidate :
             InFormats(context, node, plain ? kPlain : layout_, epilogue->residual)) {
          candidate.variant = variant;
          candidates.push_back(std::move(candidate));
        }
        // Blocks of so few channels are mostly padding, which a disturbed measurement may hide.
        if (plain) break;
      }
    }
    if (!has_kernel) context.Note(kNoKernelForShape);
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(graph, node);
    const Int8Kernel kernel =
        MakeKernel(way_, VariantOf(node), *shape, input.layout == Layout::PLAIN);
    const Constant packed = NewConstant(ElementType::INT8, kernel->packed_size());
    if (node.integers) {
      kernel->PackWeights(static_cast<const int8_t*>(node.parameters[0].data.get()),
                          Elements<int8_t>(packed));
      return PackedIntegers(graph, node, packed);
    }
    const QuantizedWeights quantized = QuantizeWeights(node);
    kernel->PackWeights(quantized.values.data(), Elements<int8_t>(packed));
    return {packed,
            BiasLessZeroPoints(graph, node, input.affine, quantized, PostOpsOf(node)->residual),
            Constant::Of({shape->outputs}, quantized.scales)};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    const std::string variant = VariantOf(node);
    Require(std::find(variants_.begin(), variants_.end(), variant) != variants_.end(), "layer '",
            node.name(), "': ", name_, " has no variant '", variant, "'");
    return std::make_unique<Int8ConvolutionStep>(way_, node, layout_);
  }

 private:
  /// Why the kernel is not for these weights, which `weights` returns; "": it is.
  template <typename Weights>
  std::string WhyTooLarge(const std::string& variant, const kernels::ConvolutionShape& shape,
                          bool plain, Weights&& weights) const {
    using Kernel = kernels::Int8Convolution;
    if (way_ == Way::WINOGRAD && variant == "4x4" &&
        !Kernel::SumsFitWinograd(shape, 4, weights())) {
      return variant + ": its weights are too large for sums of 32 bits";
    }
    if (way_ == Way::SMALL_PAIRS && !Kernel::PairsFit(shape, plain, weights())) {
      return "neighbouring weights are too large for sums of 16 bits (-reduce_range)";
    }
    return "";
  }

  /// From bytes to bytes and to floats; a residual (this step of the epilogue; -1: none) is in
  /// bytes or floats; integer-only nodes have bytes only.
  std::vector<Candidate> InFormats(const LoweringContext& context, const Node& node,
                                   Layout::Kind input, int residual) const {
    std::vector<Candidate> candidates;
    for (const ElementType type : {ElementType::INT8, ElementType::FLOAT}) {
      if (type == ElementType::INT8 && !context.ranges[node.outputs[0]].known()) continue;
      if (type != ElementType::INT8 && node.integers) continue;
      Candidate candidate =
          Formats(*this, node, ElementType::INT8, {ElementType::INT8, input}, {type, layout_});
      if (residual >= 0) {
        candidate.operands[residual] = {ElementType::FLOAT, layout_};
        if (!node.integers) candidates.push_back(candidate);
        if (!context.ranges[node.epilogue[residual].operand].known()) continue;
        candidate.operands[residual] = {ElementType::INT8, layout_};
      }
      candidates.push_back(candidate);
    }
    return candidates;
  }

  const char* const name_;
  const Way way_;
  const Variants variants_;
  const Layout::Kind layout_;
};

}  // namespace

const Implementation& Int8Convolution() {
  static const Int8ConvolutionImpl implementation("int8", Way::DEFINITION);
  return implementation;
}

const Implementation& Int8SmallPairs() {
  static const Int8ConvolutionImpl implementation("int8_small_pairs", Way::SMALL_PAIRS, kCopies);
  return implementation;
}

const Implementation& Int8Winograd() {
  static const Int8ConvolutionImpl implementation("int8_winograd", Way::WINOGRAD, kTiles);
  return implementation;
}

const Implementation& Int8ChannelsLast() {
  static const Int8ConvolutionImpl implementation("int8_channels_last", Way::CHANNELS_LAST,
                                                  AllTileVariants());
  return implementation;
}

}  // namespace caffe::inference::cpu
