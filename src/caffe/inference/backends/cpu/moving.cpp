// Layers that only move elements, of any type: Concat and Slice along the channels, Flatten and
// Reshape. Views make most of them no-ops.
#include <vector>

#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "channels_last.hpp"
#include "copy_rows.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

/// Images, or pixels, become parts of larger ones or the other way round.
class PiecewiseStep : public MovingStep {
 public:
  using MovingStep::MovingStep;

  void Bind(const Binding& binding) override {
    MovingStep::Bind(binding);
    padded_.clear();
    for (const Operand& y : binding.outputs) {
      if (y.channels_last() && y.image > LengthOf(y)) padded_.push_back(y);
    }
  }
  void Run(void* scratch) override {
    MovingStep::Run(scratch);
    for (const Operand& y : padded_) ClearPadding(y);
  }

 private:
  // Parts that are views lie in their place already.
  void Copy(const Operand& part, const Operand& whole, size_t offset) const override {
    const size_t size = SizeOf(part.type), length = LengthOf(part) * size;
    char* one = part.as<char>();
    char* place = whole.as<char>() + offset * size;
    if (one == place) return;
    const size_t one_step = part.stride * size, place_step = whole.stride * size;
    gathers() ? CopyRows(whole.images, length, one, one_step, place, place_step)
              : CopyRows(whole.images, length, place, place_step, one, one_step);
  }

  std::vector<Operand> padded_;  // outputs
};

/// The same for shapes that differ in more than the channels: one array becomes another.
class ReshapingStep : public Step {
 public:
  void Bind(const Binding& binding) override {
    binding_ = binding;
    const Operand &x = binding_.inputs[0], &y = binding_.outputs[0];
    Require(x.type == y.type && x.plain() && y.plain() && x.bytes() == y.bytes(),
            "top and bottom differ in size or do not lie in Caffe's order");
  }
  void Run(void*) override {
    const Operand &x = binding_.inputs[0], &y = binding_.outputs[0];
    if (x.data != y.data) CopyRows(1, x.bytes(), x.data, x.bytes(), y.data, x.bytes());
  }

 private:
  Binding binding_;
};

class MovingImpl : public MovingImplBase {
 public:
  MovingImpl() : MovingImplBase({kBlocked, kChannelsLast}) {}

 private:
  bool MovesChannels(const Graph& graph, const Node& node, ElementType,
                     Layout::Kind layout) const override {
    return layout == kChannelsLast ? HaveSpatialAxes(graph, node)
                                   : HaveWholeChannels(graph, node, ChannelBlock());
  }
  std::unique_ptr<Step> MakeMoving(const Node& node) const override {
    return std::make_unique<PiecewiseStep>(node);
  }
  std::unique_ptr<Step> MakeReshaping() const override { return std::make_unique<ReshapingStep>(); }
};

}  // namespace

const Implementation& Moving() {
  static const MovingImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
