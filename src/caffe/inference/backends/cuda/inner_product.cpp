// Inner products: in every type as a convolution whose kernel covers a whole item, and in FLOAT and
// FLOAT16 also by cuBLASLt, followed by bias and activation.
#include "caffe/inference/backends/inner_product_node.hpp"

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "convolution_problem.hpp"
#include "cuda_engine.hpp"

namespace caffe::inference::cuda {
namespace {

/// A row is an image that the kernel covers: channels and positions if channels are last, else one
/// position of as many channels. Not set where a row is not an image.
std::optional<kernels::ConvolutionShape> ShapeOf(const Operand& x,
                                                 const InnerProductExtents& extents) {
  kernels::ConvolutionShape shape;
  const bool last = x.layout == kLast;
  if (last && (x.shape.size() != 4 || x.shape[0] != extents.rows)) return {};
  shape.input = last ? std::vector<int>{x.shape[2], x.shape[3]} : std::vector<int>{1, 1};
  shape.channels = last ? PadChannels(x.shape[1], x.type) : extents.inputs;
  shape.outputs = extents.outputs;
  shape.group = 1;
  shape.kernel = shape.input;
  shape.output = {1, 1};
  shape.stride = shape.dilation = {1, 1};
  shape.pad = {0, 0};
  return shape;
}

/// One position: the same in both layouts; kernels prefer channels last.
caffe::cuda::ConvolutionProblem ProblemOf(const kernels::ConvolutionShape& shape, int rows) {
  caffe::cuda::ConvolutionProblem problem;
  problem.num = rows;
  problem.shape = shape;
  problem.channels_last = true;
  return problem;
}

/// Weights for rows in Caffe's order, with zeros for padding channels.
template <typename T>
std::vector<T> FillUp(const kernels::ConvolutionShape& shape, const InnerProductExtents& extents,
                      const T* weights) {
  std::vector<T> all(shape.weight_count(), T(0));
  const size_t row = all.size() / shape.outputs;
  for (int o = 0; o < extents.outputs; ++o) {
    std::copy_n(weights + size_t(o) * extents.inputs, extents.inputs, all.data() + o * row);
  }
  return all;
}

class ConvolutionOfRows : public Step {
 public:
  explicit ConvolutionOfRows(const Node& node)
      : node_(node), post_ops_(InnerProductPostOpsOf(node)) {}
  size_t scratch_bytes() const override { return way_.workspace_bytes(); }

  void Bind(const Binding& binding) override {
    const Operand& x = binding.inputs[0];
    Require(binding.outputs[0].layout == kPlain, "its top is not in Caffe's order");
    const InnerProductExtents extents = ExtentsOf(node_, x.shape, binding.outputs[0].shape);
    const auto shape = ShapeOf(x, extents);
    Require(shape.has_value(), "a row of its bottom is not an image");
    Operand y = binding.outputs[0];
    y.images = extents.rows;
    y.image = y.stride = extents.outputs;
    Operand dense = x;
    dense.images = 1;  // allocated by the runner
    way_.Bind(ProblemOf(*shape, extents.rows), node_, post_ops_, {dense, y, Operand()},
              binding.parameters);
  }
  void Run(void* scratch) override { way_.Run(scratch); }

 private:
  const Node& node_;
  const NodePostOps post_ops_;
  BoundConvolution way_;
};

class InnerProductImpl : public Implementation {
 public:
  const char* name() const override { return "inner_product"; }
  bool has_variants() const override { return true; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    if (!IsInnerProduct(context, node)) return context.None(kNoInnerProduct);
    std::vector<Candidate> candidates;
    const bool integers =
        context.Stores(ElementType::INT8) && context.ranges[node.inputs[0]].known();
    for (const Layout::Kind layout : {kLast, kPlain}) {
      for (const ElementType type : kFloatTypes) {
        if (context.Stores(type)) Add(context, node, {type, layout}, type, &candidates);
      }
      if (!integers) continue;
      Add(context, node, {ElementType::INT8, layout}, ElementType::FLOAT, &candidates);
      if (!context.ranges[node.outputs[0]].known()) continue;
      Add(context, node, {ElementType::INT8, layout}, ElementType::INT8, &candidates);
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const InnerProductExtents extents = ExtentsOf(graph, node);
    const Value& input = graph.values[node.inputs[0]];
    const NodePostOps epilogue = InnerProductPostOpsOf(node);
    const auto shape = ShapeOf(Described(input, input.shape), extents);
    const std::vector<float> weights = InnerProductWeightsOf(node, extents);
    const std::vector<float> bias = BiasOf(node, extents.outputs);
    if (node.math != ElementType::INT8) {
      return PackedParameters(node, epilogue, *shape, true, FillUp(*shape, extents, weights.data()),
                              bias);
    }
    LayerParameter layer = node.layer;
    layer.mutable_inner_product_param()->set_transpose(false);
    const QuantizedWeights quantized =
        QuantizeWeights(layer, {extents.outputs, extents.inputs}, weights.data());
    return PackedParameters(node, epilogue, *shape, true,
                            FillUp(*shape, extents, quantized.values.data()), quantized.scales,
                            input.affine.scale, bias);
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<ConvolutionOfRows>(node);
  }

 private:
  void Add(const LoweringContext& context, const Node& node, const Format& input,
           ElementType written, std::vector<Candidate>* candidates) const {
    if (!context.Wants(input.type)) return;
    Value x = context.graph.values[node.inputs[0]], y = context.graph.values[node.outputs[0]];
    if (input.layout == kLast && x.shape.size() < 2) return;
    SetFormat(CudaTarget(), input, context.ranges[node.inputs[0]], &x);
    SetFormat(CudaTarget(), {written, kPlain}, context.ranges[node.outputs[0]], &y);
    const InnerProductExtents extents = ExtentsOf(context.graph, node);
    const auto shape = ShapeOf(Described(x, x.shape), extents);
    if (!shape) return;
    caffe::cuda::ConvolutionProblem problem = ProblemOf(*shape, extents.rows);
    problem.input = x.type;
    problem.output = problem.residual = y.type;
    problem.activation = ActivationOf(InnerProductPostOpsOf(node), nullptr);
    AddVariants(problem, context.tensor_float,
                Formats(*this, node, input.type, input, {written, kPlain}), candidates);
  }
};

class GemmStep : public Step {
 public:
  explicit GemmStep(const Node& node) : node_(node), post_ops_(InnerProductPostOpsOf(node)) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.layout == kPlain && y_.layout == kPlain && x_.type == node_.math &&
                (y_.type == x_.type || y_.type == ElementType::FLOAT),
            "its blobs are in a layout that the kernel does not take");
    extents_ = ExtentsOf(node_, x_.shape, y_.shape);
    RequireParameter(node_, 0, node_.math, size_t(extents_.outputs) * extents_.inputs);
    for (size_t i = 1; i < 2 + !post_ops_.slopes.empty(); ++i) {
      RequireParameter(node_, i, ElementType::FLOAT, extents_.outputs);
    }
    parameters_ = binding.parameters;
  }

  void Run(void*) override {
    if (extents_.rows == 0) return;
    if (node_.math == ElementType::FLOAT) {
      Multiply<float, float>();
    } else if (y_.type == ElementType::FLOAT) {
      Multiply<float16, float>();
    } else {
      Multiply<float16, float16>();
    }
    Operand rows = y_;
    rows.layout = kLast;
    rows.stride = extents_.outputs;
    const caffe::cuda::Pixels y = PixelsOf(rows);
    const void* const slopes = post_ops_.slopes.empty() ? nullptr : parameters_[2];
    caffe::cuda::ApplyToPixels(caffe::cuda::CurrentStream(), extents_.rows, extents_.outputs, y,
                               nullptr, static_cast<const float*>(parameters_[1]), nullptr,
                               ActivationOf(post_ops_, slopes), y);
  }

 private:
  template <typename T, typename C>
  void Multiply() {
    caffe::cuda::Gemm<T, C>(caffe::cuda::CurrentStream(), false, true, extents_.rows,
                            extents_.outputs, extents_.inputs, 1, x_.as<const T>(),
                            static_cast<const T*>(parameters_[0]), 0, y_.as<C>());
  }

  const Node& node_;
  const NodePostOps post_ops_;
  Operand x_, y_;
  InnerProductExtents extents_;
  std::vector<const void*> parameters_;
};

class GemmImpl : public Implementation {
 public:
  const char* name() const override { return "gemm"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    return PlainInnerProducts(*this, context, node, {ElementType::FLOAT, ElementType::FLOAT16});
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const InnerProductExtents extents = ExtentsOf(graph, node);
    const std::vector<float> weights = InnerProductWeightsOf(node, extents);
    const NodePostOps epilogue = InnerProductPostOpsOf(node);
    const Constant packed = NewConstant(node.math, weights.size());
    kernels::Convert(weights.size(), ElementType::FLOAT, weights.data(), 1, 0, node.math,
                     Elements<void>(packed), 1, 0);
    std::vector<Constant> all = {packed,
                                 Constant::Of({extents.outputs}, BiasOf(node, extents.outputs))};
    if (!epilogue.slopes.empty()) {
      all.push_back(Constant::Of(
          {extents.outputs}, {epilogue.slopes.begin(), epilogue.slopes.begin() + extents.outputs}));
    }
    return all;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<GemmStep>(node);
  }
};

}  // namespace

const Implementation& InnerProduct() {
  static const InnerProductImpl implementation;
  return implementation;
}

const Implementation& Gemm() {
  static const GemmImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
