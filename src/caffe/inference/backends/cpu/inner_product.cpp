// Inner products in every type by kernels/inner_product.hpp; for larger batches in FLOAT by the
// BLAS and in BFLOAT16 by oneDNN.
#include "caffe/kernels/inner_product.hpp"

#include <functional>
#include <optional>

#include "caffe/algorithms/inner_product.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/inner_product_node.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/parallel.hpp"
#include "cpu_target.hpp"
#include "integer_rescaling.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kMaxInputs = 66'000;  // products of 8 bits that 32 bits can add up

/// Shapes, places, epilogue, and parameter 1 as the bias.
class InnerProductStep : public Step {
 public:
  explicit InnerProductStep(const Node& node)
      : node_(node), post_ops_(InnerProductPostOpsOf(node)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.plain() && y_.plain(), "its blobs do not lie in Caffe's order");
    extents_ = ExtentsOf(node_, x_.shape, y_.shape);
    RequireParameter(node_, 1, node_.integers ? ElementType::INT32 : ElementType::FLOAT,
                     extents_.outputs);
    Prepare();
  }

 protected:
  virtual void Prepare() = 0;
  template <typename T>
  const T* weights() const {
    return static_cast<const T*>(node_.parameters[0].data.get());
  }
  const float* bias() const { return node_.parameters[1].floats(); }
  /// Of sums of floats.
  kernels::PostOps Post() const {
    kernels::PostOps post;
    post.bias = bias();
    post.activation = post_ops_.activation();
    return post;
  }

  const Node& node_;
  const NodePostOps post_ops_;
  Operand x_, y_;
  InnerProductExtents extents_;
};

using MakeAlgorithm = std::function<algorithms::AlgorithmPtr(const InnerProductExtents& extents)>;

/// Between floating-point numbers, by an algorithm that layers use as well.
class ProductStep : public InnerProductStep {
 public:
  /// `type`: the only one that it takes, if there is one.
  ProductStep(const Node& node, MakeAlgorithm make, std::optional<ElementType> type = {})
      : InnerProductStep(node), make_(std::move(make)), type_(type) {}
  size_t scratch_bytes() const override { return algorithm_->scratch_bytes(); }

  void Run(void* scratch) override {
    const kernels::Numbers values(node_.parameters[0].data.get(), node_.math);
    algorithm_->Run(NumbersOf(x_), {values, bias()}, Post(), scratch, {y_.data, y_.type});
  }

 private:
  void Prepare() override {
    for (const ElementType type : {x_.type, y_.type, node_.math}) {
      Require(!type_ || type == *type_, "its blobs are not ", Name(type_.value_or(type)));
    }
    algorithm_ = make_(extents_);
    Require(algorithm_ != nullptr, "there is no kernel for ", extents_.rows, " rows");
    RequireParameter(node_, 0, node_.math, algorithm_->packed_size());
  }

  const MakeAlgorithm make_;
  const std::optional<ElementType> type_;
  algorithms::AlgorithmPtr algorithm_;
};

MakeAlgorithm Packed(ElementType math) {
  return [=](const InnerProductExtents& e) {
    return algorithms::PackedInnerProduct(e.rows, e.inputs, e.outputs, math);
  };
}

algorithms::AlgorithmPtr MakeBlas(const InnerProductExtents& e) {
  return algorithms::BlasInnerProduct(e.rows, e.inputs, e.outputs);
}

/// For weights that are packed for the graph's batch.
MakeAlgorithm OneDnn(const Graph& graph, const Node& node) {
  onednn::InnerProduct::Options options;
  options.bias = true;
  options.activation = InnerProductPostOpsOf(node).activation();
  options.activation.slopes = nullptr;  // those of a temporary
  options.type = options.result = ElementType::BFLOAT16;
  return [options, packed_rows = ExtentsOf(graph, node).rows](const InnerProductExtents& e) {
    return algorithms::OneDnnInnerProduct(e.rows, e.inputs, e.outputs, /*transposed=*/false,
                                          Layout(), options, packed_rows);
  };
}

class Int8Step : public InnerProductStep {
 public:
  using InnerProductStep::InnerProductStep;
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(extents_.rows); }

  void Run(void* scratch) override {
    if (node_.integers) return RunIntegers(scratch);
    kernels::PostOps post = Post();
    post.scale = scales_.data();
    post.factor = 1 / y_.scale;
    post.zero_point = y_.zero_point;
    kernel_->Forward(extents_.rows, NumbersOf(x_), weights<int8_t>(), post, scratch,
                     {y_.data, y_.type});
  }

 private:
  void Prepare() override {
    kernel_.emplace(extents_.inputs, extents_.outputs);
    RequireParameter(node_, 0, ElementType::INT8, kernel_->packed_size());
    if (node_.integers) {
      rescaling_ = RescalingOf(node_, extents_.outputs, x_, y_);
      rows_ = kernel_->Prepare(rescaling_, y_.type);
      return;
    }
    RequireParameter(node_, 2, ElementType::FLOAT, extents_.outputs);
    scales_ = node_.parameters[2].ToVector();
    for (float& scale : scales_) scale *= x_.scale;
  }
  void RunIntegers(void* scratch) {
    kernel_->Forward(extents_.rows, NumbersOf(x_), weights<int8_t>(), rescaling_, scratch,
                     {y_.data, y_.type}, rows_.get());
  }

  std::optional<kernels::Int8InnerProduct> kernel_;
  std::vector<float> scales_;
  kernels::Rescaling rescaling_;
  std::shared_ptr<const kernels::RescalingRows> rows_;
};

std::vector<Constant> WithBias(const Constant& packed, const Node& node, int outputs) {
  return {packed, Constant::Of({outputs}, BiasOf(node, outputs))};
}

/// Parameters for what `make` makes.
std::vector<Constant> PackedBy(const MakeAlgorithm& make, const Graph& graph, const Node& node) {
  const InnerProductExtents extents = ExtentsOf(graph, node);
  const algorithms::AlgorithmPtr algorithm = make(extents);
  const Constant packed = NewConstant(node.math, algorithm->packed_size());
  algorithm->Pack(InnerProductWeightsOf(node, extents).data(), nullptr,
                  {Elements<void>(packed), node.math});
  return WithBias(packed, node, extents.outputs);
}

class PackedInnerProductImpl : public Implementation {
 public:
  const char* name() const override { return "inner_product"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    return PlainInnerProducts(*this, context, node,
                              {std::begin(kFloatTypes), std::end(kFloatTypes)});
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    return PackedBy(Packed(node.math), graph, node);
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<ProductStep>(node, Packed(node.math));
  }
};

class Int8InnerProductImpl : public Implementation {
 public:
  const char* name() const override { return "int8_inner_product"; }
  bool Takes(const Node& node) const override {
    return !node.integers || node.integers->weight_zero_point == 0;
  }
  bool TakesZeroPoints(const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsInnerProduct(context, node)) return context.None(kNoInnerProduct);
    const std::string reason = context.WhyNotInt8(node.inputs[0]);
    if (!reason.empty()) return context.None(reason);
    if (ExtentsOf(context.graph, node).inputs > static_cast<int>(kMaxInputs)) {
      return context.None(Join("sums up ", kMaxInputs, " inputs at most"));
    }
    const Format integers = {ElementType::INT8, kPlain};
    std::vector<Candidate> candidates;
    if (!node.integers) {
      candidates.push_back(Formats(*this, node, ElementType::INT8, integers, Format()));
    }
    if (context.ranges[node.outputs[0]].known()) {
      candidates.push_back(Formats(*this, node, ElementType::INT8, integers, integers));
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const InnerProductExtents extents = ExtentsOf(graph, node);
    if (node.integers) {
      const kernels::Int8InnerProduct kernel(extents.inputs, extents.outputs);
      const Constant packed = NewConstant(ElementType::INT8, kernel.packed_size());
      kernel.PackWeights(static_cast<const int8_t*>(node.parameters[0].data.get()),
                         Elements<int8_t>(packed));
      return PackedIntegers(graph, node, packed);
    }
    LayerParameter layer = node.layer;
    layer.mutable_inner_product_param()->set_transpose(false);
    const QuantizedWeights quantized = QuantizeWeights(layer, {extents.outputs, extents.inputs},
                                                       InnerProductWeightsOf(node, extents).data());
    const kernels::Int8InnerProduct kernel(extents.inputs, extents.outputs);
    const Constant packed = NewConstant(ElementType::INT8, kernel.packed_size());
    kernel.PackWeights(quantized.values.data(), Elements<int8_t>(packed));
    return {packed,
            BiasLessZeroPoints(graph, node, graph.values[node.inputs[0]].affine, quantized,
                               /*residual=*/-1),
            Constant::Of({extents.outputs}, quantized.scales)};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<Int8Step>(node);
  }
};

class BlasInnerProductImpl : public Implementation {
 public:
  const char* name() const override { return "blas"; }
  bool NeedsOpenMp(const Graph&, const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsInnerProduct(context, node)) return context.None(kNoInnerProduct);
    return {Formats(*this, node, ElementType::FLOAT, Format(), Format())};
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const InnerProductExtents extents = ExtentsOf(graph, node);
    return WithBias(
        Constant::Of({extents.outputs, extents.inputs}, InnerProductWeightsOf(node, extents)), node,
        extents.outputs);
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<ProductStep>(node, MakeBlas, ElementType::FLOAT);
  }
};

class OneDnnInnerProductImpl : public Implementation {
 public:
  const char* name() const override { return "onednn_bf16_inner_product"; }
  bool NeedsOpenMp(const Graph&, const Node&) const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsInnerProduct(context, node)) return context.None(kNoInnerProduct);
    if (!onednn::Enabled()) return context.None("is off, or not in this build");
    if (!context.Stores(ElementType::BFLOAT16)) return context.None("is for blobs of BFLOAT16");
    if (!OneDnn(context.graph, node)(ExtentsOf(context.graph, node))) {
      return context.None("has no fast inner product of this shape in BFLOAT16");
    }
    const Format format = {ElementType::BFLOAT16, kPlain};
    return {Formats(*this, node, ElementType::BFLOAT16, format, format)};
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    return PackedBy(OneDnn(graph, node), graph, node);
  }

  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    return std::make_unique<ProductStep>(node, OneDnn(graph, node), ElementType::BFLOAT16);
  }
};

}  // namespace

const Implementation& InnerProduct() {
  static const PackedInnerProductImpl implementation;
  return implementation;
}

const Implementation& Int8InnerProduct() {
  static const Int8InnerProductImpl implementation;
  return implementation;
}

const Implementation& BlasInnerProduct() {
  static const BlasInnerProductImpl implementation;
  return implementation;
}

const Implementation& OneDnnBFloat16InnerProduct() {
  static const OneDnnInnerProductImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
