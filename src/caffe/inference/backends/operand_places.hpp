#ifndef CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_
#define CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_

#include <functional>
#include <vector>

#include "target.hpp"

namespace caffe::inference {

/// A value as an operand within the value that owns its memory, which begins at `place_of(root)`;
/// `shapes` has the shape of every value. Throws Error if it is not made of equally spaced pieces.
Operand OperandAt(const Graph& graph, int value, const std::vector<Shape>& shapes,
                  const std::function<void*(int root)>& place_of);

/// True if the step can read or write the operand in place; else it gets a dense copy.
bool TakesAsItLies(const Step& step, const Operand& place, const Operand& dense);

/// The scratch memory of each node, in bytes, in the graph's own shapes: found by binding its step,
/// without memory for values. 0 for no-ops, for nodes whose shapes depend on the data, and for
/// layers that cannot be set up here. Throws Error naming the layer whose kernel cannot be bound.
std::vector<size_t> ScratchBytes(const Graph& graph, const Target& target);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_OPERAND_PLACES_HPP_
