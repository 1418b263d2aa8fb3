#ifndef CAFFE_INFERENCE_PASSES_AFFINE_MAP_HPP_
#define CAFFE_INFERENCE_PASSES_AFFINE_MAP_HPP_

#include <algorithm>
#include <optional>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// y = scale[c] x + shift[c].
struct Affine {
  std::vector<float> scale, shift;  // one a channel

  bool shifts() const {
    return std::any_of(shift.begin(), shift.end(), [](float value) { return value != 0; });
  }
};

/// The node as an affine map of the channels (axis 1) of its only input.
std::optional<Affine> AffineOf(const Graph& graph, const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_PASSES_AFFINE_MAP_HPP_
