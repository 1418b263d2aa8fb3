#ifndef CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_
#define CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_

#include <functional>
#include <vector>

#include "target.hpp"

namespace caffe::inference {

/// A value as it lies within the value that owns its memory, which begins at `place_of(root)`;
/// `shapes` has the shape of every value. Throws Error where it does not lie in even pieces.
Operand OperandAt(const Graph& graph, int value, const std::vector<Shape>& shapes,
                  const std::function<void*(int root)>& place_of);

/// True if the step can read or write the operand as it lies; else it gets a dense copy.
bool TakesAsItLies(const Step& step, const Operand& place, const Operand& dense);

/// What each node needs for itself while it runs, in bytes, in the graph's own shapes: found out by
/// binding its step, without memory for values. 0 for nodes with nothing to do, for those whose
/// shapes depend on the data, and for layers that cannot be set up here. Throws Error naming the
/// layer whose kernel cannot be bound.
std::vector<size_t> ScratchBytes(const Graph& graph, const Target& target);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_
