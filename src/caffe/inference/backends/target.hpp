#ifndef CAFFE_INFERENCE_BACKENDS_TARGET_HPP_
#define CAFFE_INFERENCE_BACKENDS_TARGET_HPP_

#include <optional>
#include <string>
#include <vector>

#include "implementation.hpp"

namespace caffe::inference {

/// What a graph is lowered for: its implementations, the layouts that they prefer, and how long
/// they take. CPU and GPU have one each; everything else about lowering is the same.
class Target {
 public:
  virtual ~Target() = default;
  /// Graph::target of what is lowered for it.
  virtual const char* name() const = 0;
  /// All implementations, the one that runs any layer last.
  virtual const std::vector<const Implementation*>& implementations() const = 0;
  virtual const Implementation& reorder() const = 0;
  virtual const Implementation& any_layer() const = 0;
  /// What computes several layers with weights as one node (backends/joined_layers.hpp); not among
  /// the implementations, as these take no layer by itself.
  virtual std::vector<const Implementation*> joining() const { return {}; }
  /// The layouts that kernels prefer to Caffe's, the most common first; in them the channels of a
  /// value of this type are padded to a multiple of `block`.
  virtual const std::vector<Layout::Kind>& layouts() const = 0;
  virtual int block(ElementType type) const = 0;
  /// The alignment in bytes that kernels require of all operands: a power of 2 up to that of
  /// TargetMemory's memory.
  virtual size_t alignment() const = 0;
  /// True if kernels take unsigned 8-bit integers as well as signed ones.
  virtual bool takes_unsigned() const = 0;
  /// True if integer-only convolutions add a residual while they write (quantize/fused_sums.hpp).
  virtual bool fuses_integer_sums() const = 0;

  /// Runs `list`, which asks for the candidates of all nodes of a graph or binds all its steps, if
  /// that makes a second time faster.
  virtual void Prepare(const std::function<void()>& list) const { (void)list; }

  /// What a measured time is valid for: library, revision of its kernels, machine, threads.
  virtual std::string TimingKey() const = 0;
  /// The least time, in microseconds, of `iterations` runs of a node of a graph of its own, lowered
  /// and packed. 0 iterations: 0, once it is known that it can run. Throws Unsupported if it is no
  /// way of computing the node: it needs more scratch memory than `max_workspace` bytes (0: any) or
  /// than there is, or the layer computes in other formats than the node's; Error where it fails.
  virtual double Measure(const Graph& graph, const Node& node, int iterations,
                         size_t max_workspace) const = 0;
  /// The time of a candidate for the same work, relative to the others': a guess.
  virtual double RelativeTime(const Candidate& candidate) const = 0;
};

/// True if values may have the layout: Caffe's, or one of `layouts`.
bool HasLayout(const Target& target, Layout::Kind layout);

/// Finds it by its name, with or without a variant. Throws Error for an unknown name, and for a
/// variant of an implementation without any.
const Implementation& ImplementationOf(const Target& target, const std::string& name);

/// Throws Unsupported for more scratch memory than `max_workspace` bytes (0: any).
void RequireWorkspace(size_t scratch_bytes, size_t max_workspace);

/// Fills host memory with elements like those of activations: half of them 0 or more, none
/// denormal.
void FillLikeActivations(ElementType type, size_t count, void* elements);

/// True if one of the target's implementations RoundsInputs of the node.
bool RoundsInputs(const Target& target, const Graph& graph, const Node& node);

/// Gives a value this format: its type (for 8 bits, that of `range`), layout and scale.
void SetFormat(const Target& target, const Format& format, const Range& range, Value* value);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_TARGET_HPP_
