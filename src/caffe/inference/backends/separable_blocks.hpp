#ifndef CAFFE_INFERENCE_BACKENDS_SEPARABLE_BLOCKS_HPP_
#define CAFFE_INFERENCE_BACKENDS_SEPARABLE_BLOCKS_HPP_

#include <functional>

#include "caffe/inference/layer_candidates.hpp"
#include "timing.hpp"

namespace caffe::inference {

/// Joins each depthwise convolution of a lowered graph with the 1x1 convolution behind it and,
/// where there is one, the 1x1 convolution before it into one node, which Target::separable_block
/// computes: if only they read the values between, all lie in blocks of channels and compute in the
/// same floating-point type, and the time of the whole, measured in the shapes that are timed, is
/// at most 1.1 times theirs. The first of them keeps its name; the others become steps of its
/// epilogue (JoinedLayers). Weights must not be packed yet. Does nothing where times are only
/// estimated. `on_candidates`, which may be null, is
/// told of each.
Graph JoinSeparableBlocks(Graph graph, Timing* timing,
                          const std::function<void(const LayerCandidates&)>& on_candidates);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_SEPARABLE_BLOCKS_HPP_
