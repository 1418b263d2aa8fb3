#include "fused_sums.hpp"

#include <utility>

#include "caffe/error.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/passes/graph_editing.hpp"
#include "caffe/inference/passes/joinable_input.hpp"

namespace caffe::inference {
namespace {

bool IsSumOfIntegers(const Node& node) {
  return node.integers && IsSum(node.layer) && node.inputs.size() == 2;
}

bool TakesSum(const Node& node, const Node& sum) {
  return IsConvolution(node) && node.integers && !FusedSumOf(node) &&
         node.integers->rounding == sum.integers->rounding;
}

/// The convolution with the sum, which reads its output as input `joined`, as its last step. The
/// order of the two terms makes no difference.
Node Joined(const Graph& graph, Node node, const Node& sum, int joined) {
  const Value& before = graph.values[sum.inputs[joined]];
  FusedSum fused;
  fused.before = before.affine;
  fused.least = node.integers->least;
  fused.most = node.integers->most;
  fused.multipliers = MultipliersOf(sum.parameters, 0, 3);
  if (joined == 1) std::swap(fused.multipliers[0], fused.multipliers[1]);
  node.integers->least = sum.integers->least;
  node.integers->most = sum.integers->most;
  node.epilogue.push_back({sum.layer, ParametersOf(fused), sum.inputs[1 - joined], before.name});
  node.epilogue.insert(node.epilogue.end(), sum.epilogue.begin(), sum.epilogue.end());
  node.outputs[0] = sum.outputs[0];
  return node;
}

}  // namespace

std::vector<Constant> ParametersOf(const FusedSum& sum) {
  std::vector<int32_t> multipliers;
  for (const kernels::Multiplier& multiplier : sum.multipliers) {
    multipliers.push_back(multiplier.value);
    multipliers.push_back(multiplier.shift);
  }
  return {
      ConstantOf(ElementType::INT32, {3, 2}, multipliers),
      ConstantOf<int32_t>(ElementType::INT32, {3}, {sum.before.zero_point, sum.least, sum.most}),
      Constant::Of({1}, {sum.before.scale})};
}

std::optional<FusedSum> FusedSumOf(const Node& node) {
  const Epilogue* const step = StepWithOperand(node);
  if (!node.integers || !step) return {};
  FusedSum sum;
  sum.multipliers = MultipliersOf(step->parameters, 0, 3);
  const int32_t* bytes = ParameterOf<int32_t>(step->parameters, 1, ElementType::INT32, 3);
  sum.before = {*ParameterOf<float>(step->parameters, 2, ElementType::FLOAT, 1), bytes[0]};
  sum.least = bytes[1];
  sum.most = bytes[2];
  return sum;
}

Graph FuseIntegerResiduals(Graph graph) {
  for (size_t i = 0; i < graph.nodes.size();) {
    const Node sum = graph.nodes[i++];
    const int joined = IsSumOfIntegers(sum) ? JoinableInput(graph, sum) : -1;
    if (joined < 0) continue;
    Node& producer = graph.nodes[PrivateProducer(graph, sum.inputs[joined])];
    if (!TakesSum(producer, sum)) continue;
    Node node = Joined(graph, producer, sum, joined);
    if (!PostOpsOf(node)) continue;
    producer = std::move(node);
    RemoveNode(static_cast<int>(--i), &graph);
  }
  return WithoutUnusedValues(std::move(graph));
}

}  // namespace caffe::inference
