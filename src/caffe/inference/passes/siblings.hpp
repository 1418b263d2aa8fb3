#ifndef CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_
#define CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_

#include <map>
#include <string>

#include "caffe/inference/graph.hpp"
#include "caffe/inference/quantize/blob_intervals.hpp"

namespace caffe::inference {

/// MergeSiblings where outputs become 8-bit integers: `ranges`, by value, are those that they would
/// have. Merged ones share one range, so siblings are left alone whose own range is less than half
/// as wide as that, or of which only some have a range.
Graph MergeSiblings(Graph graph, const std::map<std::string, Interval>& ranges);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_SIBLINGS_HPP_
