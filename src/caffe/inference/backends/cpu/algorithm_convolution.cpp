#include "algorithm_convolution.hpp"

#include "caffe/blob.hpp"
#include "caffe/error.hpp"

namespace caffe::inference::cpu {
namespace {

class AlgorithmConvolutionStep : public ConvolutionStep {
 public:
  AlgorithmConvolutionStep(const AlgorithmConvolution& implementation, const Graph& graph,
                           const Node& node)
      : ConvolutionStep(node, implementation.layout(), implementation.transposed()),
        implementation_(implementation),
        built_(KernelShapeOf(graph, node)) {
    if (built_) built_num_ = graph.values[node.inputs[0]].shape[0];
  }

  size_t scratch_bytes() const override { return algorithm_->scratch_bytes(); }
  void Run(void* scratch) override {
    algorithm_->Run(NumbersOf(x_), {weights(), bias()}, Post(), scratch, Target());
  }

 private:
  void Prepare(const kernels::ConvolutionShape& shape) override {
    Require(implementation_.TakesBlobs(x_, y_, residual_), "its blobs are ", Name(x_.type), " and ",
            Name(y_.type), ", its residual ", Name(residual_.type),
            ", which its kernels do not take");
    Require(built_.has_value(), "it was not built for a convolution");
    algorithm_ = implementation_.Plan(node_, {shape,
                                              x_.shape[0],
                                              x_.plain(),
                                              {x_.stride, y_.stride, residual_.stride},
                                              *built_,
                                              built_num_});
    Require(algorithm_ != nullptr, "there is no kernel for a bottom of shape ",
            ShapeString(x_.shape));
    RequireParameter(node_, 0, implementation_.PackedType(node_), algorithm_->packed_size());
  }

  const AlgorithmConvolution& implementation_;
  const std::optional<kernels::ConvolutionShape> built_;  // for which the weights are packed
  int built_num_ = 0;
  algorithms::AlgorithmPtr algorithm_;
};

}  // namespace

PlacedConvolution AlgorithmConvolution::Dense(const Graph& graph, const Node& node,
                                              bool plain_source) {
  const kernels::ConvolutionShape shape = *KernelShapeOf(graph, node);
  const int num = graph.values[node.inputs[0]].shape[0];
  return {shape, num, plain_source, {}, shape, num};
}

bool AlgorithmConvolution::TakesBlobs(const Operand&, const Operand& y,
                                      const Operand& residual) const {
  return !residual.data || residual.type == y.type;
}

std::vector<Constant> AlgorithmConvolution::Pack(const Graph& graph, const Node& node) const {
  const bool plain_source = graph.values[node.inputs[0]].layout == Layout::PLAIN;
  const PlacedConvolution convolution = Dense(graph, node, plain_source);
  const algorithms::AlgorithmPtr algorithm = Plan(node, convolution);
  const ElementType type = PackedType(node);
  const Constant packed = NewConstant(type, algorithm->packed_size());
  // Weights that lie wider than they are computed with are rounded all the same.
  const std::vector<float> rounded =
      type == node.math ? std::vector<float>() : RoundedTo(node.math, node.parameters[0]);
  algorithm->Pack(rounded.empty() ? node.parameters[0].floats() : rounded.data(), nullptr,
                  {Elements<void>(packed), type});
  const int outputs = convolution.shape.outputs;
  return {packed, Constant::Of({outputs}, BiasOf(node, outputs))};
}

std::unique_ptr<Step> AlgorithmConvolution::Make(const Graph& graph, const Node& node) const {
  return std::make_unique<AlgorithmConvolutionStep>(*this, graph, node);
}

}  // namespace caffe::inference::cpu
