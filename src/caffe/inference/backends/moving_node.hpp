#ifndef CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_

#include <memory>
#include <utility>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

// Nodes that only move elements, of any type.

/// The axis of a Concat, from the first one on.
int ConcatAxis(const Graph& graph, const Node& node);
/// True if all values have a multiple of so many channels, so that no padding comes in between.
bool HaveWholeChannels(const Graph& graph, const Node& node, int multiple);
/// True if all values have channels and axes after them.
bool HaveSpatialAxes(const Graph& graph, const Node& node);
/// A Flatten or Reshape of one value.
bool Reshapes(const Node& node);
/// True if integers stand for the same numbers in both.
bool IsSame(const Range& a, const Range& b);
/// True if the integers of all its values stand for the same numbers.
bool HaveOneRange(const LoweringContext& context, const Node& node);

/// A Concat or Slice along the channels: pieces of parts, from or to their place in those of the
/// whole. Padding of pixels (channels last) is not moved.
class MovingStep : public Step {
 public:
  explicit MovingStep(const Node& node) : gathers_(node.type() != "Slice") {}

  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override;
  void Run(void*) override;

 protected:
  /// True if parts become a whole, false if a whole becomes parts.
  bool gathers() const { return gathers_; }
  /// Elements of a piece without padding.
  static size_t LengthOf(const Operand& operand) {
    return operand.channels_last() ? operand.shape[1] : operand.image;
  }

 private:
  /// Copies a part to or from what begins at element `offset` of each piece of the whole.
  virtual void Copy(const Operand& part, const Operand& whole, size_t offset) const = 0;

  const std::vector<Operand>& parts() const {
    return gathers_ ? binding_.inputs : binding_.outputs;
  }
  const Operand& whole() const { return gathers_ ? binding_.outputs[0] : binding_.inputs[0]; }

  const bool gathers_;
  Binding binding_;
};

/// Concat, Slice, Flatten and Reshape, in Caffe's order and, along the channels, in a target's own
/// layouts.
class MovingImplBase : public Implementation {
 public:
  explicit MovingImplBase(std::vector<Layout::Kind> layouts) : layouts_(std::move(layouts)) {}
  const char* name() const override { return "move"; }
  bool Takes(const Node&) const override { return true; }
  bool TakesZeroPoints(const Node&) const override { return true; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

 private:
  /// True if its step can move channels of this type in one of the target's layouts.
  virtual bool MovesChannels(const Graph& graph, const Node& node, ElementType type,
                             Layout::Kind layout) const = 0;
  virtual std::unique_ptr<Step> MakeMoving(const Node& node) const = 0;
  virtual std::unique_ptr<Step> MakeReshaping() const = 0;

  const std::vector<Layout::Kind> layouts_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_MOVING_NODE_HPP_
