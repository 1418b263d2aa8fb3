#include "runner.hpp"

#include <algorithm>

#include "cpu/cpu_runner.hpp"
#include "reference/reference_runner.hpp"

namespace caffe {
namespace inference {

std::unique_ptr<Runner> MakeRunner(const std::shared_ptr<const Graph>& graph) {
  const bool lowered = std::any_of(graph->nodes.begin(), graph->nodes.end(),
                                   [](const Node& node) { return !node.implementation.empty(); });
  if (lowered) return std::make_unique<cpu::CpuRunner>(graph);
  return std::make_unique<ReferenceRunner>(graph);
}

}  // namespace inference
}  // namespace caffe
