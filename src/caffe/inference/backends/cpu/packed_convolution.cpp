// Convolutions in FLOAT, FLOAT16 and BFLOAT16 by kernels/packed_convolution.hpp.
#include "caffe/kernels/packed_convolution.hpp"

#include "caffe/inference/backends/element_types.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {
namespace {

using Kernel = std::shared_ptr<const kernels::PackedConvolution>;

class PackedStep : public ConvolutionStep {
 public:
  using ConvolutionStep::ConvolutionStep;
  size_t scratch_bytes() const override {
    return kernel_->scratch_size(x_.shape[0]) * sizeof(float);
  }
  void Run(void* scratch) override {
    kernel_->Forward(x_.shape[0], NumbersOf(x_), weights(), Post(), static_cast<float*>(scratch),
                     Target());
  }

 private:
  void Prepare(const kernels::ConvolutionShape& shape) override {
    kernel_ = kernels::PackedConvolution::Make(shape, !x_.blocked(), node_.math);
    Require(kernel_ != nullptr, "there is no kernel for its shape");
    Require(!residual_.data || residual_.type == y_.type, "its residual is ", Name(residual_.type),
            ", not ", Name(y_.type));
    RequireParameter(node_, 0, node_.math, kernel_->packed_size());
  }

  Kernel kernel_;
};

class Family : public Implementation {
 public:
  const char* name() const override { return "packed"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    std::vector<Candidate> candidates;
    for (const bool plain : {true, false}) {
      if (plain && (shape->channels > kPlainChannels || shape->group > 1)) continue;
      if (!kernels::PackedConvolution::Make(*shape, plain)) continue;
      for (Candidate& candidate : InFloats(*this, context, node, plain ? kPlain : kBlocked)) {
        candidates.push_back(std::move(candidate));
      }
    }
    if (candidates.empty()) context.Note(kNoKernelForShape);
    return candidates;
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(graph, node);
    const Kernel kernel = kernels::PackedConvolution::Make(*shape, input.layout == Layout::PLAIN);
    const Constant packed = NewConstant(node.math, kernel->packed_size());
    DispatchFloat(node.math, [&](auto w) {
      kernel->PackWeights(node.parameters[0].floats(), nullptr, Elements<decltype(w)>(packed));
    });
    return {packed, Constant::Of({shape->outputs}, BiasOf(node, shape->outputs))};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<PackedStep>(node);
  }
};

}  // namespace

const Implementation& PackedConvolution() {
  static const Family family;
  return family;
}

}  // namespace caffe::inference::cpu
