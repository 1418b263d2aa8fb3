#ifndef CAFFE_INFERENCE_LAYER_CANDIDATES_HPP_
#define CAFFE_INFERENCE_LAYER_CANDIDATES_HPP_

#include <string>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::inference {

/// The implementations that a build considered for a layer, and why others were rejected.
struct LayerCandidates {
  struct Possible {
    std::string implementation;  ///< NAME or NAME:VARIANT
    ElementType math = ElementType::FLOAT;
    std::string input, output;  ///< how input 0 and output 0 lie: "FLOAT", "INT8 blocked", ...
    double microseconds = 0;    ///< 0: not timed, there is no other
    bool is_chosen = false;
    std::string note;  ///< why it was rejected; empty for most
  };
  /// An implementation without candidates, or with variants that were rejected.
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
