#ifndef CAFFE_INFERENCE_BACKENDS_LOWERED_RUNNER_HPP_
#define CAFFE_INFERENCE_BACKENDS_LOWERED_RUNNER_HPP_

#include <memory>
#include <vector>

#include "arena_gaps.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "runner.hpp"
#include "target.hpp"

namespace caffe::inference {

/// The memory that a target's steps compute in. Its operations are ordered with the steps' work.
class TargetMemory {
 public:
  virtual ~TargetMemory() = default;
  /// Memory aligned to 64. Throws Error.
  virtual std::shared_ptr<void> Allocate(size_t bytes) = 0;
  /// Where the elements of one of the graph's constants are.
  virtual const void* PlaceOf(const std::shared_ptr<const void>& constant) = 0;
  /// Moves `rows` runs of `bytes` each; strides are bytes from one run to the next.
  virtual void CopyRows(size_t rows, size_t bytes, const void* from, size_t from_stride, void* to,
                        size_t to_stride) = 0;
  /// Copies elements to the host's memory; returns when they are there.
  virtual void Read(const void* from, size_t bytes, void* to) = 0;
  /// Waits for all work of the steps.
  virtual void Wait() {}
};

/// Runs a lowered graph: a list of steps on memory that is planned again when shapes change.
class LoweredRunner : public Runner {
 public:
  /// Throws Error naming the layer that cannot be made.
  LoweredRunner(std::shared_ptr<const Graph> graph, const Target& target,
                std::unique_ptr<TargetMemory> memory);

  void SetInputShapes(const std::vector<Shape>& shapes) override;
  void Run(const AfterNode& after) override;
  const Shape& shape(int value) const override { return shapes_[value]; }
  std::vector<float> Floats(int value) override;
  size_t activation_bytes() const override;

 protected:
  const Graph& graph() const { return *graph_; }
  bool is_dependent(int value) const { return dependent_[value]; }
  TargetMemory& memory() { return *memory_; }
  /// Where a value's elements are.
  void* place(int value) {
    Settle();
    return OperandOf(value).data;
  }
  /// False where SetPlace would change nothing.
  bool Moves(int value, const void* memory) const { return given_[value] != memory; }
  /// Puts an input or output, and the values within it, into the caller's memory, at a multiple of
  /// the target's alignment; null: into the runner's own again. If it throws, nothing has changed.
  void SetPlace(int value, void* memory);
  /// Creates all steps again, in the present shapes and places: for steps that have lost their
  /// state. Throws Error.
  void RenewSteps();
  /// Frees steps and memory, for targets that need a context to do so. The last call.
  void Clear();

 private:
  /// Memory that grows.
  struct Buffer {
    std::shared_ptr<void> data;
    size_t bytes = 0;
  };
  /// An operand that the step gets a dense copy of.
  struct Copy {
    Operand place, dense;
  };
  struct Entry {
    std::unique_ptr<Step> step;
    LayerStep* layer = nullptr;  // the step if the node runs by its layer
    bool free = false;           // views make it a no-op
    bool dependent = false;      // shapes of inputs or outputs depend on the data
    size_t scratch = 0;          // where in the arena it has its scratch memory
    Binding binding;
    std::vector<Copy> gathered, scattered;
  };

  std::vector<Entry> MakeEntries() const;
  void Move(int value, void* memory);
  bool IsAligned(const Operand& operand) const;
  void* Grow(size_t wanted, Buffer* buffer);
  std::vector<Shape> TopShapes(size_t node);
  void InferShapes(const std::vector<Shape>& inputs);
  /// Shapes and places for the inputs_, unless they are there.
  void Settle();
  void Place();
  void PlaceInArena();
  void PlaceNode(size_t node, bool allocate);
  Operand OperandOf(int value);
  void CopyPieces(const Operand& from, const Operand& to);
  std::vector<const void*> PlacesOfParameters(size_t node);
  void RunEntry(size_t node);
  void RunUnknown(size_t node);
  void* RootMemory(int root);

  const std::shared_ptr<const Graph> graph_;
  const Target& target_;
  std::unique_ptr<TargetMemory> memory_;
  std::vector<bool> dependent_;
  std::vector<Shape> inputs_;  // that were set last
  std::vector<Shape> shapes_;  // of all values
  bool is_settled_ = false;
  std::vector<Entry> entries_;
  const ArenaGaps gaps_;
  Buffer arena_;
  Buffer scratch_;              // of nodes whose shapes depend on the data
  size_t wanted_ = 0;           // bytes of the arena with room for the scratch memory of all steps
  std::vector<Buffer> own_;     // per value that is not in the arena
  std::vector<void*> given_;    // per value: memory of the caller's
  std::vector<Buffer> copies_;  // of operands that are not dense; reused by all steps
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_LOWERED_RUNNER_HPP_
