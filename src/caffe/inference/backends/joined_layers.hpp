#ifndef CAFFE_INFERENCE_BACKENDS_JOINED_LAYERS_HPP_
#define CAFFE_INFERENCE_BACKENDS_JOINED_LAYERS_HPP_

#include <functional>

#include "caffe/inference/layer_candidates.hpp"
#include "timing.hpp"

namespace caffe::inference {

/// Joins convolutions of a lowered graph, each of which alone reads the output of the one before
/// it, into one node that Target::joining computes:
/// - a depthwise one, the 1x1 convolution behind it and, where there is one, the 1x1 convolution
///   before it, if all lie in blocks of channels and compute in the same floating-point type;
/// - any in 8 bits or in BFLOAT16 whose blobs lie alike, in blocks of channels or with channels
///   last, and any of another floating-point type with channels last, as many as gain by it.
/// The time of the whole, measured in the shapes that are timed, is at most 1.1 times theirs. The
/// first of them keeps its name; the others become steps of its epilogue (JoinedLayers). Weights
/// must not be packed yet. Does nothing where times are only estimated. `on_candidates`, which may
/// be null, is told what was compared.
Graph JoinLayers(Graph graph, Timing* timing,
                 const std::function<void(const LayerCandidates&)>& on_candidates);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_JOINED_LAYERS_HPP_
