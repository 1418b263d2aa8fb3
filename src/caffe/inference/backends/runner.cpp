#include "runner.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "cpu/cpu_runner.hpp"
#include "cuda/cuda_engine.hpp"
#include "reference/reference_runner.hpp"

namespace caffe::inference {

RunTimes Runner::TimedRun(bool) {
  const RunTimes::Time begin = std::chrono::steady_clock::now();
  Run(nullptr);
  const RunTimes::Time end = std::chrono::steady_clock::now();
  return {begin, begin, begin, end, end};
}

void Runner::Start(Stream&, const std::vector<const void*>&, const std::vector<void*>&) {
  Fail("the engine was built for the CPU: it computes on no stream of a GPU");
}

std::unique_ptr<Runner> MakeRunner(const std::shared_ptr<const Graph>& graph) {
  const bool lowered = std::any_of(graph->nodes.begin(), graph->nodes.end(),
                                   [](const Node& node) { return !node.implementation.empty(); });
  if (!lowered) return std::make_unique<ReferenceRunner>(graph);
  if (graph->target.empty()) return std::make_unique<cpu::CpuRunner>(graph);
  return cuda::MakeCudaRunner(graph);
}

}  // namespace caffe::inference
