#include "runner.hpp"

#include "reference/reference_runner.hpp"

namespace caffe {
namespace inference {

std::unique_ptr<Runner> MakeRunner(const std::shared_ptr<const Graph>& graph) {
  return std::make_unique<ReferenceRunner>(graph);
}

}  // namespace inference
}  // namespace caffe
