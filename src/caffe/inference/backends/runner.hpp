#ifndef CAFFE_INFERENCE_BACKENDS_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_RUNNER_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/device.hpp"
#include "caffe/inference/engine.hpp"

namespace caffe::inference {

/// What one thread needs to run an engine's graph: shapes, memory for activations, layer objects.
/// Several runners share a graph and its constants.
class Runner {
 public:
  /// Called after a node has run, with its index and the milliseconds that it took.
  using AfterNode = std::function<void(int node, double milliseconds)>;

  virtual ~Runner() = default;

  /// Shapes everything for inputs of these shapes, in the order of the graph's. Contents of inputs
  /// are lost. Throws Error for more elements than were planned, or with the layer that cannot take
  /// it, or what a custom layer throws; nothing has changed then.
  virtual void SetInputShapes(const std::vector<Shape>& shapes) = 0;

  /// Computes all nodes. `after` may be empty.
  virtual void Run(const AfterNode& after) = 0;

  /// The same, and returns its timestamps. Without `transfers` inputs and outputs are not copied to
  /// and from a GPU.
  virtual RunTimes TimedRun(bool transfers);

  /// Enqueues a run on a stream of the GPU that the graph was built for: from `inputs` to
  /// `outputs`, in the order of the graph's, FLOAT elements in Caffe's order in the GPU's memory.
  /// Throws Error on other backends, or where a shape depends on the data.
  virtual void Start(Stream& stream, const std::vector<const void*>& inputs,
                     const std::vector<void*>& outputs);

  /// The elements of an input, to be written before Run, or of an output, as floats in Caffe's
  /// order.
  virtual float* data(int value) = 0;
  /// The present shape; for an output whose shape depends on the data, that of the last Run.
  virtual const Shape& shape(int value) const = 0;
  /// The elements of a value whose node has just run, as floats in Caffe's order.
  virtual std::vector<float> Floats(int value) = 0;
  /// Memory for activations and scratch.
  virtual size_t activation_bytes() const = 0;
};

/// The runner of the backend that the graph was built for. Throws Error naming a layer that cannot
/// be made.
std::unique_ptr<Runner> MakeRunner(const std::shared_ptr<const Graph>& graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_RUNNER_HPP_
