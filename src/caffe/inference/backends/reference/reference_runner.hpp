#ifndef CAFFE_INFERENCE_BACKENDS_REFERENCE_REFERENCE_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_REFERENCE_REFERENCE_RUNNER_HPP_

#include <memory>
#include <vector>

#include "caffe/inference/backends/runner.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/graph/node_chain.hpp"
#include "caffe/inference/graph/regions.hpp"

namespace caffe::inference {

/// Runs a graph in FLOAT, every node and every step of an epilogue through its Layer, with values
/// placed by views and the memory plan: the oracle for passes and other backends. For one thread;
/// several runners share a graph's constants.
class ReferenceRunner : public Runner {
 public:
  /// Throws Error naming the layer that cannot be made, or the value that is no FLOAT.
  explicit ReferenceRunner(std::shared_ptr<const Graph> graph);

  /// Shapes everything for this batch, at most the graph's.
  void SetBatch(int batch) { SetInputShapes(InputShapes(*graph_, batch)); }
  void SetInputShapes(const std::vector<Shape>& shapes) override;

  void Run(const AfterNode& after = nullptr) override;

  /// The memory of any value that has memory of its own.
  float* data(int value) override;
  const Shape& shape(int value) const override { return shapes_[value]; }
  std::vector<float> Floats(int value) override;
  size_t activation_bytes() const override;

 private:
  void Shapes(const std::vector<Shape>& inputs);
  void Place();
  void RunNode(size_t index);
  void RunStep(const Node& node, NodeChain* step);
  std::vector<Shape> InputShapesOf(const Node& node) const;
  bool LiesInOutput(const Node& node, int input) const;
  const float* Read(int value, std::vector<float>* copy) const;
  float* Where(int value, std::vector<float>* copy);
  void Write(int value, const float* from);
  float* RootMemory(int root) const;
  float* OwnMemory(int value);

  std::shared_ptr<const Graph> graph_;
  std::vector<bool> dependent_;
  std::vector<NodeChain> steps_;
  std::vector<Shape> shapes_;
  std::vector<Region> regions_;
  std::shared_ptr<float> arena_;
  std::vector<std::shared_ptr<float>> own_;  // per value that is not in the arena
  std::vector<size_t> own_count_;
  std::vector<std::vector<float>> copies_;  // of values that lie in runs; reused by all nodes
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_REFERENCE_REFERENCE_RUNNER_HPP_
