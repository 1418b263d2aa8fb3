#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_

#include <memory>
#include <vector>

#include "../../graph/regions.hpp"
#include "../runner.hpp"
#include "any_layer.hpp"
#include "implementation.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// Runs a lowered graph: a list of steps on memory that is laid out when shapes change.
class CpuRunner : public Runner {
 public:
  /// Throws Error naming the layer that cannot be made.
  explicit CpuRunner(std::shared_ptr<const Graph> graph);

  void SetInputShapes(const std::vector<Shape>& shapes) override;
  void Run(const AfterNode& after) override;
  float* data(int value) override;
  const Shape& shape(int value) const override { return shapes_[value]; }
  std::vector<float> Floats(int value) override;
  size_t activation_bytes() const override;

 private:
  /// Memory that grows.
  struct Memory {
    std::shared_ptr<void> data;
    size_t bytes = 0;
    void* Room(size_t wanted);
  };
  /// An operand that the step gets a dense copy of.
  struct Copy {
    Operand place, dense;
  };
  struct Entry {
    std::unique_ptr<Step> step;
    LayerStep* layer = nullptr;  // the step, where the node runs by its layer
    bool free = false;           // views leave nothing to do
    bool dependent = false;      // shapes of inputs or outputs depend on the data
    Binding binding;
    std::vector<Copy> gathered, scattered;
  };

  std::vector<Shape> TopShapes(size_t node);
  void InferShapes(const std::vector<Shape>& inputs);
  void Place();
  void PlaceNode(size_t node, bool allocate);
  Operand OperandOf(int value);
  void RunEntry(size_t node);
  void RunUnknown(size_t node);
  void* RootMemory(int root);

  std::shared_ptr<const Graph> graph_;
  std::vector<bool> dependent_;
  std::vector<Shape> shapes_;
  std::vector<Entry> entries_;
  Memory arena_, scratch_;
  std::vector<Memory> own_;     // per value that is not in the arena
  std::vector<Memory> copies_;  // of operands that are not dense; reused by all steps
};

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CPU_RUNNER_HPP_
