#ifndef CAFFE_INFERENCE_PASSES_JOINABLE_INPUT_HPP_
#define CAFFE_INFERENCE_PASSES_JOINABLE_INPUT_HPP_

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Which of the two inputs of a sum is made by a node that can add the other one to it, -1 for
/// none: it multiplies weights, makes nothing else, and runs after the other's maker.
int JoinableInput(const Graph& graph, const Node& sum);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_JOINABLE_INPUT_HPP_
