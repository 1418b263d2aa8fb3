#include "inner_product_node.hpp"

#include "caffe/error.hpp"

namespace caffe::inference {

InnerProductExtents ExtentsOf(const Node& node, const Shape& x, const Shape& y) {
  InnerProductExtents extents;
  extents.outputs = static_cast<int>(node.layer.inner_product_param().num_output());
  Require(extents.outputs > 0, Error::Field{"inner_product_param: num_output"},
          " must be positive");
  extents.rows = static_cast<int>(CountOf(y) / extents.outputs);
  extents.inputs = extents.rows == 0 ? 0 : static_cast<int>(CountOf(x) / extents.rows);
  return extents;
}

InnerProductExtents ExtentsOf(const Graph& graph, const Node& node) {
  return ExtentsOf(node, graph.values[node.inputs[0]].shape, graph.values[node.outputs[0]].shape);
}

bool IsInnerProduct(const LoweringContext& context, const Node& node) {
  const auto epilogue = PostOpsOf(node);
  return node.type() == "InnerProduct" && node.inputs.size() == 1 && node.outputs.size() == 1 &&
         !node.parameters.empty() && epilogue && epilogue->residual < 0 &&
         CountOf(context.graph.values[node.inputs[0]].shape) > 0;
}

std::vector<Candidate> PlainInnerProducts(const Implementation& implementation,
                                          const LoweringContext& context, const Node& node,
                                          const std::vector<ElementType>& types) {
  std::vector<Candidate> candidates;
  if (!IsInnerProduct(context, node)) return context.None(kNoInnerProduct);
  for (const ElementType type : types) {
    if (!context.Stores(type)) continue;
    const Format format = {type, Layout::PLAIN};
    candidates.push_back(Formats(implementation, node, type, format, format));
    if (type == ElementType::FLOAT) continue;
    candidates.push_back(Formats(implementation, node, type, format, Format()));
  }
  return candidates;
}

std::vector<float> InnerProductWeightsOf(const Node& node, const InnerProductExtents& extents) {
  const std::vector<float> given = node.parameters[0].ToVector();
  if (!node.layer.inner_product_param().transpose()) return given;
  std::vector<float> weights(given.size());
  for (int o = 0; o < extents.outputs; ++o) {
    for (int i = 0; i < extents.inputs; ++i) {
      weights[size_t(o) * extents.inputs + i] = given[size_t(i) * extents.outputs + o];
    }
  }
  return weights;
}

NodePostOps InnerProductPostOpsOf(const Node& node) {
  const auto epilogue = PostOpsOf(node);
  Require(node.type() == "InnerProduct" && node.inputs.size() == 1 && node.outputs.size() == 1 &&
              epilogue && epilogue->residual < 0,
          "layer '", node.name(), "' (", node.type(),
          ") is not an inner product that kernels take");
  return *epilogue;
}

}  // namespace caffe::inference
