#ifndef CAFFE_INFERENCE_QUANTIZE_RANGE_HPP_
#define CAFFE_INFERENCE_QUANTIZE_RANGE_HPP_

namespace caffe::inference {

/// How a value can become 8-bit integers; scale 0: it cannot.
struct Range {
  float scale = 0;
  bool is_unsigned = false;
  int zero_point = 0;  ///< the integer that stands for 0
  bool known() const { return scale > 0; }
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_RANGE_HPP_
