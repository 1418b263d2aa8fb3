#ifndef CAFFE_KERNELS_CUDA_RESIZE_HPP_
#define CAFFE_KERNELS_CUDA_RESIZE_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

/// How one axis is resampled, in device memory: output i is the sum of weight[k] times input
/// index[k] for k in [start[i], start[i + 1]).
template <typename Weight>
struct ResizeAxis {
  int inputs, outputs;
  const int *start, *index;
  const Weight* weight;
};

/// Resamples planes of (h.inputs, w.inputs) to (h.outputs, w.outputs). Weight is float or double.
template <typename T, typename Weight>
void Resize(Stream& stream, int planes, const ResizeAxis<Weight>& h, const ResizeAxis<Weight>& w,
            const T* x, T* y);

/// Undoes a pooling by its mask: y[plane, positions[plane, i]] = x[plane, i], 0 elsewhere; of equal
/// positions the last wins. A position out of range makes the plane's first element NaN.
template <typename T, typename Position>
void Unpool(Stream& stream, int planes, int inputs, int outputs, const T* x,
            const Position* positions, T* y);
/// dx[plane, i] = dy[plane, positions[plane, i]]; NaN for one out of range.
template <typename D, typename Position>
void UnpoolGradient(Stream& stream, int planes, int inputs, int outputs, const D* dy,
                    const Position* positions, D* dx);

/// A level of spatial pyramid pooling: bins x bins windows that do not overlap and start at -pad;
/// its results begin at `offset` in an item's.
struct PyramidLevel {
  int bins, kernel_h, kernel_w, pad_h, pad_w, offset;
};
struct Pyramid {
  static constexpr int kMaxLevels = 16;
  int num, channels, height, width;
  bool maximum;  ///< else the average, over the padding too
  int outputs;   ///< of one item
  int count;     ///< levels
  PyramidLevel level[kMaxLevels];
};
template <typename T>
void PyramidPool(Stream& stream, const Pyramid& pyramid, const T* x, T* y);
template <typename T, typename D>
void PyramidPoolGradient(Stream& stream, const Pyramid& pyramid, const T* x, const D* dy, D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_RESIZE_HPP_
