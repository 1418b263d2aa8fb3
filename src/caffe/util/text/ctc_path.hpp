#ifndef CAFFE_UTIL_CTC_PATH_HPP_
#define CAFFE_UTIL_CTC_PATH_HPP_

#include <algorithm>
#include <vector>

namespace caffe {

/// The best path decoded: of each of `steps` rows of `classes` scores, `stride` elements apart, the
/// first largest one; of equal neighbours, if `merge`, the first; without blanks.
template <typename T>
std::vector<int> BestPathLabels(int steps, int classes, size_t stride, const T* scores, int blank,
                                bool merge) {
  std::vector<int> labels;
  int before = -1;
  for (int t = 0; t < steps; ++t) {
    const T* row = scores + t * stride;
    const int label = static_cast<int>(std::max_element(row, row + classes) - row);
    if (label != blank && !(merge && label == before)) labels.push_back(label);
    before = label;
  }
  return labels;
}

}  // namespace caffe

#endif  // CAFFE_UTIL_CTC_PATH_HPP_
