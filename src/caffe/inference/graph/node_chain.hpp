#ifndef CAFFE_INFERENCE_GRAPH_NODE_CHAIN_HPP_
#define CAFFE_INFERENCE_GRAPH_NODE_CHAIN_HPP_

#include <array>
#include <vector>

#include "node_layer.hpp"

namespace caffe::inference {

/// A node's own layer and those of its epilogue, run in turn in FLOAT and Caffe's order.
class NodeChain {
 public:
  explicit NodeChain(const Node& node) : main_(MainLayer(node)), epilogue_(EpilogueLayers(node)) {}

  NodeLayer& main() { return main_; }
  std::vector<Shape> Reshape(const std::vector<Shape>& bottoms);

  /// The second operand of a step of the epilogue; null: it has none.
  struct Operand {
    Shape shape;
    const float* data = nullptr;
  };
  /// Bottoms and tops as for NodeLayer::Run; top 0 gets memory where there is an epilogue.
  void Run(const std::vector<const float*>& bottoms, const std::vector<Operand>& operands,
           std::vector<float*> tops);
  /// The same for memory of any device; `operands` has the second operand of each step, without
  /// data where it takes none, in the shapes of `shapes`. Between the layers values are in two
  /// buffers of as many elements as top 0 has; a node without an epilogue needs none.
  void RunPlaced(const std::vector<NodeLayer::Place>& bottoms,
                 const std::vector<NodeLayer::Place>& operands, const std::vector<Shape>& shapes,
                 std::vector<NodeLayer::Place> tops,
                 const std::array<NodeLayer::Place, 2>& between);
  /// Elements of top 0.
  size_t count() const { return CountOf(shape_); }
  /// Memory between the layers, of Run.
  size_t bytes() const { return (between_[0].capacity() + between_[1].capacity()) * sizeof(float); }

 private:
  NodeLayer main_;
  std::vector<NodeLayer> epilogue_;
  Shape shape_;  // of top 0
  std::vector<float> between_[2];
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_NODE_CHAIN_HPP_
