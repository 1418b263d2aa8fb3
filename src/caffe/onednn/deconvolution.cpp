#include "weighted_primitive.hpp"

namespace caffe::onednn {
namespace {

struct DeconvolutionFamily {
  using Forward = dnnl::deconvolution_forward;
  using BackwardData = dnnl::deconvolution_backward_data;
  using BackwardWeights = dnnl::deconvolution_backward_weights;
  static constexpr auto kAlgorithm = dnnl::algorithm::deconvolution_direct;
  static constexpr bool kWindows = true;
  static constexpr bool kByProducts = false;
};

}  // namespace

std::unique_ptr<WeightedPrimitive> Deconvolution::Make(const kernels::ConvolutionShape& shape,
                                                       int num, const Options& options) {
  if (!HasWindows(shape, num) || options.type != ElementType::FLOAT) return nullptr;
  return MakeOrNull([&] {
    const WeightedProblem problem = WindowProblem(shape, num, true);
    return WeightedPrimitiveOf<DeconvolutionFamily>::Make(
        options, [&](const WeightedTypes&, int) { return problem; });
  });
}

}  // namespace caffe::onednn
