#include "caffe/layers/detection_output_layer.hpp"

#include <limits>

#include "caffe/kernels/parallel.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/detection/detection_results.hpp"
#include "priors.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfDetectionOutput(const LayerParameter&, const std::vector<Shape>&) {
  return {{1, 1, 1, 7}};  // the number of detections is known only when they are found
}

const bool detection_output_registered = OperationTable::Add(Operation("DetectionOutput")
                                                                 .CpuOnly(kSequential)
                                                                 .Stateful()
                                                                 .Shapes(TopShapesOfDetectionOutput)
                                                                 .SizedByData()
                                                                 .BackwardReads(Operation::kNothing)
                                                                 .FloatBottoms({-1})
                                                                 .FloatTops({-1}));

void RefuseUnknown(const DetectionOutputParameter& p) {
  const auto refuse = [](bool given, const char* field) {
    Require(!given, Error::Field{"detection_output_param"}, ": ", field, " is not available",
            Error::Remedy{"leave it out"});
  };
  refuse(p.has_lm(), "has_lm (landmarks)");
  refuse(p.bias_scale_size() > 0, "bias_scale");
  refuse(p.class_type() == DetectionOutputParameter::LOGISTIC, "class_type LOGISTIC");
}

}  // namespace

template <typename Dtype>
struct DetectionOutputLayer<Dtype>::Detection {
  int label;
  float score;
  Box box;
};

template <typename Dtype>
void DetectionOutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                             const vector<Blob<Dtype>*>&) {
  const DetectionOutputParameter& param = this->layer_param_.detection_output_param();
  const NonMaximumSuppressionParameter& nms = param.nms_param();
  RefuseUnknown(param);
  Require(param.num_classes() > 0 && param.num_classes() < 1000000,
          Error::Field{"detection_output_param"}, ": num_classes must be given and positive, got ",
          param.num_classes());
  num_classes_ = static_cast<int>(param.num_classes());
  share_location_ = param.share_location();
  num_loc_classes_ = share_location_ ? 1 : num_classes_;
  background_label_id_ = param.background_label_id();
  code_ = std::make_shared<const BoxCode>(
      BoxCode{param.code_type(), param.variance_encoded_in_target(), param.normalized_bbox()});
  keep_top_k_ = param.keep_top_k();
  confidence_threshold_ = param.has_confidence_threshold() ? param.confidence_threshold()
                                                           : -std::numeric_limits<float>::max();
  nms_threshold_ = param.has_nms_param()    ? nms.nms_threshold()
                   : param.has_nms_thresh() ? param.nms_thresh()
                                            : param.nms_threshold();
  eta_ = nms.eta();
  top_k_ = nms.has_top_k() ? nms.top_k() : param.has_top_k() ? param.top_k() : -1;
  Require(nms_threshold_ >= 0, Error::Field{"detection_output_param"},
          ": nms_threshold must not be negative, got ", nms_threshold_);
  Require(eta_ > 0 && eta_ <= 1, Error::Field{"detection_output_param"},
          ": eta must be greater than 0 and at most 1, got ", eta_);
  soft_ = nms.soft_nms() || param.soft_nms();
  soft_suppression_ = std::make_shared<const SoftSuppression>(
      SoftSuppression{nms.soft_nms_method() == NonMaximumSuppressionParameter::GAUSSIAN,
                      nms.soft_nms_sigma(), nms_threshold_, confidence_threshold_});
  Require(nms.soft_nms_sigma() > 0, Error::Field{"detection_output_param"},
          ": soft_nms_sigma must be positive, got ", nms.soft_nms_sigma());
  Require(!soft_ || param.has_confidence_threshold(), Error::Field{"detection_output_param"},
          ": with soft_nms scores decay",
          Error::Remedy{"give confidence_threshold, at which they end"});
  results_.reset(new DetectionResults(param.save_output_param(), background_label_id_));
  LOG_IF(INFO, param.visualize()) << "detection_output_param: visualize is ignored";
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  num_priors_ = CountPriors("DetectionOutput", bottom);
  Require(bottom[0]->shape(0) == bottom[1]->shape(0), "locations ", ShapeString(bottom[0]->shape()),
          " and scores ", ShapeString(bottom[1]->shape()), " differ in number");
  CheckPredictions(bottom, num_priors_, num_loc_classes_, num_classes_);
  if (bottom.size() == 5) CheckFirstStage(bottom, 3, num_priors_);
  top[0]->Reshape({1, 1, 1, 7});
}

template <typename Dtype>
typename DetectionOutputLayer<Dtype>::Item DetectionOutputLayer<Dtype>::ItemOf(
    const vector<Blob<Dtype>*>& bottom, int i) const {
  const auto of = [&](size_t index) {
    return bottom[index]->cpu_data() + size_t(i) * bottom[index]->count(1);
  };
  Item item = {of(0), of(1), bottom[2]->cpu_data()};
  if (bottom.size() == 5) {
    item.objectness = of(3);
    item.first_locations = of(4);
  }
  return item;
}

/// By class: the scores above the threshold, the best first, and of those the best top_k.
template <typename Dtype>
vector<vector<ScoredIndex>> DetectionOutputLayer<Dtype>::Candidates(const Item& item) const {
  const float least = this->layer_param_.detection_output_param().objectness_score();
  vector<vector<ScoredIndex>> candidates(num_classes_);
  kernels::ParallelFor(num_classes_, 1, [&](size_t begin, size_t end) {
    for (int p = 0; p < num_priors_; ++p) {
      const Dtype* scores = item.scores + size_t(p) * num_classes_;
      const bool is_object = !item.objectness || !IsBackground(item.objectness, p, least);
      for (size_t c = begin; c < end; ++c) {
        const float score = is_object ? static_cast<float>(scores[c]) : 0.f;
        if (score > confidence_threshold_ && static_cast<int>(c) != background_label_id_) {
          candidates[c].emplace_back(score, p);
        }
      }
    }
    for (size_t c = begin; c < end; ++c) SortByScore(top_k_, &candidates[c]);
  });
  return candidates;
}

/// Where a first stage, if there is one, moved it.
template <typename Dtype>
Prior DetectionOutputLayer<Dtype>::PriorOf(const Item& item, int p) const {
  const Prior prior = ReadPrior(item.priors, num_priors_, p);
  return item.first_locations ? MovedPrior(prior, *code_, item.first_locations, p) : prior;
}

/// The boxes of all candidates, at [location class * priors + prior].
template <typename Dtype>
vector<Box> DetectionOutputLayer<Dtype>::DecodeBoxes(
    const Item& item, const vector<vector<ScoredIndex>>& candidates) const {
  const bool clip = this->layer_param_.detection_output_param().clip();
  vector<bool> wanted(size_t(num_loc_classes_) * num_priors_, false);
  for (int c = 0; c < num_classes_; ++c) {
    const size_t first = share_location_ ? 0 : size_t(c) * num_priors_;
    for (const ScoredIndex& candidate : candidates[c]) wanted[first + candidate.second] = true;
  }
  vector<Box> boxes(wanted.size());
  kernels::ParallelFor(wanted.size(), 4096, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!wanted[i]) continue;
      const size_t p = i % num_priors_, c = i / num_priors_;
      const Dtype* l = item.locations + (p * num_loc_classes_ + c) * 4;
      const Box box = Decode(PriorOf(item, static_cast<int>(p)), *code_,
                             {float(l[0]), float(l[1]), float(l[2]), float(l[3])});
      boxes[i] = clip ? Clipped(box) : box;
    }
  });
  return boxes;
}

/// What suppression leaves of one class's candidates, and their scores.
template <typename Dtype>
vector<ScoredIndex> DetectionOutputLayer<Dtype>::Kept(const Box* boxes,
                                                      const vector<ScoredIndex>& candidates) const {
  if (soft_) return SoftlySuppress(boxes, candidates, *soft_suppression_, code_->normalized);
  const vector<int> indices = Suppress(boxes, candidates, nms_threshold_, eta_, code_->normalized);
  vector<ScoredIndex> kept;
  size_t next = 0;  // both are in the same order
  for (const ScoredIndex& candidate : candidates) {
    if (next == indices.size()) break;
    if (candidate.second != indices[next]) continue;
    kept.push_back(candidate);
    ++next;
  }
  return kept;
}

template <typename Dtype>
vector<typename DetectionOutputLayer<Dtype>::Detection> DetectionOutputLayer<Dtype>::DetectItem(
    const Item& item) const {
  const vector<vector<ScoredIndex>> candidates = Candidates(item);
  const vector<Box> boxes = DecodeBoxes(item, candidates);
  vector<vector<ScoredIndex>> kept(num_classes_);
  kernels::ParallelFor(num_classes_, 1, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      const Box* own = boxes.data() + (share_location_ ? 0 : c * num_priors_);
      kept[c] = Kept(own, candidates[c]);
    }
  });
  vector<Detection> detections;
  vector<ScoredIndex> order;
  for (int c = 0; c < num_classes_; ++c) {
    for (const auto& [score, p] : kept[c]) {
      order.emplace_back(score, static_cast<int>(detections.size()));
      detections.push_back({c, score, boxes[(share_location_ ? 0 : size_t(c) * num_priors_) + p]});
    }
  }
  if (keep_top_k_ < 0 || detections.size() <= static_cast<size_t>(keep_top_k_)) return detections;
  SortByScore(keep_top_k_, &order);
  vector<Detection> best;
  for (const ScoredIndex& scored : order) best.push_back(detections[scored.second]);
  std::stable_sort(best.begin(), best.end(),
                   [](const Detection& a, const Detection& b) { return a.label < b.label; });
  return best;
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const int items = bottom[0]->shape(0);
  vector<vector<Detection>> detections;
  int count = 0;
  for (int i = 0; i < items; ++i) {
    detections.push_back(DetectItem(ItemOf(bottom, i)));
    count += static_cast<int>(detections.back().size());
  }
  top[0]->Reshape({1, 1, count > 0 ? count : items, 7});
  Dtype* row = top[0]->mutable_cpu_data();
  for (int i = 0; i < items; ++i) {
    if (count == 0) {
      std::fill_n(row, 7, Dtype(-1));
      row[0] = i;
      row += 7;
    }
    for (const Detection& d : detections[i]) {
      const float values[] = {float(i),   float(d.label), d.score,   d.box.xmin,
                              d.box.ymin, d.box.xmax,     d.box.ymax};
      row = std::copy(values, values + 7, row);
    }
  }
  Save(detections);
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Save(const vector<vector<Detection>>& items) {
  if (!results_->wanted()) return;
  for (const vector<Detection>& item : items) {
    for (const Detection& d : item) results_->Add(d.label, d.score, d.box);
    results_->NextImage();
  }
}

INSTANTIATE_CLASS(DetectionOutputLayer);
REGISTER_LAYER_CLASS(DetectionOutput);

}  // namespace caffe
