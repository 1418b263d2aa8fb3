#include "caffe/util/detection/regions.hpp"

#include <cmath>

#include "caffe/error.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

float Rounded(float x) { return std::floor(x + 0.5f); }

}  // namespace

std::vector<Box> CellAnchors(const std::string& message, float base_size,
                             const std::vector<float>& ratios, const std::vector<float>& scales) {
  Require(base_size > 0 && base_size < 100000, message, ": base_size must be positive, got ",
          base_size);
  const float area = base_size * base_size, middle = 0.5f * (base_size - 1);
  std::vector<Box> anchors;
  for (const float ratio : ratios) {
    Require(ratio > 0, message, ": ratio must be positive, got ", ratio);
    const float width = Rounded(std::sqrt(area / ratio)), height = Rounded(width * ratio);
    for (const float scale : scales) {
      Require(scale > 0, message, ": scale must be positive, got ", scale);
      const float x = 0.5f * (width * scale - 1), y = 0.5f * (height * scale - 1);
      anchors.push_back({middle - x, middle - y, middle + x, middle + y});
    }
  }
  return anchors;
}

Box Moved(const Box& box, float x, float y) {
  return {box.xmin + x, box.ymin + y, box.xmax + x, box.ymax + y};
}

BoxCode RegionCode() { return {PriorBoxParameter_CodeType_CENTER_SIZE, true, false}; }

template <typename Dtype>
std::vector<LabelledBox> ReadLabelledBoxes(const Blob<Dtype>& blob) {
  constexpr int kNumbers = 5;
  Require(blob.num_axes() == 2 && blob.shape(1) == kNumbers,
          "the true boxes must have shape (G, 5), rows of corners and class, not ",
          ShapeString(blob.shape()));
  std::vector<LabelledBox> truths(blob.shape(0));
  const Dtype* row = blob.cpu_data();
  for (LabelledBox& truth : truths) {
    truth.box = {float(row[0]), float(row[1]), float(row[2]), float(row[3])};
    truth.label = float(row[4]);
    row += kNumbers;
  }
  return truths;
}

template std::vector<LabelledBox> ReadLabelledBoxes(const Blob<float>&);
template std::vector<LabelledBox> ReadLabelledBoxes(const Blob<double>&);

BestOverlap FindBestOverlap(const Box& box, const std::vector<LabelledBox>& truths) {
  BestOverlap best;
  for (size_t i = 0; i < truths.size(); ++i) {
    const float overlap = Overlap(box, truths[i].box, false);
    if (best.truth < 0 || overlap > best.overlap) best = {static_cast<int>(i), overlap};
  }
  return best;
}

void KeepAtRandom(size_t limit, std::vector<int>* indices) {
  if (indices->size() <= limit) return;
  shuffle(indices->begin(), indices->end());
  indices->resize(limit);
}

}  // namespace caffe
