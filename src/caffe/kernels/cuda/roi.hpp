#ifndef CAFFE_KERNELS_CUDA_ROI_HPP_
#define CAFFE_KERNELS_CUDA_ROI_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

/// Parts of one axis for all regions, in device memory: part p of region r is number
/// r * parts + p; it covers [begin, begin + start[number + 1] - start[number]) with the weights
/// weight[start[number]], ...
struct RoiParts {
  int parts;
  const int *begin, *start;
  const float* weight;
};

/// kernels::RoiShape and the RoiBins of all regions; item[r] is the region's.
struct RoiBins {
  int regions, items, channels, height, width;
  const int* item;
  RoiParts rows, columns;
};

// As the kernels of these names in kernels/roi_pooling.hpp; gradients are gathered, so sums are the
// same in each run.

template <typename T>
void RoiMaxForward(Stream& stream, const RoiBins& bins, const T* x, T* y, int* index);
template <typename D>
void RoiMaxBackward(Stream& stream, const RoiBins& bins, const D* dy, const int* index, D* dx);
template <typename T>
void RoiSumForward(Stream& stream, const RoiBins& bins, bool position_sensitive, const T* x, T* y);
template <typename D>
void RoiSumBackward(Stream& stream, const RoiBins& bins, bool position_sensitive, const D* dy,
                    D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_ROI_HPP_
