#ifndef CAFFE_UTIL_REGIONS_HPP_
#define CAFFE_UTIL_REGIONS_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/util/detection/box.hpp"

namespace caffe {

// What the layers of region proposal networks share (Ren et al. 2015, "Faster R-CNN", section 3).
// Corners are pixels: a side is max - min + 1.

/// The anchors of the cell at (0, 0): for each ratio (height / width), for each scale, a box around
/// the cell's middle whose area is that of base_size^2, rounded to whole pixels before it is
/// scaled. Throws Error, which names `message`, for sizes that are not positive.
std::vector<Box> CellAnchors(const std::string& message, float base_size,
                             const std::vector<float>& ratios, const std::vector<float>& scales);

/// The box some pixels to the right and below.
Box Moved(const Box& box, float x, float y);

/// How a region is encoded relative to an anchor, and a true box relative to a region.
BoxCode RegionCode();

/// Rows of corners and class, one a true box of an image.
struct LabelledBox {
  Box box;
  float label = 0;
};
/// A blob (G, 5) of such rows; G may be 0. Throws Error for other shapes.
template <typename Dtype>
std::vector<LabelledBox> ReadLabelledBoxes(const Blob<Dtype>& blob);

/// Which true box each box overlaps most (of equals the first; -1 without any), and by how much.
struct BestOverlap {
  int truth = -1;
  float overlap = 0;
};
BestOverlap FindBestOverlap(const Box& box, const std::vector<LabelledBox>& truths);

/// Keeps `limit` of the indices, chosen at random by the calling thread's generator; all, and
/// nothing is drawn, where there are no more.
void KeepAtRandom(size_t limit, std::vector<int>* indices);

}  // namespace caffe

#endif  // CAFFE_UTIL_REGIONS_HPP_
