#include "inner_product_node.hpp"

#include "caffe/error.hpp"

namespace caffe::inference {

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

NodePostOps InnerProductPostOpsOf(const Node& node) {
  const auto epilogue = PostOpsOf(node);
  Require(node.type() == "InnerProduct" && node.inputs.size() == 1 && node.outputs.size() == 1 &&
              epilogue && epilogue->residual < 0,
          "layer '", node.name(), "' (", node.type(),
          ") is not an inner product that kernels take");
  return *epilogue;
}

}  // namespace caffe::inference
