#ifndef CAFFE_INFERENCE_BACKENDS_REORDER_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_REORDER_NODE_HPP_

#include <memory>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

/// Converts a value to another format. Lowering inserts these nodes: they have no candidates.
class ReorderImplBase : public Implementation {
 public:
  const char* name() const override { return "reorder"; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

 private:
  virtual std::unique_ptr<Step> MakeStep() const = 0;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_REORDER_NODE_HPP_
