#ifndef CAFFE_INFERENCE_BACKENDS_POOLING_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_POOLING_NODE_HPP_

#include <memory>
#include <utility>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

/// Maxima and means over windows, with channels in a target's own layouts, in every type that it
/// stores.
class PoolingImplBase : public Implementation {
 public:
  explicit PoolingImplBase(std::vector<Layout::Kind> layouts) : layouts_(std::move(layouts)) {}
  const char* name() const override { return "pooling"; }
  bool Takes(const Node& node) const override { return !node.integers || IsMax(node); }
  bool TakesZeroPoints(const Node& node) const override { return IsMax(node); }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

 private:
  /// Maxima are the same whatever integers stand for.
  static bool IsMax(const Node& node) {
    return node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_MAX;
  }
  /// The step of a Pooling with one bottom and one top, which has this layout.
  virtual std::unique_ptr<Step> MakeStep(const Node& node, Layout::Kind layout) const = 0;

  const std::vector<Layout::Kind> layouts_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_POOLING_NODE_HPP_
