#ifndef CAFFE_SMOOTH_L1_HPP_
#define CAFFE_SMOOTH_L1_HPP_

#include <cmath>

namespace caffe {

/// The penalty of SmoothL1Loss for the difference d; sigma2 is sigma^2.
template <typename Dtype>
Dtype SmoothL1(Dtype d, Dtype sigma2) {
  const Dtype size = std::fabs(d);
  return size < 1 / sigma2 ? sigma2 * d * d / 2 : size - 1 / (2 * sigma2);
}

/// Its derivative.
template <typename Dtype>
Dtype SmoothL1Slope(Dtype d, Dtype sigma2) {
  return std::fabs(d) < 1 / sigma2 ? sigma2 * d : Dtype((d > 0) - (d < 0));
}

}  // namespace caffe

#endif  // CAFFE_SMOOTH_L1_HPP_
