// A node by its Layer, in Caffe's order: in FLOAT with all of its epilogue, or in FLOAT16 without
// one. Each runner has its own layer, which copies the parameters to the GPU once.
#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/inference/graph/node_chain.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

NodeLayer::Place PlaceOf(const Operand& operand) {
  return {operand.data, operand.type, Layout(), true};
}

class DeviceLayerStep : public LayerStep {
 public:
  explicit DeviceLayerStep(const Node& node) : chain_(node), steps_(node.epilogue.size()) {
    if (node.math == ElementType::FLOAT16) chain_.main().set_type(ElementType::FLOAT16);
  }

  std::vector<Shape> Reshape(const std::vector<Shape>& inputs) override {
    return chain_.Reshape(inputs);
  }

  void Bind(const Binding& binding) override {
    std::vector<Shape> shapes;
    bottoms_.clear();
    tops_.clear();
    operands_.clear();
    shapes_.clear();
    bool floats = true;
    const auto place = [&](const Operand& operand, std::vector<NodeLayer::Place>* places) {
      Require(operand.layout == kPlain, "its blobs are not in Caffe's order");
      floats = floats && operand.type == ElementType::FLOAT;
      places->push_back(PlaceOf(operand));
    };
    for (const Operand& input : binding.inputs) {
      shapes.push_back(input.shape);
      place(input, &bottoms_);
    }
    chain_.Reshape(shapes);
    for (const Operand& output : binding.outputs) place(output, &tops_);
    for (const Operand& operand : binding.operands) {
      place(operand, &operands_);
      shapes_.push_back(operand.shape);
    }
    Require(floats || steps_ == 0, "an epilogue is computed in FLOAT only");
    floats_ = floats;
  }

  size_t scratch_bytes() const override { return std::min<size_t>(steps_, 2) * BytesBetween(); }

  void Run(void* scratch) override {
    if (!floats_) {
      native_ = chain_.main().RunPlaced(bottoms_, tops_);
      return;
    }
    NodeLayer::Place first, second;
    first.on_device = second.on_device = true;
    first.data = scratch;
    second.data = static_cast<char*>(scratch) + (steps_ > 1 ? BytesBetween() : 0);
    chain_.RunPlaced(bottoms_, operands_, shapes_, tops_, {first, second});
  }

  bool native() const override { return native_; }
  const Shape& top_shape(int top) override { return chain_.main().top_shape(top); }
  const float* top_data(int top) override { return chain_.main().top_data_on_device(top); }
  size_t bytes() const override { return 0; }

 private:
  /// Bytes of one of the buffers between the layers, padded to their alignment.
  size_t BytesBetween() const { return kernels::RoundUp(chain_.count() * sizeof(float), 256); }

  NodeChain chain_;
  const size_t steps_;
  std::vector<NodeLayer::Place> bottoms_, tops_, operands_;
  std::vector<Shape> shapes_;  // of operands_
  bool floats_ = true;         // everywhere
  bool native_ = true;
};

class AnyLayerImpl : public Implementation {
 public:
  const char* name() const override { return "layer"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const Format floats = {ElementType::FLOAT, kPlain}, fp16 = {ElementType::FLOAT16, kPlain};
    std::vector<Candidate> candidates = {Formats(*this, node, ElementType::FLOAT, floats, floats)};
    const Operation& operation = node.operation();
    // Other kernels also store their results in FLOAT16, where a layer would store floats.
    const bool others = MultipliesWeights(node) && node.type() != "Deconvolution";
    if (!operation.native || operation.source || !node.epilogue.empty() || others ||
        !context.Stores(ElementType::FLOAT16)) {
      return candidates;
    }
    Candidate candidate = Formats(*this, node, ElementType::FLOAT16, fp16, fp16);
    for (size_t i = 0; i < candidate.inputs.size(); ++i) {
      if (operation.IsFloatBottom(static_cast<int>(i))) candidate.inputs[i] = floats;
    }
    for (size_t i = 0; i < candidate.outputs.size(); ++i) {
      if (operation.IsFloatTop(static_cast<int>(i))) candidate.outputs[i] = floats;
    }
    candidates.push_back(candidate);
    return candidates;
  }
  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    return std::make_unique<DeviceLayerStep>(node);
  }
};

}  // namespace

const Implementation& AnyLayer() {
  static const AnyLayerImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
