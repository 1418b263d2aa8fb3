#include "reorder_node.hpp"

#include "caffe/error.hpp"

namespace caffe::inference {

std::vector<Candidate> ReorderImplBase::Candidates(const LoweringContext& context,
                                                   const Node&) const {
  return context.None("is put in where two layers want a blob differently");
}

std::unique_ptr<Step> ReorderImplBase::Make(const Graph&, const Node& node) const {
  Require(node.type() == kReorder && node.inputs.size() == 1 && node.outputs.size() == 1, "layer '",
          node.name(), "' (", node.type(), ") is not a reorder");
  return MakeStep();
}

}  // namespace caffe::inference
