#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_

#include "caffe/inference/backends/lowered_runner.hpp"

namespace caffe::inference::cpu {

/// Runs a graph that was lowered for the CPU, on the calling thread and its LoopTeam or, where a
/// library computes a layer, OpenMP's threads.
class CpuRunner : public LoweredRunner {
 public:
  explicit CpuRunner(std::shared_ptr<const Graph> graph);

  void Run(const AfterNode& after) override;
  float* data(int value) override { return static_cast<float*>(place(value)); }

 private:
  const bool has_loop_team_;
};

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_
