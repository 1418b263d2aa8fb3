#ifndef CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_
#define CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_

#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Adds to a node's bias the mean error of its outputs when its weights are rounded to 8 bits, as
/// by QuantizeWeights, for an input of this shape whose channels (axis 1) have these means (Nagel
/// et al. 2019, arXiv:1906.04721, section 4.2). Near padded borders it corrects too much. Does
/// nothing if there is not one mean per channel.
void CorrectBias(const Shape& input, const std::vector<float>& means, Node* node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_
