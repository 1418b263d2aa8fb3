// Layers that move elements of any type and change none: Concat and Slice along the channels,
// Flatten and Reshape. Mostly views have left them nothing to do.
#include <algorithm>
#include <cstring>

#include "../moving_node.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"
#include "cpu_target.hpp"

namespace caffe {
namespace inference {
namespace cpu {
namespace {

void CopyBytes(const char* from, char* to, size_t bytes) {
  kernels::ParallelFor(bytes, 1 << 16, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

/// Elements lie in Caffe's order, or in whole blocks of channels: images are pieces either way.
class MovingStep : public Step {
 public:
  explicit MovingStep(const Node& node) : gathers_(node.type() != "Slice") {}

  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    binding_ = binding;
    size_t elements = 0;
    for (const Operand& part : parts()) {
      Require(part.type == whole().type && part.blocked() == whole().blocked() &&
                  part.images == whole().images,
              "parts do not lie as the whole does");
      elements += part.image;
    }
    Require(elements == whole().image, "the parts are not the whole");
  }

  void Run(void*) override {
    size_t offset = 0;
    for (const Operand& part : parts()) {
      Copy(part, whole(), offset);
      offset += part.image;
    }
  }

 private:
  const std::vector<Operand>& parts() const {
    return gathers_ ? binding_.inputs : binding_.outputs;
  }
  const Operand& whole() const { return gathers_ ? binding_.outputs[0] : binding_.inputs[0]; }

  // Parts that are views lie in their place already.
  void Copy(const Operand& part, const Operand& whole, size_t offset) const {
    const size_t size = SizeOf(part.type);
    for (size_t n = 0; n < whole.images; ++n) {
      char* one = part.as<char>() + n * part.stride * size;
      char* place = whole.as<char>() + (n * whole.stride + offset) * size;
      if (one == place) continue;
      gathers_ ? CopyBytes(one, place, part.image * size)
               : CopyBytes(place, one, part.image * size);
    }
  }

  const bool gathers_;
  Binding binding_;
};

/// The same for shapes that differ in more than the channels: one array becomes another.
class ReshapingStep : public Step {
 public:
  void Bind(const Binding& binding) override {
    binding_ = binding;
    const Operand &x = binding_.inputs[0], &y = binding_.outputs[0];
    Require(x.type == y.type && x.bytes() == y.bytes(), "top and bottom differ in size");
  }
  void Run(void*) override {
    const Operand &x = binding_.inputs[0], &y = binding_.outputs[0];
    if (x.data != y.data) CopyBytes(x.as<char>(), y.as<char>(), x.bytes());
  }

 private:
  Binding binding_;
};

/// All values have whole blocks of channels.
bool AreWholeBlocks(const Graph& graph, const Node& node) {
  const auto whole = [&](int value) {
    const Shape& shape = graph.values[value].shape;
    return shape.size() >= 3 && shape[1] % ChannelBlock() == 0;
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
      for (const Layout::Kind layout : {kBlocked, kPlain}) {
        if (layout == kBlocked && !(joins && AreWholeBlocks(context.graph, node))) continue;
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

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
