#ifndef CAFFE_INFERENCE_BUILDER_HPP_
#define CAFFE_INFERENCE_BUILDER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/passes.hpp"

namespace caffe {
namespace inference {

/// How an engine is built. So far every engine computes in FLOAT.
struct BuilderConfig {
  int max_batch = 0;                     ///< 0: the batch that the net's inputs have
  std::vector<std::string> skip_passes;  ///< names of Passes()
  PassObserver pass_observer;            ///< sees the graph before the first and after each pass
};

/// Optimizes a net and makes an engine of it:
///
///     const auto net = NetworkDefinition::FromCaffe("deploy.prototxt", {"w.caffemodel"});
///     const auto engine = Builder().Build(net);
///     engine->Save("net.plan");
class Builder {
 public:
  explicit Builder(BuilderConfig config = BuilderConfig()) : config_(std::move(config)) {}

  /// Throws Error naming the pass, layer or value.
  std::shared_ptr<const Engine> Build(const NetworkDefinition& net) const;

 private:
  BuilderConfig config_;
};

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BUILDER_HPP_
