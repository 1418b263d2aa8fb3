#ifndef CAFFE_KERNELS_CEIL_DIV_HPP_
#define CAFFE_KERNELS_CEIL_DIV_HPP_

#include <cstddef>

namespace caffe::kernels {

/// n / by, rounded up; n is not negative.
constexpr size_t CeilDiv(size_t n, size_t by) { return (n + by - 1) / by; }
/// n, rounded up to whole units.
constexpr size_t RoundUp(size_t n, size_t unit) { return CeilDiv(n, unit) * unit; }

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CEIL_DIV_HPP_
