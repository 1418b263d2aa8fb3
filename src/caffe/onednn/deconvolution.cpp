#include "linear_map.hpp"

namespace caffe::onednn {
namespace {

struct Family {
  using Forward = dnnl::deconvolution_forward;
  using BackwardData = dnnl::deconvolution_backward_data;
  using BackwardWeights = dnnl::deconvolution_backward_weights;
  static constexpr auto kAlgorithm = dnnl::algorithm::deconvolution_direct;
  static constexpr bool kWindows = true;
  static constexpr bool kByProducts = false;
};

}  // namespace

std::unique_ptr<LinearMap> Deconvolution::Make(const kernels::ConvolutionShape& shape, int num,
                                               const LinearMap::Options& options) {
  if (!HasWindows(shape, num)) return nullptr;
  return MakeOrNull(
      [&] { return LinearMapOf<Family>::Make(WindowProblem(shape, num, true), options); });
}

}  // namespace caffe::onednn
