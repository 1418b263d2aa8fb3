#ifndef CAFFE_TOOLS_COMMON_CANDIDATES_TEXT_HPP_
#define CAFFE_TOOLS_COMMON_CANDIDATES_TEXT_HPP_

#include <ostream>

#include "caffe/inference/layer_candidates.hpp"

namespace caffe {

/// A line for the layer; a table of what could compute it, with times, "*" in front of what was
/// chosen; and one of what could not, with the reasons.
void PrintCandidates(const inference::LayerCandidates& candidates, std::ostream& out);

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_CANDIDATES_TEXT_HPP_
