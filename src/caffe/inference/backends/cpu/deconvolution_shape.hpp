#ifndef CAFFE_INFERENCE_BACKENDS_CPU_DECONVOLUTION_SHAPE_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_DECONVOLUTION_SHAPE_HPP_

#include <optional>

#include "../convolution_node.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// ConvolutionShapeOf for a Deconvolution; weights are (channels, outputs / group, kernel...).
std::optional<kernels::ConvolutionShape> DeconvolutionShapeOf(const Node& node, const Shape& x,
                                                              const Shape& y);

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_DECONVOLUTION_SHAPE_HPP_
