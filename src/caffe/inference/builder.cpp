#include "caffe/inference/builder.hpp"

#include "caffe/error.hpp"

namespace caffe {
namespace inference {

std::shared_ptr<const Engine> Builder::Build(const NetworkDefinition& net) const {
  Require(config_.max_batch >= 0, "max_batch must not be negative, got ", config_.max_batch);
  Graph graph = net.graph();
  if (config_.max_batch > 0 && config_.max_batch != BatchOf(graph)) {
    graph = WithBatch(std::move(graph), config_.max_batch);
  }
  graph = Optimize(std::move(graph), config_.skip_passes, config_.pass_observer);
  return std::make_shared<const Engine>(std::move(graph));
}

}  // namespace inference
}  // namespace caffe
