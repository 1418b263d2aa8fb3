#ifndef CAFFE_INFERENCE_WEIGHT_QUANTIZATION_HPP_
#define CAFFE_INFERENCE_WEIGHT_QUANTIZATION_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Maps the weights of a layer to its output channels: the blob seen as (groups, outer, channels,
/// inner), where output channel number g * channels + c has all elements with these two indices.
struct WeightChannels {
  size_t groups = 1, outer = 1, channels = 1, inner = 1;
  size_t outputs() const { return groups * channels; }
};

/// True for layers whose weights (their first blob) are quantized per output channel: Convolution,
/// Deconvolution, InnerProduct, DepthwiseConvolution and ConvolutionDepthwise.
bool HasWeightScales(const std::string& type);

/// For a layer of such a type whose first blob has this shape. Throws Error, naming the layer, if
/// the shape does not go with the layer's parameters.
WeightChannels WeightChannelsOf(const LayerParameter& layer, const std::vector<int>& shape);

/// One scale for each output channel, max|w| / 127: no weight saturates. A channel of zeros, and
/// one of numbers so small that the scale would not be a normal float, has the scale 1 and becomes
/// zeros. Throws Error, naming the layer, if weights are NaN or infinite.
std::vector<float> WeightScales(const LayerParameter& layer, const std::vector<int>& shape,
                                const float* weights);

struct QuantizedWeights {
  std::vector<int8_t> values;  ///< -127 to 127, in the order of the blob
  std::vector<float> scales;   ///< one for each output channel; the weight is scale * value
};

/// Weights rounded to the nearest multiple of their channel's scale (ties to even). In kernels of
/// convolutions whose outputs read one channel, as of depthwise ones, some weights are rounded to
/// their other neighbour, so that the sum of a kernel's weights (axes 2 and up) is off by half a
/// step at most: neighbouring pixels are similar, and their common part is multiplied by that sum
/// (Guo et al. 2022, arXiv:2202.07471).
///
/// `reduce_range`: of convolutions that are not depthwise, instead, the sum of two neighbours that
/// are multiplied side by side is -128 to 128 (kernels/weight_pairs.hpp). Where it would be more,
/// the scale of the channel is larger, by up to a factor of 2, and both weights are smaller:
/// whatever makes the sum of the squares of all errors of the channel small.
QuantizedWeights QuantizeWeights(const LayerParameter& layer, const std::vector<int>& shape,
                                 const float* weights, bool reduce_range = false);

/// Rounds the weights of one output of such a convolution with this scale: beyond 127 steps they
/// saturate, and pairs have sums of -128 to 128. Nothing for other layers.
void RoundWithinRange(const LayerParameter& layer, const std::vector<int>& shape,
                      const float* weights, float scale, int8_t* values);

/// The first parameter of a node, floats, as the node says (Node::reduce_range).
QuantizedWeights QuantizeWeights(const inference::Node& node);

/// Those weights as floats.
std::vector<float> DequantizeWeights(const LayerParameter& layer, const std::vector<int>& shape,
                                     const QuantizedWeights& weights);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_WEIGHT_QUANTIZATION_HPP_
