#ifndef CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_
#define CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_

#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Adds to a node's bias what its outputs lose on the average when its weights are rounded to 8
/// bits, as QuantizeWeights does, for an input of this shape whose channels (axis 1) have these
/// means (Nagel et al. 2019, arXiv:1906.04721, section 4.2). Where the padding takes part it is too
/// much by its share. Nothing happens where the means are not those of the node's channels.
void CorrectBias(const Shape& input, const std::vector<float>& means, Node* node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_BIAS_CORRECTION_HPP_
