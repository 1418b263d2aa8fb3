// Layers that only move elements, of any type: Concat and Slice along the channels, Flatten and
// Reshape. Views make most of them no-ops.
#include <algorithm>
#include <cstring>

#include "caffe/error.hpp"
#include "caffe/inference/backends/moving_node.hpp"
#include "caffe/kernels/parallel.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

void CopyBytes(const char* from, char* to, size_t bytes) {
  kernels::ParallelFor(bytes, 1 << 16, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

/// Elements are in Caffe's order or in whole blocks of channels: images are contiguous in both.
class PiecewiseStep : public MovingStep {
 public:
  using MovingStep::MovingStep;

 private:
  // Parts that are views lie in their place already.
  void Copy(const Operand& part, const Operand& whole, size_t offset) const override {
    const size_t size = SizeOf(part.type);
    for (size_t n = 0; n < whole.images; ++n) {
      char* one = part.as<char>() + n * part.stride * size;
      char* place = whole.as<char>() + (n * whole.stride + offset) * size;
      if (one == place) continue;
      gathers() ? CopyBytes(one, place, part.image * size)
                : CopyBytes(place, one, part.image * size);
    }
  }
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

class MovingImpl : public MovingImplBase {
 public:
  MovingImpl() : MovingImplBase(kBlocked) {}

 private:
  int ChannelMultipleOf(ElementType) const override { return ChannelBlock(); }
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
