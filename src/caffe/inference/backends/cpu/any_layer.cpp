// A node by its Layer, in FLOAT or FLOAT16.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/integer_node.hpp"
#include "caffe/inference/graph/node_chain.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/pointwise.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

NodeLayer::Place PlaceOf(const Operand& operand) {
  Layout layout;
  if (!operand.plain()) {
    const Shape shape = ShapeByPosition(operand);
    layout = Layout::ChannelsBlocked(operand.block, shape[0], shape[1],
                                     CountOf({shape.begin() + 2, shape.end()}));
  }
  return {operand.data, operand.type, layout, false};
}

/// True if the layer computes the channels of each position by themselves: with channels last it
/// takes pixels for images, in blocks of channels.
bool ComputesByPosition(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  const Shape& shape = graph.values[node.outputs[0]].shape;
  const auto alike = [&](int value) { return graph.values[value].shape == shape; };
  if (shape.size() != 4 || !std::all_of(node.inputs.begin(), node.inputs.end(), alike)) {
    return false;
  }
  const LayerParameter& layer = node.layer;
  const std::string& type = node.type();
  const auto is_of_channels = [&](const Constant& c) { return c.shape == Shape{shape[1]}; };
  const bool by_channel =
      node.inputs.size() == 1 &&
      std::all_of(node.parameters.begin(), node.parameters.end(), is_of_channels);
  if (node.operation().activation || type == "BatchNorm" || type == "Dropout" ||
      type == "Eltwise") {
    return true;
  }
  if (type == "Scale") return by_channel && layer.scale_param().axis() == 1;
  if (type == "Bias") return by_channel && layer.bias_param().axis() == 1;
  return type == "Normalize" && !NormExtentsOf(node, shape).across_spatial;
}

/// Runs a node by its Layer: in FLOAT and Caffe's order with its whole epilogue; or in the layer's
/// own types and layouts without one (a Deconvolution's activation is applied in place).
class HostLayerStep : public LayerStep {
 public:
  /// `by_position`: its blobs may have channels last.
  HostLayerStep(const Node& node, bool by_position);

  std::vector<Shape> Reshape(const std::vector<Shape>& inputs) override {
    return chain_.Reshape(inputs);
  }
  void Bind(const Binding& binding) override;
  void Run(void* scratch) override;

  bool native() const override { return native_; }
  const Shape& top_shape(int top) override { return chain_.main().top_shape(top); }
  const float* top_data(int top) override { return chain_.main().top_data(top); }
  size_t bytes() const override { return chain_.bytes(); }

 private:
  void Finish();

  NodeChain chain_;
  std::vector<NodeLayer::Place> bottoms_, tops_;
  std::vector<NodeChain::Operand> operands_;
  std::optional<NodePostOps> finish_;  // applied in place to the layer's result
  Operand made_;
  const bool by_position_;
  bool plain_ = true;  // FLOAT in Caffe's order everywhere
  bool native_ = true;
};

HostLayerStep::HostLayerStep(const Node& node, bool by_position)
    : chain_(node), by_position_(by_position) {
  if (node.type() == "Deconvolution" && !node.epilogue.empty() && Activates(node)) {
    finish_ = PostOpsOf(node);
  }
  if (node.math == ElementType::FLOAT16) chain_.main().set_type(ElementType::FLOAT16);
}

void HostLayerStep::Bind(const Binding& binding) {
  std::vector<Shape> shapes;
  bottoms_.clear();
  tops_.clear();
  for (const std::vector<Operand>* all : {&binding.inputs, &binding.outputs}) {
    for (const Operand& operand : *all) {
      Require(!operand.channels_last() ||
                  (by_position_ && binding.inputs[0].layout == binding.outputs[0].layout),
              "its blobs are in a layout that the layer does not take");
    }
  }
  for (const Operand& input : binding.inputs) {
    shapes.push_back(ShapeByPosition(input));
    bottoms_.push_back(PlaceOf(input));
  }
  chain_.Reshape(shapes);
  for (const Operand& output : binding.outputs) tops_.push_back(PlaceOf(output));
  const auto plain = [](const NodeLayer::Place& place) {
    return place.type == ElementType::FLOAT && place.layout.kind == Layout::PLAIN;
  };
  plain_ = std::all_of(bottoms_.begin(), bottoms_.end(), plain) &&
           std::all_of(tops_.begin(), tops_.end(), plain);
  if (finish_) {
    Require(!binding.outputs.empty() && binding.outputs[0].shape.size() >= 2, "it has no channels");
    made_ = binding.outputs[0];
  }
  operands_.clear();
  for (const Operand& operand : binding.operands) {
    if (finish_) break;
    Require(plain_ && operand.type == ElementType::FLOAT && operand.plain(),
            "an epilogue is computed in FLOAT and Caffe's order only");
    operands_.push_back({operand.shape, operand.as<const float>()});
  }
}

void HostLayerStep::Finish() {
  const size_t channels = made_.shape[1], num = made_.shape[0];
  const size_t spatial = CountOf({made_.shape.begin() + 2, made_.shape.end()});
  DispatchFloat(made_.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same<T, bfloat16>::value) {
      Fail("no layer computes in ", Name(made_.type));
    } else {
      kernels::ActivateInPlace(num, channels, spatial, made_.block, finish_->activation(),
                               made_.as<T>());
    }
  });
}

void HostLayerStep::Run(void*) {
  if (!plain_) {
    native_ = chain_.main().RunPlaced(bottoms_, tops_);
    if (finish_) Finish();
    return;
  }
  std::vector<const float*> bottoms;
  std::vector<float*> tops;
  for (const NodeLayer::Place& place : bottoms_) {
    bottoms.push_back(static_cast<const float*>(place.data));
  }
  for (const NodeLayer::Place& place : tops_) tops.push_back(static_cast<float*>(place.data));
  if (!finish_) return chain_.Run(bottoms, operands_, tops);
  chain_.main().Run(bottoms, tops);
  Finish();
}

/// All values have room for blocks.
bool HaveChannels(const Graph& graph, const Node& node) {
  const auto has = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() == 4 && CountOf(shape) > 0;
  };
  return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), has) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), has);
}

constexpr size_t kSmallSoftmax = 1 << 14;  // numbers, of which oneDNN needs no less time

bool IsSmallSoftmax(const Graph& graph, const Node& node) {
  return node.type() == "Softmax" && !node.outputs.empty() &&
         CountOf(graph.values[node.outputs[0]].shape) <= kSmallSoftmax;
}

class AnyLayerImpl : public Implementation {
 public:
  const char* name() const override { return "layer"; }

  // Most layers have loops by oneDNN or BLAS; a user's own may do anything.
  bool NeedsOpenMp(const Graph& graph, const Node& node) const override {
    static const std::set<std::string> kWithout = {"ArgMax",  "DetectionOutput", "Flatten",
                                                   "Permute", "PriorBox",        "Reshape",
                                                   "Silence", "Slice",           "Split"};
    const bool is_without = kWithout.count(node.type()) > 0 || IsSmallSoftmax(graph, node);
    return !is_without || !node.epilogue.empty();
  }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Format plain = {ElementType::FLOAT, kPlain};
    std::vector<Candidate> candidates = {Formats(*this, node, ElementType::FLOAT, plain, plain)};
    const Operation* operation = OperationTable::Find(node.type());
    const bool finishes = node.type() == "Deconvolution" && Activates(node);
    if (!operation || !operation->native || operation->source ||
        !(node.epilogue.empty() || finishes)) {
      return candidates;
    }
    // Other kernels also store their results in FLOAT16, where a layer would store floats.
    if (MultipliesWeights(node) && node.type() != "Deconvolution") return candidates;
    std::vector<Layout::Kind> layouts;
    if (HaveChannels(context.graph, node)) {
      layouts.push_back(kBlocked);
      if (ComputesByPosition(context.graph, node)) layouts.push_back(kChannelsLast);
    }
    for (const Layout::Kind layout : layouts) {
      AddTyped(*operation, node, {ElementType::FLOAT, layout}, &candidates);
    }
    if (!context.Stores(ElementType::FLOAT16)) return candidates;
    layouts.push_back(kPlain);
    for (const Layout::Kind layout : layouts) {
      AddTyped(*operation, node, {ElementType::FLOAT16, layout}, &candidates);
    }
    return candidates;
  }
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override {
    if (!IsSmallSoftmax(graph, node)) {
      return std::make_unique<HostLayerStep>(node, ComputesByPosition(graph, node));
    }
    Node own = node;
    own.layer.mutable_softmax_param()->set_engine(SoftmaxParameter::CAFFE);
    return std::make_unique<HostLayerStep>(own, ComputesByPosition(graph, node));
  }

 private:
  // Blobs that the layer keeps in FLOAT stay in Caffe's order, too.
  void AddTyped(const Operation& operation, const Node& node, const Format& format,
                std::vector<Candidate>* candidates) const {
    Candidate candidate = Formats(*this, node, format.type, format, format);
    for (size_t i = 0; i < candidate.inputs.size(); ++i) {
      if (operation.IsFloatBottom(static_cast<int>(i))) candidate.inputs[i] = Format();
    }
    for (size_t i = 0; i < candidate.outputs.size(); ++i) {
      if (operation.IsFloatTop(static_cast<int>(i))) candidate.outputs[i] = Format();
    }
    candidates->push_back(candidate);
  }
};

}  // namespace

const Implementation& AnyLayer() {
  static const AnyLayerImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
