#include "bias_correction.hpp"

#include "caffe/inference/passes/weights_by_channel.hpp"
#include "caffe/inference/quantize/weight_quantization.hpp"

namespace caffe::inference {

void CorrectBias(const Shape& input, const std::vector<float>& means, Node* node) {
  if (input.size() < 2 || node->parameters.empty() ||
      means.size() != static_cast<size_t>(input[1])) {
    return;
  }
  const Constant& weights = node->parameters[0];
  const std::vector<float> given = weights.ToVector();
  std::vector<float> lost = DequantizeWeights(node->layer, weights.shape, QuantizeWeights(*node));
  for (size_t i = 0; i < lost.size(); ++i) lost[i] = given[i] - lost[i];
  Node difference = *node;
  difference.parameters[0] = Constant::Of(weights.shape, std::move(lost));
  WeightsByChannel by_channel(difference, input[1]);
  std::vector<double> bias(by_channel.outputs(), 0);
  by_channel.ForEach(input[1], [&](size_t o, size_t c, const float* w) {
    bias[o] += static_cast<double>(*w) * means[c];
  });
  if (node->parameters.size() < 2) {
    node->parameters.push_back(
        Constant::Of({static_cast<int>(bias.size())}, std::vector<float>(bias.size(), 0.f)));
  }
  std::vector<float> sum = node->parameters[1].ToVector();
  for (size_t o = 0; o < sum.size(); ++o) sum[o] += static_cast<float>(bias[o]);
  node->parameters[1] = Constant::Of(node->parameters[1].shape, std::move(sum));
}

}  // namespace caffe::inference
