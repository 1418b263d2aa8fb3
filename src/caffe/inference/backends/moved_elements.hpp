#ifndef CAFFE_INFERENCE_BACKENDS_MOVED_ELEMENTS_HPP_
#define CAFFE_INFERENCE_BACKENDS_MOVED_ELEMENTS_HPP_

#include <cstdint>
#include <vector>

#include "caffe/inference/graph.hpp"
#include "caffe/layers/resize/resizing.hpp"
#include "step.hpp"

namespace caffe::inference {

/// For each element of the outputs of a node that moves elements, its source: the number of an
/// element, counted from 1 through all inputs; 0: none. Found by running the float layer on these
/// numbers, in two parts that floats hold exactly.
std::vector<std::vector<int64_t>> MovedFrom(const Node& node, const std::vector<Shape>& inputs,
                                            const std::vector<Shape>& outputs);

/// Any layer that moves bytes, in Caffe's order: the part that targets share.
class MovedBytesStep : public Step {
 public:
  explicit MovedBytesStep(const Node& node) : node_(node) {}
  void Bind(const Binding& binding) override;

 protected:
  /// Where the elements of each output come from (MovedFrom): for other shapes than before.
  virtual void Prepare(const std::vector<Shape>& inputs,
                       const std::vector<std::vector<int64_t>>& moved_from) = 0;

  const Node& node_;
  Binding binding_;

 private:
  std::vector<Shape> inputs_, outputs_;
};

/// How an Interp or Resample of bottoms of these shapes resizes.
Resizing ResizingOf(const Node& node, const std::vector<Shape>& inputs);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_MOVED_ELEMENTS_HPP_
