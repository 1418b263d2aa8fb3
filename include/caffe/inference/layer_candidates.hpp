#ifndef CAFFE_INFERENCE_LAYER_CANDIDATES_HPP_
#define CAFFE_INFERENCE_LAYER_CANDIDATES_HPP_

#include <string>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::inference {

/// What a build found that could compute a layer, and why the rest could not.
struct LayerCandidates {
  struct Possible {
    std::string implementation;  ///< NAME or NAME:VARIANT
    ElementType math = ElementType::FLOAT;
    std::string input, output;  ///< how input 0 and output 0 lie: "FLOAT", "INT8 blocked", ...
    double microseconds = 0;    ///< 0: not timed, there is no other
    bool is_chosen = false;
    std::string note;  ///< why it was not considered further; mostly nothing
  };
  /// An implementation without candidates, or ways of its own that are none.
  struct Rejected {
    std::string implementation;
    std::string reason;
  };
  std::vector<std::string> layers;  ///< the layer, and those that were fused into it
  std::string type;                 ///< of the first
  std::vector<Possible> possible;   ///< in the order of the target's implementations
  std::vector<Rejected> rejected;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_LAYER_CANDIDATES_HPP_
