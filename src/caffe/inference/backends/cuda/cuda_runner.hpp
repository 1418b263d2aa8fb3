#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_RUNNER_HPP_

#include <map>
#include <memory>
#include <vector>

#include "caffe/device/recording.hpp"
#include "caffe/inference/backends/lowered_runner.hpp"
#include "device_weights.hpp"
#include "gpu_queue.hpp"

namespace caffe::inference::cuda {

/// Runs a graph on a GPU, on a stream of its own or the caller's. Inputs and outputs have a place
/// in the host's memory, too, which Run copies. From the second run in the same shapes and places
/// on, all of it is one recording (a CUDA graph), if it can be recorded.
class CudaRunner : public LoweredRunner {
 public:
  CudaRunner(std::shared_ptr<const Graph> graph, const std::shared_ptr<GpuQueue>& queue,
             std::shared_ptr<const DeviceWeights> weights);
  ~CudaRunner() override;

  void SetInputShapes(const std::vector<Shape>& shapes) override;
  void Run(const AfterNode& after) override;
  RunTimes TimedRun(bool transfers) override;
  void Start(Stream& stream, const std::vector<const void*>& inputs,
             const std::vector<void*>& outputs) override;
  float* data(int value) override;
  std::vector<float> Floats(int value) override;

 private:
  /// Memory that grows.
  struct HostMemory {
    std::shared_ptr<void> data;
    size_t bytes = 0;
  };

  void* Grow(size_t bytes, HostMemory* memory) const;
  void RecordSteps();
  void MakeReady();
  void Compute(Stream& stream);
  void Put(int value, void* memory);
  void PutAllHere();
  void CopyInputs(Stream& stream);
  void CopyOutputs(Stream& stream);
  void Forget();

  const std::shared_ptr<GpuQueue> queue_;
  const std::shared_ptr<const DeviceWeights> weights_;
  std::map<int, HostMemory> host_;  // of inputs and outputs
  std::unique_ptr<Recording> recording_;
  bool has_run_ = false;  // since shapes or places have changed
  bool records_;
  bool stale_ = false;  // steps took part in a recording that failed
};

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_RUNNER_HPP_
