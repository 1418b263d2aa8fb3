// 3x3 and 5x5 convolutions in FLOAT, FLOAT16 and BFLOAT16 by kernels/winograd.hpp. Where it meets
// an infinity or a NaN, the direct kernels compute once more: those belong to single outputs.
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/winograd.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {
namespace {

class WinogradStep : public ConvolutionStep {
 public:
  using ConvolutionStep::ConvolutionStep;
  size_t scratch_bytes() const override { return kernels::WinogradScratchSize(shape_); }

  void Run(void* scratch) override {
    if (kernels::WinogradForward(shape_, NumbersOf(x_), weights(), Post(), Target(), scratch))
      return;
    DispatchFloat(node_.math,
                  [&](auto w) { RunDirect(static_cast<const decltype(w)*>(weights().data)); });
  }

 private:
  void Prepare(const kernels::ConvolutionShape& shape) override {
    Require(kernels::HasWinograd(shape) && x_.blocked(),
            "Winograd's algorithm is not for its shape");
    Require(!residual_.data || residual_.type == y_.type, "its residual is ", Name(residual_.type),
            ", not ", Name(y_.type));
    convolution_ = shape;
    shape_ = kernels::WinogradShapeOf(shape, x_.shape[0], ChannelBlock());
    RequireParameter(node_, 0, node_.math, kernels::WinogradPackedSize(shape_));
  }

  /// Infinities and NaNs belong to single outputs.
  template <typename W>
  void RunDirect(const W* weights) {
    const auto direct = kernels::PackedConvolution::Make(convolution_, false);
    std::vector<W> plain(convolution_.weight_count()), packed(direct->packed_size());
    kernels::WinogradUnpackWeights(shape_, weights, plain.data());
    direct->PackWeights(plain.data(), nullptr, packed.data());
    std::vector<float> scratch(direct->scratch_size(shape_.num) + 16);
    const size_t past = reinterpret_cast<size_t>(scratch.data()) % 64 / sizeof(float);
    direct->Forward(shape_.num, NumbersOf(x_), packed.data(), Post(),
                    scratch.data() + (past ? 16 - past : 0), Target());
  }

  kernels::ConvolutionShape convolution_;
  kernels::WinogradShape shape_;
};

class Family : public Implementation {
 public:
  const char* name() const override { return "winograd"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const auto shape = ConvolutionShapeOf(context.graph, node);
    if (!shape || !PostOpsOf(node)) return context.None(kNoConvolution);
    if (!kernels::HasWinograd(*shape)) {
      return context.None("is for 3x3 and 5x5 kernels with stride 1, without groups");
    }
    if (shape->channels <= kPlainChannels) {
      return context.None(Join("is for more than ", kPlainChannels, " channels"));
    }
    if (context.graph.values[node.inputs[0]].shape[0] == 0) return context.None("has no images");
    return InFloats(*this, context, node, kBlocked);
  }

  std::vector<Constant> Pack(const Graph& graph, const Node& node) const override {
    const Value& input = graph.values[node.inputs[0]];
    const auto shape = ConvolutionShapeOf(graph, node);
    const kernels::WinogradShape winograd =
        kernels::WinogradShapeOf(*shape, input.shape[0], ChannelBlock());
    const Constant packed = NewConstant(node.math, kernels::WinogradPackedSize(winograd));
    DispatchFloat(node.math, [&](auto w) {
      kernels::WinogradPackWeights(winograd, node.parameters[0].floats(),
                                   Elements<decltype(w)>(packed));
    });
    return {packed, Constant::Of({shape->outputs}, BiasOf(node, shape->outputs))};
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<WinogradStep>(node);
  }
};

}  // namespace

const Implementation& WinogradConvolution() {
  static const Family family;
  return family;
}

}  // namespace caffe::inference::cpu
