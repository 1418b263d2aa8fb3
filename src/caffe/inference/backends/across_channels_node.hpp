#ifndef CAFFE_INFERENCE_BACKENDS_ACROSS_CHANNELS_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_ACROSS_CHANNELS_NODE_HPP_

#include <memory>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

/// LRN and Softmax across the channels of images that lie last, in every type of floating-point
/// numbers.
class AcrossChannelsImplBase : public Implementation {
 public:
  const char* name() const override { return "across channels"; }
  std::vector<Candidate> Candidates(const LoweringContext& context,
                                    const Node& node) const override;
  std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const override;

 private:
  virtual std::unique_ptr<Step> MakeLrn(const LRNParameter& param) const = 0;
  virtual std::unique_ptr<Step> MakeSoftmax() const = 0;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_ACROSS_CHANNELS_NODE_HPP_
