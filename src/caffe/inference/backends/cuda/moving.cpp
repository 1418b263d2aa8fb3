// Layers that only move elements, of any type: Concat and Slice along the channels, Flatten and
// Reshape. Views make most of them no-ops.
#include "caffe/inference/backends/moving_node.hpp"

#include <algorithm>

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

/// Pieces of a part, from or to their place in those of the whole: images, or pixels.
class PixelwiseStep : public MovingStep {
 public:
  using MovingStep::MovingStep;

 private:
  // Parts that are views lie in their place already.
  void Copy(const Operand& part, const Operand& whole, size_t offset) const override {
    const size_t size = SizeOf(part.type);
    const auto pieces = [&](const Operand& operand, char* data) {
      return caffe::cuda::Pixels{data, part.type, static_cast<int>(operand.stride), 1};
    };
    const caffe::cuda::Pixels one = pieces(part, part.as<char>());
    const caffe::cuda::Pixels place = pieces(whole, whole.as<char>() + offset * size);
    if (one.data == place.data) return;
    caffe::cuda::CopyPixels(caffe::cuda::CurrentStream(), static_cast<int>(part.images),
                            static_cast<int>(part.image), gathers() ? one : place,
                            gathers() ? place : one);
  }
};

/// One array becomes another.
class ReshapingStep : public Step {
 public:
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.type == y_.type && x_.bytes() == y_.bytes() && x_.layout == kPlain &&
                y_.layout == kPlain,
            "top and bottom differ in size or are not in Caffe's order");
  }
  void Run(void*) override {
    if (x_.data == y_.data || x_.bytes() == 0) return;
    Device::Get().CopyOnDevice(y_.data, x_.data, x_.bytes(), caffe::cuda::CurrentStream());
  }

 private:
  Operand x_, y_;
};

class MovingImpl : public MovingImplBase {
 public:
  MovingImpl() : MovingImplBase({kLast}) {}

 private:
  bool MovesChannels(const Graph& graph, const Node& node, ElementType type,
                     Layout::Kind) const override {
    return HaveWholeChannels(graph, node, ChannelMultiple(type));
  }
  std::unique_ptr<Step> MakeMoving(const Node& node) const override {
    return std::make_unique<PixelwiseStep>(node);
  }
  std::unique_ptr<Step> MakeReshaping() const override { return std::make_unique<ReshapingStep>(); }
};

}  // namespace

const Implementation& Moving() {
  static const MovingImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
