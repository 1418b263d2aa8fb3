#include "linear_map.hpp"

namespace caffe::onednn {
namespace {

struct Family {
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  static constexpr bool kWindows = true;
  static constexpr bool kByProducts = false;
};

}  // namespace

bool HasWindows(const kernels::ConvolutionShape& shape, int num) {
  return shape.axes() >= 1 && shape.axes() <= 3 && num > 0 && shape.input_size() > 0 &&
         shape.output_size() > 0;
}

LinearProblem WindowProblem(const kernels::ConvolutionShape& shape, int num, bool transposed) {
  LinearProblem p;
  p.source_dims = DimsOf({num, shape.channels}, shape.input);
  p.target_dims = DimsOf({num, shape.outputs}, shape.output);
  p.outputs = transposed ? shape.channels : shape.outputs;
  // Of a transpose Caffe keeps the weights of the convolution: oneDNN sees their first two axes
  // (within a group) exchanged.
  const int rows = shape.outputs / shape.group, columns = shape.channels / shape.group;
  const bool grouped = shape.group > 1;
  p.weights_dims = grouped ? DimsOf({shape.group, rows, columns}, shape.kernel)
                           : DimsOf({rows, columns}, shape.kernel);
  if (transposed) {
    std::swap(p.source_dims, p.target_dims);
    Dims strides(p.weights_dims.size(), 1);
    for (size_t i = strides.size() - 1; i > 0; --i) {
      strides[i - 1] = strides[i] * p.weights_dims[i];
    }
    std::swap(strides[grouped], strides[grouped + 1]);
    std::swap(p.weights_dims[grouped], p.weights_dims[grouped + 1]);
    p.plain_weights = memory::desc(p.weights_dims, kFloat, strides);
  } else {
    p.plain_weights = Plain(p.weights_dims);
  }
  p.strides = DimsOf({}, shape.stride);
  p.pad = DimsOf({}, shape.pad);
  for (const int dilation : shape.dilation) p.dilation.push_back(dilation - 1);
  return p;
}

std::unique_ptr<LinearMap> Convolution::Make(const kernels::ConvolutionShape& shape, int num,
                                             const Options& options) {
  if (!HasWindows(shape, num)) return nullptr;
  return MakeOrNull(
      [&] { return LinearMapOf<Family>::Make(WindowProblem(shape, num, false), options); });
}

}  // namespace caffe::onednn
