// Layers that move elements of any type and change none: Concat and Slice along the channels,
// Flatten and Reshape. Mostly views have left them nothing to do.
#include "../moving_node.hpp"

#include <algorithm>

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "cuda_target.hpp"

namespace caffe {
namespace inference {
namespace cuda {
namespace {

/// Pieces of a part, from or to their place in those of the whole: images, or pixels.
class MovingStep : public Step {
 public:
  explicit MovingStep(const Node& node) : gathers_(node.type() != "Slice") {}

  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    binding_ = binding;
    size_t elements = 0;
    for (const Operand& part : parts()) {
      Require(part.type == whole().type && part.layout == whole().layout &&
                  part.images == whole().images,
              "parts do not lie as the whole does");
      elements += part.image;
    }
    Require(elements == whole().image, "the parts are not the whole");
  }

  void Run(void*) override {
    size_t offset = 0;
    for (const Operand& part : parts()) {
      Copy(part, offset);
      offset += part.image;
    }
  }

 private:
  const std::vector<Operand>& parts() const {
    return gathers_ ? binding_.inputs : binding_.outputs;
  }
  const Operand& whole() const { return gathers_ ? binding_.outputs[0] : binding_.inputs[0]; }

  // Parts that are views lie in their place already.
  void Copy(const Operand& part, size_t offset) const {
    const size_t size = SizeOf(part.type);
    const auto pieces = [&](const Operand& operand, char* data) {
      return caffe::cuda::Pixels{data, part.type, static_cast<int>(operand.stride), 1};
    };
    const caffe::cuda::Pixels one = pieces(part, part.as<char>());
    const caffe::cuda::Pixels place = pieces(whole(), whole().as<char>() + offset * size);
    if (one.data == place.data) return;
    caffe::cuda::CopyPixels(caffe::cuda::CurrentStream(), static_cast<int>(part.images),
                            static_cast<int>(part.image), gathers_ ? one : place,
                            gathers_ ? place : one);
  }

  const bool gathers_;
  Binding binding_;
};

/// One array becomes another.
class ReshapingStep : public Step {
 public:
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.type == y_.type && x_.bytes() == y_.bytes() && x_.layout == kPlain &&
                y_.layout == kPlain,
            "top and bottom differ in size or do not lie in Caffe's order");
  }
  void Run(void*) override {
    if (x_.data == y_.data || x_.bytes() == 0) return;
    Device::Get().CopyOnDevice(y_.data, x_.data, x_.bytes(), caffe::cuda::CurrentStream());
  }

 private:
  Operand x_, y_;
};

/// Channels of all values are their own: none of those that fill up would come to lie in between.
bool AreWhole(const Graph& graph, const Node& node, ElementType type) {
  const auto whole = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() >= 3 && shape[1] % ChannelMultiple(type) == 0;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), whole) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), whole);
}

class Family : public Implementation {
 public:
  const char* name() const override { return "move"; }

  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override {
    const bool joins = JoinsChannels(context.graph, node);
    if (!node.epilogue.empty() || !(joins || Reshapes(node))) return {};
    std::vector<Candidate> candidates;
    for (const ElementType type : context.storage) {
      if (type == ElementType::INT8 && !HaveOneRange(context, node)) continue;
      for (const Layout::Kind layout : {kLast, kPlain}) {
        if (layout == kLast && !(joins && AreWhole(context.graph, node, type))) continue;
        candidates.push_back(
            Formats(*this, node, ElementType::FLOAT, {type, layout}, {type, layout}));
      }
    }
    return candidates;
  }

  std::vector<Constant> Pack(const Graph&, const Node& node) const override {
    return node.parameters;
  }

  std::unique_ptr<Step> Make(const Graph&, const Node& node) const override {
    if (Reshapes(node)) return std::make_unique<ReshapingStep>();
    Require((node.type() == "Concat" && node.outputs.size() == 1) ||
                (node.type() == "Slice" && node.inputs.size() == 1),
            "layer '", node.name(), "' (", node.type(), ") does not only move elements");
    return std::make_unique<MovingStep>(node);
  }
};

}  // namespace

const Implementation& Moving() {
  static const Family family;
  return family;
}

}  // namespace cuda
}  // namespace inference
}  // namespace caffe
