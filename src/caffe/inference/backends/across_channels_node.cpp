#include "across_channels_node.hpp"

#include "caffe/error.hpp"
#include "element_types.hpp"

namespace caffe::inference {
namespace {

bool IsLrnAcross(const Node& node) {
  const LRNParameter& param = node.layer.lrn_param();
  return node.type() == "LRN" && param.local_size() % 2 == 1 &&
         param.norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS;
}

bool IsSoftmaxAcross(const Node& node) {
  const int axis = node.layer.softmax_param().axis();
  return node.type() == "Softmax" && (axis == 1 || axis == -3);
}

bool IsAcrossChannels(const Node& node) {
  return (IsLrnAcross(node) || IsSoftmaxAcross(node)) && node.inputs.size() == 1 &&
         node.outputs.size() == 1;
}

}  // namespace

std::vector<Candidate> AcrossChannelsImplBase::Candidates(const LoweringContext& context,
                                                          const Node& node) const {
  if (!IsAcrossChannels(node) || !node.epilogue.empty() ||
      context.graph.values[node.inputs[0]].shape.size() != 4) {
    return context.None("is for LRN and Softmax across channels of images");
  }
  std::vector<Candidate> candidates;
  for (const ElementType type : kFloatTypes) {
    if (!context.Stores(type)) continue;
    const Format format = {type, Layout::CHANNELS_LAST};
    candidates.push_back(Formats(*this, node, type, format, format));
  }
  return candidates;
}

std::unique_ptr<Step> AcrossChannelsImplBase::Make(const Graph&, const Node& node) const {
  Require(IsAcrossChannels(node), "layer '", node.name(), "' (", node.type(),
          ") is not an operation across channels");
  return IsLrnAcross(node) ? MakeLrn(node.layer.lrn_param()) : MakeSoftmax();
}

}  // namespace caffe::inference
