#ifndef CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_
#define CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_

#include <map>
#include <string>
#include <utility>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// The least and the greatest number of values, by their names.
using ValueBounds = std::map<std::string, std::pair<double, double>>;

/// Convolutions of one value that differ in nothing but their weights become one convolution, whose
/// outputs a Slice divides. `bounds` are those of values that become 8-bit integers. Merged ones
/// share their range, so siblings are left alone whose own range is less than half as wide as that,
/// or of which only some have one.
Graph MergeSiblings(Graph graph, const ValueBounds& bounds);
/// Of values that stay floats.
Graph MergeSiblings(Graph graph);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_
