#ifndef CAFFE_LAYERS_ROWS_HPP_
#define CAFFE_LAYERS_ROWS_HPP_

#include <algorithm>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/core/as_stored.hpp"

// Parts of a blob that lie behind one another on an axis: what Concat makes of its bottoms and
// Slice of its bottom, and the other way round for gradients. Place is OnHost or OnGpu; rows(blob)
// is how a blob is cut along the axis: a layout, a `count` of rows and the `length` of one.
namespace caffe {

struct Rows {
  Layout layout;
  size_t count, length;
};

/// In Caffe's order or, `channels_last`, along the axis of channels, which lie last.
class PlainRows {
 public:
  PlainRows(int axis, bool channels_last) : axis_(axis), channels_last_(channels_last) {}

  template <typename Dtype>
  Rows operator()(const Blob<Dtype>& blob) const {
    if (!channels_last_) {
      return {Layout(), static_cast<size_t>(blob.count(0, axis_)),
              static_cast<size_t>(blob.count(axis_))};
    }
    const size_t length = blob.shape(axis_);
    return {ChannelsLast(blob.shape()), blob.count() / std::max<size_t>(1, length), length};
  }

 private:
  int axis_;
  bool channels_last_;
};

/// PlainRows, or with `block` channels that lie together, above 1.
class HostRows {
 public:
  HostRows(int axis, int block, bool channels_last)
      : plain_(axis, channels_last), block_(channels_last ? 1 : block) {}

  template <typename Dtype>
  Rows operator()(const Blob<Dtype>& blob) const {
    if (block_ == 1) return plain_(blob);
    const size_t num = blob.shape(0);
    const Layout layout = Layout::ChannelsBlocked(block_, num, blob.shape(1), blob.count(2));
    return {layout, num, layout.extent(0) / num};
  }

 private:
  PlainRows plain_;
  int block_;
};

/// A copy of some rows of `length` elements, from each x_stride to each y_stride.
template <typename T>
struct RowCopy {
  size_t length;
  const T* x;
  size_t x_stride;
  T* y;
  size_t y_stride;
};

/// The data of a blob, or its diff.
enum class Side { DATA, DIFF };
template <typename Dtype>
Tensor& TensorOf(const Blob<Dtype>& blob, Side side) {
  return side == Side::DATA ? blob.data_tensor() : blob.diff_tensor();
}

/// Writes the parts into the whole.
template <typename Place, typename T, typename RowsOf, typename Dtype>
void JoinRows(const RowsOf& rows_of, Side side, const std::vector<Blob<Dtype>*>& parts,
              const Blob<Dtype>& whole) {
  const auto all = rows_of(whole);
  std::vector<RowCopy<T>> copies;
  for (const Blob<Dtype>* part : parts) {
    const auto rows = rows_of(*part);
    const T* from = Place::template Read<T>(TensorOf(*part, side), rows.layout);
    copies.push_back({rows.length, from, rows.length, nullptr, all.length});
  }
  T* to = Place::template Overwrite<T>(TensorOf(whole, side), all.layout);
  for (RowCopy<T>& copy : copies) {
    copy.y = to;
    to += copy.length;
  }
  Place::CopyRows(all.count, copies);
}

/// Writes those parts of the whole that are `wanted`.
template <typename Place, typename T, typename RowsOf, typename Dtype>
void CutRows(const RowsOf& rows_of, Side side, const Blob<Dtype>& whole,
             const std::vector<bool>& wanted, const std::vector<Blob<Dtype>*>& parts) {
  const auto all = rows_of(whole);
  const T* from = Place::template Read<T>(TensorOf(whole, side), all.layout);
  std::vector<RowCopy<T>> copies;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto rows = rows_of(*parts[i]);
    if (wanted[i]) {
      T* to = Place::template Overwrite<T>(TensorOf(*parts[i], side), rows.layout);
      copies.push_back({rows.length, from, all.length, to, rows.length});
    }
    from += rows.length;
  }
  Place::CopyRows(all.count, copies);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_ROWS_HPP_
