#include "caffe/inference/quantize/weight_quantization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "caffe/algorithms/convolution.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/kernels/weight_pairs.hpp"
#include "caffe/operation.hpp"

namespace caffe {

using inference::CountOf;

namespace {

std::vector<float> Reciprocals(std::vector<float> values) {
  for (float& value : values) value = 1 / value;
  return values;
}

/// Rounds some of a kernel's weights, those closest to a tie, to their other neighbour, so that
/// their sum is off by half a step at most. `weights` in steps.
void KeepSum(size_t n, const float* weights, float factor, int8_t* values) {
  std::vector<std::pair<float, size_t>> off(n);
  float sum = 0;
  for (size_t i = 0; i < n; ++i) {
    off[i] = {weights[i] * factor - static_cast<float>(values[i]), i};
    sum += off[i].first;
  }
  if (!(std::abs(sum) > 0.5f)) return;  // nor where weights are not numbers
  const int sign = sum > 0 ? 1 : -1;
  const size_t flips = std::min(n, static_cast<size_t>(std::ceil(std::abs(sum) - 0.5f)));
  std::stable_sort(off.begin(), off.end(),
                   [&](const auto& a, const auto& b) { return sign * a.first > sign * b.first; });
  for (size_t i = 0; i < flips; ++i) {
    int8_t& value = values[off[i].second];
    if (value != sign * kInt8Steps) value = static_cast<int8_t>(value + sign);
  }
}

bool IsConvolution(const LayerParameter& layer, const std::vector<int>& shape) {
  return OperationTable::Of(layer.type()).weights == Operation::Weights::CONVOLUTION &&
         shape.size() > 2;
}

/// True for convolutions whose outputs read one channel, as of depthwise ones: they multiply few,
/// similar neighbours, and no other channels average out the rounding. Applied to all convolutions,
/// it improved the scores of one of two detectors and worsened those of the other.
bool MultipliesOneChannel(const LayerParameter& layer, const std::vector<int>& shape) {
  return IsConvolution(layer, shape) && shape[1] == 1;
}

using kernels::WeightPairs;

/// Weights of a filter in steps of a scale, whose pairs fit; beyond 127 steps they saturate.
struct ReducedFilter {
  std::vector<int8_t> values;
  double error = 0;  ///< the sum of the squares
};

ReducedFilter RoundFilter(const WeightPairs& pairs, size_t n, const float* weights, float scale) {
  ReducedFilter filter;
  filter.values.resize(n);
  const float factor = 1 / scale;
  for (size_t i = 0; i < n; ++i) {
    const float steps = std::clamp(weights[i] * factor, float{-kInt8Steps}, float{kInt8Steps});
    filter.values[i] = static_cast<int8_t>(std::nearbyint(steps));
  }
  pairs.ForEach([&](size_t i, size_t j) {
    int8_t &first = filter.values[i], &second = filter.values[j];
    if (WeightPairs::Fits(first, second)) return;
    // The nearest two whose sum is the limit; they have one sign.
    const float a = std::abs(weights[i]) * factor, b = std::abs(weights[j]) * factor;
    const int most = WeightPairs::kMost, sign = first > 0 ? 1 : -1;
    const int nearest = static_cast<int>(std::nearbyint((a - b + static_cast<float>(most)) / 2));
    first = static_cast<int8_t>(sign * std::clamp(nearest, most - kInt8Steps, kInt8Steps));
    second = static_cast<int8_t>(sign * most - first);
  });
  for (size_t i = 0; i < n; ++i) {
    const double off = weights[i] - double{scale} * filter.values[i];
    filter.error += off * off;
  }
  return filter;
}

/// Makes the pairs of a rounded filter fit; where not all do, with a scale of its own: larger ones
/// are tried until the error grows.
void ReduceRange(const WeightPairs& pairs, size_t n, const float* weights, float* scale,
                 int8_t* values) {
  constexpr float kStep = 1.05f;
  if (pairs.AllFit(values)) return;
  ReducedFilter best = RoundFilter(pairs, n, weights, *scale);
  const float most = 2 * *scale;
  for (float tried = *scale * kStep; tried < most; tried *= kStep) {
    ReducedFilter filter = RoundFilter(pairs, n, weights, tried);
    if (filter.error >= best.error) break;
    best = std::move(filter);
    *scale = tried;
  }
  std::copy(best.values.begin(), best.values.end(), values);
}

/// The pairs of a convolution's filter; few channels are read in Caffe's order.
WeightPairs PairsOf(const LayerParameter& layer, const std::vector<int>& shape) {
  const ConvolutionParameter& convolution = layer.convolution_param();
  const int dilations = convolution.dilation_size();
  return WeightPairs(shape[1], {shape.begin() + 2, shape.end()},
                     dilations > 0 ? convolution.dilation(dilations - 1) : 1,
                     algorithms::MayBePlain(shape[1], convolution.group()));
}

bool HasPairs(const LayerParameter& layer, const std::vector<int>& shape) {
  const bool one_image_channel =
      layer.type() == "Convolution" && layer.convolution_param().group() <= 1;
  return IsConvolution(layer, shape) && (shape[1] > 1 || one_image_channel);
}

}  // namespace

bool HasWeightScales(const std::string& type) {
  return OperationTable::Of(type).weights != Operation::Weights::NONE;
}

WeightChannels WeightChannelsOf(const LayerParameter& layer, const std::vector<int>& shape) {
  WeightChannels view;
  const size_t count = CountOf(shape);
  if (layer.type() == "InnerProduct") {
    view.channels = layer.inner_product_param().num_output();
    size_t& rest = layer.inner_product_param().transpose() ? view.outer : view.inner;
    rest = count / std::max<size_t>(view.channels, 1);
  } else if (layer.type() == "Deconvolution") {
    const size_t inputs = shape.empty() ? 0 : shape[0];
    view.groups = std::max<size_t>(layer.convolution_param().group(), 1);
    view.outer = inputs / view.groups;
    view.channels = layer.convolution_param().num_output() / view.groups;
    view.inner = count / std::max<size_t>(inputs * view.channels, 1);
  } else {
    view.channels = layer.convolution_param().num_output();
    // Depthwise layers may omit it: they have as many outputs as inputs.
    if (view.channels == 0 && !shape.empty()) view.channels = shape[0];
    view.inner = count / std::max<size_t>(view.channels, 1);
  }
  Require(count > 0 && view.outputs() * view.outer * view.inner == count, "layer '", layer.name(),
          "' (", layer.type(), "): its ", count, " weights do not fall into ", view.outputs(),
          " output channels");
  return view;
}

std::vector<float> WeightScales(const LayerParameter& layer, const std::vector<int>& shape,
                                const float* weights) {
  const WeightChannels view = WeightChannelsOf(layer, shape);
  std::vector<float> scales(view.outputs());
  const bool finite = kernels::LargestPerChannel(view.groups, view.outer, view.channels, view.inner,
                                                 weights, scales.data());
  Require(finite, "layer '", layer.name(), "' (", layer.type(),
          "): there are NaN or infinities among the weights");
  for (float& scale : scales) {
    scale /= kInt8Steps;
    if (scale < std::numeric_limits<float>::min()) scale = 1;
  }
  return scales;
}

QuantizedWeights QuantizeWeights(const LayerParameter& layer, const std::vector<int>& shape,
                                 const float* weights, bool reduce_range) {
  const WeightChannels view = WeightChannelsOf(layer, shape);
  QuantizedWeights quantized;
  quantized.scales = WeightScales(layer, shape, weights);
  quantized.values.resize(CountOf(shape));
  kernels::QuantizeChannels(view.groups, view.outer, view.channels, view.inner,
                            Reciprocals(quantized.scales).data(), weights, quantized.values.data());
  if (reduce_range && HasPairs(layer, shape)) {
    const WeightPairs pairs = PairsOf(layer, shape);
    kernels::ParallelFor(view.outputs(), 1, [&](size_t begin, size_t end) {
      for (size_t o = begin; o < end; ++o) {
        ReduceRange(pairs, view.inner, weights + o * view.inner, &quantized.scales[o],
                    quantized.values.data() + o * view.inner);
      }
    });
    return quantized;
  }
  if (!MultipliesOneChannel(layer, shape)) return quantized;
  const size_t taps = CountOf({shape.begin() + 2, shape.end()});
  for (size_t first = 0; taps > 1 && first < quantized.values.size(); first += taps) {
    const float factor = 1 / quantized.scales[first / view.inner];
    KeepSum(taps, weights + first, factor, quantized.values.data() + first);
  }
  return quantized;
}

void RoundWithinRange(const LayerParameter& layer, const std::vector<int>& shape,
                      const float* weights, float scale, int8_t* values) {
  if (!HasPairs(layer, shape)) return;
  const size_t filter = CountOf({shape.begin() + 1, shape.end()});
  const ReducedFilter rounded = RoundFilter(PairsOf(layer, shape), filter, weights, scale);
  std::copy(rounded.values.begin(), rounded.values.end(), values);
}

QuantizedWeights QuantizeWeights(const inference::Node& node) {
  const inference::Constant& weights = node.parameters[0];
  return QuantizeWeights(node.layer, weights.shape, weights.ToVector().data(), node.reduce_range);
}

std::vector<float> DequantizeWeights(const LayerParameter& layer, const std::vector<int>& shape,
                                     const QuantizedWeights& weights) {
  const WeightChannels view = WeightChannelsOf(layer, shape);
  std::vector<float> values(weights.values.size());
  kernels::DequantizeChannels(view.groups, view.outer, view.channels, view.inner,
                              weights.scales.data(), weights.values.data(), values.data());
  return values;
}

}  // namespace caffe
