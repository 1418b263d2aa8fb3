#ifndef CAFFE_KERNELS_ROI_POOLING_HPP_
#define CAFFE_KERNELS_ROI_POOLING_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// The sizes of a feature map (items, channels, height, width) and of each region's result:
/// (pooled_height, pooled_width) for each of the output's channels.
struct RoiShape {
  size_t items = 0, channels = 0;
  int height = 0, width = 0;
  int pooled_height = 0, pooled_width = 0;

  size_t plane() const { return size_t(height) * width; }
  size_t bins() const { return size_t(pooled_height) * pooled_width; }
};

/// A part of an axis of the plane and the weight of each position on it; it may be empty.
struct Taps {
  int begin = 0;
  std::vector<float> weight;

  int end() const { return begin + static_cast<int>(weight.size()); }
};

/// A region: the bin (h, w) covers rows[h] x columns[w] of the planes of one item.
struct RoiBins {
  size_t item = 0;
  std::vector<Taps> rows, columns;
};

/// y(roi, c, h, w) = the largest value of channel c in the bin, whatever its weight, 0 if it is
/// empty; `index`, if not null, gets its position in the plane, the first of equal ones, or -1.
template <typename T>
void RoiMaxForward(const RoiShape& shape, const std::vector<RoiBins>& rois, const T* x, T* y,
                   int* index);
/// dx = dy at the positions in `index`, added up.
template <typename D>
void RoiMaxBackward(const RoiShape& shape, const std::vector<RoiBins>& rois, const D* dy,
                    const int* index, D* dx);

/// y(roi, c, h, w) = sum of row weight * column weight * x over the bin, x being channel c or, if
/// position_sensitive, channel (c * pooled_height + h) * pooled_width + w.
template <typename T>
void RoiSumForward(const RoiShape& shape, const std::vector<RoiBins>& rois, bool position_sensitive,
                   const T* x, T* y);
template <typename D>
void RoiSumBackward(const RoiShape& shape, const std::vector<RoiBins>& rois,
                    bool position_sensitive, const D* dy, D* dx);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_ROI_POOLING_HPP_
