#include "caffe/layers/detection_evaluate_layer.hpp"

#include <algorithm>

namespace caffe {
namespace {

// The shape depends on how many detections there are.
const bool detection_evaluate_registered =
    OperationTable::Add(Operation("DetectionEvaluate")
                            .Scores()
                            .CpuOnly(kSequential)
                            .Stateful()
                            .BackwardReads(Operation::kNothing)
                            .FloatBottoms({-1})
                            .FloatTops({-1}));

}  // namespace

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                               const vector<Blob<Dtype>*>&) {
  const DetectionEvaluateParameter& param = this->layer_param_.detection_evaluate_param();
  Require(param.num_classes() > 0 && param.num_classes() < 1000000,
          Error::Field{"detection_evaluate_param"},
          ": num_classes must be given and positive, got ", param.num_classes());
  Require(param.overlap_threshold() > 0, Error::Field{"detection_evaluate_param"},
          ": overlap_threshold must be positive, got ", param.overlap_threshold());
  Require(!param.has_lm(), Error::Field{"detection_evaluate_param"},
          ": has_lm (landmarks) is not available");
  num_classes_ = static_cast<int>(param.num_classes());
  background_label_id_ = static_cast<int>(param.background_label_id());
  overlap_threshold_ = param.overlap_threshold();
  evaluate_difficult_gt_ = param.evaluate_difficult_gt();
  if (!param.name_size_file().empty()) sizes_ = ReadNameSizeFile(param.name_size_file());
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  Require(bottom[0]->num_axes() == 4 && bottom[0]->count(0, 2) == 1 && bottom[0]->shape(3) == 7,
          "DetectionEvaluate takes detections of shape (1, 1, N, 7), not ",
          ShapeString(bottom[0]->shape()));
  Require(bottom[1]->num_axes() == 4 && bottom[1]->count(0, 2) == 1 && bottom[1]->shape(3) == 8,
          "DetectionEvaluate takes true boxes of shape (1, 1, N, 8), not ",
          ShapeString(bottom[1]->shape()));
  const bool background = background_label_id_ >= 0 && background_label_id_ < num_classes_;
  const Dtype* detections = bottom[0]->cpu_data();
  int rows = num_classes_ - (background ? 1 : 0);
  for (int i = 0; i < bottom[0]->height(); ++i) {
    rows += detections[i * 7] != -1 && detections[i * 7 + 1] != -1;
  }
  top[0]->Reshape({1, 1, rows, 5});
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::InPixels(vector<NormalizedBBox>* boxes) const {
  if (sizes_.empty()) return;
  const DetectionEvaluateParameter& param = this->layer_param_.detection_evaluate_param();
  const NamedSize& size = sizes_[image_];
  for (NormalizedBBox& box : *boxes) {
    const NormalizedBBox fractions = box;
    OutputBBox(fractions, {size.height, size.width}, param.has_resize_param(), param.resize_param(),
               &box);
  }
}

/// Writes a row for each detection of one image.
template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Judge(int item, const LabelBBox& detections,
                                          const LabelBBox& truths, Dtype** row) {
  for (const auto& of_label : detections) {
    const int label = of_label.first;
    if (label == -1) continue;
    vector<NormalizedBBox> found = of_label.second, wanted;
    if (truths.count(label)) wanted = truths.at(label);
    std::stable_sort(found.begin(), found.end(), SortBBoxDescend);
    InPixels(&found);
    InPixels(&wanted);
    vector<bool> visited(wanted.size(), false);
    for (const NormalizedBBox& bbox : found) {
      float best = -1;
      size_t which = 0;
      for (size_t j = 0; j < wanted.size(); ++j) {
        const float overlap = JaccardOverlap(bbox, wanted[j], sizes_.empty());
        if (overlap > best) {
          best = overlap;
          which = j;
        }
      }
      const bool hit = best >= overlap_threshold_;
      const bool counts = !hit || evaluate_difficult_gt_ || !wanted[which].difficult();
      const bool right = hit && !visited[which];
      if (hit && counts) visited[which] = true;
      const Dtype values[] = {Dtype(item), Dtype(label), Dtype(bbox.score()),
                              Dtype(counts && right), Dtype(counts && !right)};
      *row = std::copy(values, values + 5, *row);
    }
  }
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  std::map<int, LabelBBox> detections, truths;
  GetDetectionResults(bottom[0]->cpu_data(), bottom[0]->height(), background_label_id_,
                      &detections);
  GetGroundTruth(bottom[1]->cpu_data(), bottom[1]->height(), background_label_id_, true, &truths);
  std::map<int, int> positives;
  for (const auto& item : truths) {
    for (const auto& of_label : item.second) {
      for (const NormalizedBBox& bbox : of_label.second) {
        positives[of_label.first] += evaluate_difficult_gt_ || !bbox.difficult();
      }
    }
  }
  Dtype* row = top[0]->mutable_cpu_data();
  for (int label = 0; label < num_classes_; ++label) {
    if (label == background_label_id_) continue;
    const Dtype values[] = {-1, Dtype(label), Dtype(positives[label]), -1, -1};
    row = std::copy(values, values + 5, row);
  }
  for (const auto& item : detections) {
    Judge(item.first, item.second, truths[item.first], &row);
    if (!sizes_.empty()) image_ = (image_ + 1) % sizes_.size();
  }
  CHECK_EQ(row - top[0]->cpu_data(), top[0]->count());
}

INSTANTIATE_CLASS(DetectionEvaluateLayer);
REGISTER_LAYER_CLASS(DetectionEvaluate);

}  // namespace caffe
