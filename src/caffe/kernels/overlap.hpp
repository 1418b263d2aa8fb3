#ifndef CAFFE_KERNELS_OVERLAP_HPP_
#define CAFFE_KERNELS_OVERLAP_HPP_

#include <cstddef>
#include <vector>

namespace caffe::kernels {

/// Boxes, with an array for each corner and one for the areas, that another box is compared with
/// all at once.
class BoxArrays {
 public:
  /// A box by xmin, ymin, xmax, ymax, and its area.
  struct Row {
    float numbers[5];
  };
  size_t size() const { return size_; }
  void Add(const Row& box);
  /// True if the intersection of `box` with one of the boxes, over their union, is above
  /// `threshold`, which is not negative. `more` is what a side is longer than max - min: 0, or 1
  /// for pixels. Boxes that do not meet, or whose union is not a positive number, do not overlap.
  bool Overlap(const Row& box, float more, float threshold) const;

 private:
  size_t size_ = 0;
  std::vector<float> arrays_[5];  // filled up to whole vectors with boxes that meet no other
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_OVERLAP_HPP_
