#ifndef CAFFE_KERNELS_POST_OPS_HPP_
#define CAFFE_KERNELS_POST_OPS_HPP_

#include <optional>

#include "caffe/element_type.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/image_strides.hpp"

namespace caffe::kernels {

/// Numbers of a type known only at run time.
struct Numbers {
  Numbers() = default;
  Numbers(const void* data, ElementType type) : data(data), type(type) {}
  template <typename T>
  Numbers(const T* data) : data(data), type(kElementType<T>) {}

  /// The number `offset` elements after the first.
  const void* at(size_t offset) const {
    return static_cast<const char*>(data) + offset * SizeOf(type);
  }

  const void* data = nullptr;
  ElementType type = ElementType::FLOAT;
};

/// f as kernels apply it while they write, if they can: NONE, RELU, CLIP, PRELU, ELU, SIGMOID,
/// SWISH, TANH, HARD_SWISH or GELU.
std::optional<Activation> AsPostOp(const Activation& f);

/// What kernels with weights do to a sum before they write it, while it is in registers:
///   y = activation(scale[o] sum + bias[o] + residual_scale residual),
/// where o is the output. Sums of floats have no scale, and a residual_scale of 1. If y has 8 bits,
/// the value is multiplied by `factor`, rounded to the nearest integer (halves to even), zero_point
/// is added, and the result is saturated: to [-127, 127] if it is signed, else to [0, 255]. A NaN
/// then becomes 0.
struct PostOps {
  PostOps() = default;
  explicit PostOps(const float* bias, const Numbers& residual = {},
                   const Activation& activation = {})
      : bias(bias), residual(residual), activation(activation) {}

  const float* scale = nullptr;  ///< per output, for 8-bit kernels: the input's times the weights'
  const float* bias = nullptr;   ///< one per output, or null
  Numbers residual;              ///< shaped as y, may be y; no data: none
  float residual_scale = 1;
  Activation activation;  ///< one that AsPostOp gives
  float factor = 1;       ///< 1 / the output's scale
  int zero_point = 0;
};

/// Where such a kernel writes.
struct Destination {
  Destination(void* y, ElementType type, const ImageStrides& strides = {})
      : y(y), type(type), strides(strides) {}
  template <typename T>
  Destination(T* y, const ImageStrides& strides = {})
      : y(y), type(kElementType<T>), strides(strides) {}

  void* y;
  ElementType type;
  ImageStrides strides;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_POST_OPS_HPP_
