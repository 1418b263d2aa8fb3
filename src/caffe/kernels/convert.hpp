#ifndef CAFFE_KERNELS_CONVERT_HPP_
#define CAFFE_KERNELS_CONVERT_HPP_

#include <cstddef>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// y[i] = x[i] in another type, i < n. From and To are float, double, float16 or bfloat16; rounded
/// once, to nearest even. The arrays must not overlap, except that equal types may be one.
template <typename From, typename To>
void Convert(size_t n, const From* x, To* y);

/// The same for any pair of element types. INT8 and UINT8 stand for scale * (q - zero_point);
/// conversion to them rounds to nearest even and saturates; NaN becomes the zero point. INT32 and
/// UINT32 round to nearest even and saturate.
void Convert(size_t n, ElementType from, const void* x, float from_scale, int from_zero_point,
             ElementType to, void* y, float to_scale, int to_zero_point);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CONVERT_HPP_
