#ifndef CAFFE_INFERENCE_BACKENDS_SPLIT_EPILOGUES_HPP_
#define CAFFE_INFERENCE_BACKENDS_SPLIT_EPILOGUES_HPP_

#include "caffe/inference/graph.hpp"

namespace caffe {
namespace inference {

/// Steps of epilogues that no kernel computes while it writes (FusedEpilogueOf), and all behind
/// them, become nodes of their own, under the names that their layers had.
Graph SplitEpilogues(Graph graph);

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_SPLIT_EPILOGUES_HPP_
