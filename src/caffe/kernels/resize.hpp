#ifndef CAFFE_KERNELS_RESIZE_HPP_
#define CAFFE_KERNELS_RESIZE_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// How one axis is resampled: output i is the sum of weights[k] times input first[i] + k - start[i]
/// for k in [start[i], start[i + 1]).
struct ResizeAxis {
  int input = 0;  ///< extent
  std::vector<int> first;
  std::vector<int> start = {0};
  std::vector<double> weights;

  int output() const { return static_cast<int>(first.size()); }
  int terms(int i) const { return start[i + 1] - start[i]; }
  /// Appends an output.
  void Add(int first_input, const std::vector<double>& weights_of_inputs);
  /// The axis whose outputs are this one's inputs, by which gradients are resampled.
  ResizeAxis Transposed() const;
};

/// Bilinear with aligned corners: output i of `output` lies at i (n - 1) / (output - 1) of the n
/// inputs that remain after cropping `crop_begin` and `crop_end`; computed in float.
ResizeAxis AlignedAxis(int input, int crop_begin, int crop_end, int output);

/// Output i is input i / scale.
ResizeAxis RepeatedAxis(int input, int scale);

enum class ResampleFilter { NEAREST, LINEAR, CUBIC };
/// FlowNet's rule: output i lies at i ratio + other_ratio / 2 - 1 / 2, where ratio is input /
/// output and other_ratio that of the other axis (as its authors have it); the weights are those of
/// the filter, `stretched` by the ratio (against aliasing) or not, and sum up to 1. In float.
ResizeAxis ResampledAxis(ResampleFilter filter, int input, int output, float other_ratio,
                         bool stretched);

/// Resamples `planes` planes of (h.input, w.input) to (h.output(), w.output()).
template <typename T>
void ResizeForward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const T* x, T* y);
/// The transpose; overwrites dx.
template <typename D>
void ResizeBackward(size_t planes, const ResizeAxis& h, const ResizeAxis& w, const D* dy, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_RESIZE_HPP_
