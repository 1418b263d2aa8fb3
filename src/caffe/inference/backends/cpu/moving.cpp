// Layers that only move elements, of any type: Concat and Slice along the channels, Flatten and
// Reshape. Views make most of them no-ops.
#include <algorithm>
#include <cstring>

#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/kernels/parallel.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

constexpr size_t kLongPiece = 1 << 16;  // bytes for a thread

void CopyBytes(const char* from, char* to, size_t bytes) {
  kernels::ParallelFor(bytes, kLongPiece, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

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
    if (one == place || length == 0) return;
    const size_t one_step = part.stride * size, place_step = whole.stride * size;
    if (length >= kLongPiece) {
      for (size_t n = 0; n < whole.images; ++n) {
        gathers() ? CopyBytes(one + n * one_step, place + n * place_step, length)
                  : CopyBytes(place + n * place_step, one + n * one_step, length);
      }
      return;
    }
    const size_t grain = std::max<size_t>(1, kLongPiece / length);
    kernels::ParallelFor(whole.images, grain, [&](size_t begin, size_t end) {
      for (size_t n = begin; n < end; ++n) {
        gathers() ? std::memcpy(place + n * place_step, one + n * one_step, length)
                  : std::memcpy(one + n * one_step, place + n * place_step, length);
      }
    });
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
    if (x.data != y.data) CopyBytes(x.as<char>(), y.as<char>(), x.bytes());
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
