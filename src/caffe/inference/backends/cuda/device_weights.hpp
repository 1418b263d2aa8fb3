#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_DEVICE_WEIGHTS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_DEVICE_WEIGHTS_HPP_

#include <map>
#include <memory>

#include "caffe/inference/graph.hpp"
#include "gpu_queue.hpp"

namespace caffe::inference::cuda {

/// A graph's constants in a GPU's memory, in one allocation, except those that steps do not read:
/// of epilogues, which are packed with the node's, and of nodes that their layers compute.
class DeviceWeights {
 public:
  /// Those of a graph on the queue's GPU, which all runners of the graph share.
  static std::shared_ptr<const DeviceWeights> Of(const std::shared_ptr<const Graph>& graph,
                                                 const std::shared_ptr<GpuQueue>& queue);

  /// Copies them with `queue`. Throws Error where there is no room.
  DeviceWeights(const Graph& graph, const std::shared_ptr<GpuQueue>& queue);

  /// Where the elements of one of the graph's constants are. Throws Error for any other.
  const void* PlaceOf(const void* constant) const;

  /// They are not freed before the present work on `stream` is done.
  void KeepFor(Stream& stream) const { queue_->stream().WaitFor(stream); }

 private:
  const std::shared_ptr<GpuQueue> queue_;  // in whose order they are freed
  std::map<const void*, size_t> offsets_;
  std::shared_ptr<void> memory_;
};

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_DEVICE_WEIGHTS_HPP_
