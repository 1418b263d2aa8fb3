#ifndef CAFFE_INFERENCE_QUANTIZE_INTEGER_FUNCTIONS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_INTEGER_FUNCTIONS_HPP_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// An elementwise function of one bottom.
struct NumberFunction {
  size_t tables = 1;  ///< different functions: 1, or one for each channel (axis 1)
  /// min(max(x < 0 ? slopes[c] x : x, least), most), where `real` is not set.
  std::vector<double> slopes = {1};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// Any function of a number, and of the channel.
  std::function<double(double, size_t)> real;
};

/// Not set where the node is not one, or has parameters that vary along other axes than channels.
std::optional<NumberFunction> NumberFunctionOf(const Graph& graph, const Node& node);

/// Bytes, 8 bits of int8_t or uint8_t.
struct ByteType {
  ElementType type = ElementType::UINT8;
  AffineParameters affine;
  int32_t least = 0, most = 255;

  /// Byte i, as uint8_t, less the zero point.
  int32_t Difference(int i) const {
    return (type == ElementType::UINT8 ? i : static_cast<int8_t>(i)) - affine.zero_point;
  }
  /// The byte, as uint8_t, of zero point + y, clamped.
  uint8_t Byte(double y) const;
};

/// 256 bytes for each of function.tables. Functions of straight lines by fixed point, as LiteRT's
/// activations: Rescale(x, S_x / S_y). Others are computed in double, divided by y's scale and
/// rounded to the nearest, ties away from zero; NaN becomes the zero point.
std::vector<uint8_t> TablesOf(const NumberFunction& function, const ByteType& x, const ByteType& y,
                              kernels::Rounding rounding);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_INTEGER_FUNCTIONS_HPP_
