#include "caffe/util/bbox_util.hpp"

#include <algorithm>
#include <limits>

#include "caffe/util/detection/box.hpp"
#include "caffe/util/detection/detection_scores.hpp"

namespace caffe {

Box BoxOf(const NormalizedBBox& bbox) {
  return {bbox.xmin(), bbox.ymin(), bbox.xmax(), bbox.ymax()};
}

void SetBox(const Box& box, NormalizedBBox* bbox, bool normalized) {
  bbox->set_xmin(box.xmin);
  bbox->set_ymin(box.ymin);
  bbox->set_xmax(box.xmax);
  bbox->set_ymax(box.ymax);
  bbox->set_size(Area(box, normalized));
}

bool SortBBoxAscend(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2) {
  return bbox1.score() < bbox2.score();
}
bool SortBBoxDescend(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2) {
  return bbox1.score() > bbox2.score();
}

NormalizedBBox UnitBBox() {
  NormalizedBBox unit;
  SetBox({0, 0, 1, 1}, &unit);
  return unit;
}

bool IsCrossBoundaryBBox(const NormalizedBBox& bbox) { return CrossesBoundary(BoxOf(bbox)); }

void IntersectBBox(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2,
                   NormalizedBBox* intersect_bbox) {
  SetBox(Intersection(BoxOf(bbox1), BoxOf(bbox2)), intersect_bbox);
}

float BBoxSize(const NormalizedBBox& bbox, const bool normalized) {
  const Box box = BoxOf(bbox);
  if (box.xmax < box.xmin || box.ymax < box.ymin) return 0;
  return bbox.has_size() ? bbox.size() : Area(box, normalized);
}

namespace {

/// Sets `to` to the moved box; the flag `difficult` stays that of `from`.
void SetMoved(const NormalizedBBox& from, const Box& box, bool normalized, NormalizedBBox* to) {
  const bool difficult = from.difficult();  // `to` may be `from`
  SetBox(box, to, normalized);
  to->set_difficult(difficult);
}

}  // namespace

void ClipBBox(const NormalizedBBox& bbox, NormalizedBBox* clip_bbox) {
  SetMoved(bbox, Clipped(BoxOf(bbox)), true, clip_bbox);
}

void ClipBBox(const NormalizedBBox& bbox, const float height, const float width,
              NormalizedBBox* clip_bbox) {
  SetMoved(bbox, Clipped(BoxOf(bbox), height, width), true, clip_bbox);
}

void ScaleBBox(const NormalizedBBox& bbox, const int height, const int width,
               NormalizedBBox* scale_bbox) {
  const bool pixels = width > 1 || height > 1;
  SetMoved(bbox, Scaled(BoxOf(bbox), height, width), !pixels, scale_bbox);
}

void OutputBBox(const NormalizedBBox& bbox, const std::pair<int, int>& img_size,
                const bool has_resize, const ResizeParameter& resize_param,
                NormalizedBBox* out_bbox) {
  const int height = img_size.first, width = img_size.second;
  Box box = BoxOf(bbox);
  if (has_resize && resize_param.resize_mode() == ResizeParameter::FIT_SMALL_SIZE &&
      resize_param.height_scale() > 0 && resize_param.width_scale() > 0) {
    box = Scaled(box, resize_param.height_scale(), resize_param.width_scale());
    return SetMoved(bbox, Clipped(box, height, width), false, out_bbox);
  }
  if (has_resize && resize_param.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD) {
    // The part between the bars that pad the image.
    const float resized_h = resize_param.height(), resized_w = resize_param.width();
    const float aspect = float(width) / height;
    const float bar_w = std::max(0.f, (resized_w - resized_h * aspect) / 2);
    const float bar_h = std::max(0.f, (resized_h - resized_w / aspect) / 2);
    const float inner_w = resized_w - 2 * bar_w, inner_h = resized_h - 2 * bar_h;
    box = Scaled(box, resized_h, resized_w);
    box = {(box.xmin - bar_w) / inner_w, (box.ymin - bar_h) / inner_h, (box.xmax - bar_w) / inner_w,
           (box.ymax - bar_h) / inner_h};
  }
  NormalizedBBox clipped;
  SetMoved(bbox, Clipped(box), true, &clipped);
  ScaleBBox(clipped, height, width, out_bbox);
}

void LocateBBox(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                NormalizedBBox* loc_bbox) {
  const float width = src_bbox.xmax() - src_bbox.xmin();
  const float height = src_bbox.ymax() - src_bbox.ymin();
  const float x = src_bbox.xmin(), y = src_bbox.ymin();
  const Box b = Scaled(BoxOf(bbox), height, width);
  SetMoved(bbox, {x + b.xmin, y + b.ymin, x + b.xmax, y + b.ymax}, true, loc_bbox);
}

bool ProjectBBox(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                 NormalizedBBox* proj_bbox) {
  const Box s = BoxOf(src_bbox), b = BoxOf(bbox);
  if (b.xmin >= s.xmax || b.xmax <= s.xmin || b.ymin >= s.ymax || b.ymax <= s.ymin) return false;
  const float width = s.xmax - s.xmin, height = s.ymax - s.ymin;
  const Box inside = {(b.xmin - s.xmin) / width, (b.ymin - s.ymin) / height,
                      (b.xmax - s.xmin) / width, (b.ymax - s.ymin) / height};
  SetMoved(bbox, Clipped(inside), true, proj_bbox);
  return proj_bbox->size() > 0;
}

void ExtrapolateBBox(const ResizeParameter& param, const int height, const int width,
                     const NormalizedBBox& crop_bbox, NormalizedBBox* bbox) {
  const float height_scale = param.height_scale(), width_scale = param.width_scale();
  if (param.resize_mode() != ResizeParameter::FIT_SMALL_SIZE || height_scale <= 0 ||
      width_scale <= 0) {
    return;
  }
  // The shorter side is as the parameter says, the aspect is kept.
  const float aspect = float(width) / height;
  const float resized_h = std::max<float>(param.height(), param.width() / aspect);
  const float resized_w = resized_h * aspect;
  const float crop_h = resized_h * (crop_bbox.ymax() - crop_bbox.ymin());
  const float crop_w = resized_w * (crop_bbox.xmax() - crop_bbox.xmin());
  Require(crop_w >= width_scale && crop_h >= height_scale, "resize_param: the crop of ", crop_h,
          " x ", crop_w, " is smaller than height_scale and width_scale");
  SetMoved(*bbox, Scaled(BoxOf(*bbox), crop_h / height_scale, crop_w / width_scale), true, bbox);
}

void UpdateBBoxByResizePolicy(const ResizeParameter& param, const int old_width,
                              const int old_height, NormalizedBBox* bbox) {
  // WARP and FIT_SMALL_SIZE keep fractions as they are.
  Box b = Clipped(BoxOf(*bbox));
  if (param.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD) {
    const float aspect = float(old_width) / old_height;
    const float height = param.height(), width = param.width();
    const float bar_w = std::max(0.f, (width - height * aspect) / 2) / width;
    const float bar_h = std::max(0.f, (height - width / aspect) / 2) / height;
    const float inner_w = 1 - 2 * bar_w, inner_h = 1 - 2 * bar_h;
    b = {bar_w + b.xmin * inner_w, bar_h + b.ymin * inner_h, bar_w + b.xmax * inner_w,
         bar_h + b.ymax * inner_h};
  }
  SetMoved(*bbox, b, true, bbox);
}

float JaccardOverlap(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2,
                     const bool normalized) {
  return Overlap(BoxOf(bbox1), BoxOf(bbox2), normalized);
}

float BBoxCoverage(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2) {
  return Coverage(BoxOf(bbox1), BoxOf(bbox2));
}

bool MeetEmitConstraint(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                        const EmitConstraint& emit_constraint) {
  if (emit_constraint.emit_type() == EmitConstraint::MIN_OVERLAP) {
    return BBoxCoverage(bbox, src_bbox) > emit_constraint.emit_overlap();
  }
  const float x = (bbox.xmin() + bbox.xmax()) / 2, y = (bbox.ymin() + bbox.ymax()) / 2;
  return x >= src_bbox.xmin() && x <= src_bbox.xmax() && y >= src_bbox.ymin() &&
         y <= src_bbox.ymax();
}

namespace {

Prior PriorOf(const NormalizedBBox& bbox, const vector<float>& variance) {
  Require(variance.size() == 4, "a prior box has 4 variances, not ", variance.size());
  Prior prior;
  prior.box = BoxOf(bbox);
  std::copy(variance.begin(), variance.end(), prior.variance);
  return prior;
}

}  // namespace

void EncodeBBox(const NormalizedBBox& prior_bbox, const vector<float>& prior_variance,
                const CodeType code_type, const bool encode_variance_in_target,
                const NormalizedBBox& bbox, NormalizedBBox* encode_bbox) {
  const BoxCode code = {code_type, encode_variance_in_target};
  SetBox(Encode(PriorOf(prior_bbox, prior_variance), code, BoxOf(bbox)), encode_bbox);
  encode_bbox->clear_size();
}

void DecodeBBox(const NormalizedBBox& prior_bbox, const vector<float>& prior_variance,
                const CodeType code_type, const bool variance_encoded_in_target,
                const bool clip_bbox, const NormalizedBBox& bbox, NormalizedBBox* decode_bbox) {
  const BoxCode code = {code_type, variance_encoded_in_target};
  const Box box = Decode(PriorOf(prior_bbox, prior_variance), code, BoxOf(bbox));
  SetBox(clip_bbox ? Clipped(box) : box, decode_bbox);
}

void DecodeBBoxes(const vector<NormalizedBBox>& prior_bboxes,
                  const vector<vector<float>>& prior_variances, const CodeType code_type,
                  const bool variance_encoded_in_target, const bool clip_bbox,
                  const vector<NormalizedBBox>& bboxes, vector<NormalizedBBox>* decode_bboxes) {
  Require(prior_bboxes.size() == bboxes.size() && prior_variances.size() == bboxes.size(),
          "boxes, priors and variances differ in number");
  decode_bboxes->assign(bboxes.size(), NormalizedBBox());
  for (size_t i = 0; i < bboxes.size(); ++i) {
    DecodeBBox(prior_bboxes[i], prior_variances[i], code_type, variance_encoded_in_target,
               clip_bbox, bboxes[i], &(*decode_bboxes)[i]);
  }
}

void MatchBBox(const vector<NormalizedBBox>& gt, const vector<NormalizedBBox>& pred_bboxes,
               const int label, const MatchType match_type, const float overlap_threshold,
               const bool ignore_cross_boundary_bbox, vector<int>* match_indices,
               vector<float>* match_overlaps) {
  vector<Box> truths, predictions;
  vector<int> index;
  for (size_t i = 0; i < gt.size(); ++i) {
    if (label != -1 && gt[i].label() != label) continue;
    truths.push_back(BoxOf(gt[i]));
    index.push_back(static_cast<int>(i));
  }
  for (const NormalizedBBox& bbox : pred_bboxes) predictions.push_back(BoxOf(bbox));
  Matches matches =
      Match(truths, predictions, match_type, overlap_threshold, ignore_cross_boundary_bbox);
  for (int& match : matches.index) match = match >= 0 ? index[match] : match;
  *match_indices = std::move(matches.index);
  *match_overlaps = std::move(matches.overlap);
}

namespace {

template <typename Dtype, typename Function>
void ForEachTruth(const Dtype* data, int rows, int background, bool use_difficult, Function&& f) {
  for (const TrueBox& truth : ReadTruths(data, rows, background)) {
    if (truth.difficult && !use_difficult) continue;
    NormalizedBBox bbox;
    SetBox(truth.box, &bbox);
    bbox.set_label(truth.label);
    bbox.set_difficult(truth.difficult);
    f(truth.item, bbox);
  }
}

}  // namespace

template <typename Dtype>
void GetGroundTruth(const Dtype* gt_data, const int num_gt, const int background_label_id,
                    const bool use_difficult_gt,
                    std::map<int, vector<NormalizedBBox>>* all_gt_bboxes) {
  all_gt_bboxes->clear();
  ForEachTruth(
      gt_data, num_gt, background_label_id, use_difficult_gt,
      [&](int item, const NormalizedBBox& bbox) { (*all_gt_bboxes)[item].push_back(bbox); });
}

template <typename Dtype>
void GetGroundTruth(const Dtype* gt_data, const int num_gt, const int background_label_id,
                    const bool use_difficult_gt, std::map<int, LabelBBox>* all_gt_bboxes) {
  all_gt_bboxes->clear();
  ForEachTruth(gt_data, num_gt, background_label_id, use_difficult_gt,
               [&](int item, const NormalizedBBox& bbox) {
                 (*all_gt_bboxes)[item][bbox.label()].push_back(bbox);
               });
}

template <typename Dtype>
void GetLocPredictions(const Dtype* loc_data, const int num, const int num_preds_per_class,
                       const int num_loc_classes, const bool share_location,
                       vector<LabelBBox>* loc_preds) {
  Require(!share_location || num_loc_classes == 1, "shared locations have one class");
  loc_preds->assign(num, LabelBBox());
  for (LabelBBox& item : *loc_preds) {
    for (int p = 0; p < num_preds_per_class; ++p) {
      for (int c = 0; c < num_loc_classes; ++c, loc_data += 4) {
        NormalizedBBox bbox;
        SetBox({float(loc_data[0]), float(loc_data[1]), float(loc_data[2]), float(loc_data[3])},
               &bbox);
        bbox.clear_size();
        item[share_location ? -1 : c].push_back(bbox);
      }
    }
  }
}

template <typename Dtype>
void GetConfidenceScores(const Dtype* conf_data, const int num, const int num_preds_per_class,
                         const int num_classes, vector<std::map<int, vector<float>>>* conf_scores) {
  conf_scores->assign(num, {});
  for (auto& item : *conf_scores) {
    for (int p = 0; p < num_preds_per_class; ++p) {
      for (int c = 0; c < num_classes; ++c) item[c].push_back(static_cast<float>(*conf_data++));
    }
  }
}

template <typename Dtype>
void GetPriorBBoxes(const Dtype* prior_data, const int num_priors,
                    vector<NormalizedBBox>* prior_bboxes, vector<vector<float>>* prior_variances) {
  prior_bboxes->clear();
  prior_variances->clear();
  for (const Prior& prior : ReadPriors(prior_data, num_priors)) {
    prior_bboxes->emplace_back();
    SetBox(prior.box, &prior_bboxes->back());
    prior_variances->emplace_back(prior.variance, prior.variance + 4);
  }
}

template <typename Dtype>
void GetDetectionResults(const Dtype* det_data, const int num_det, const int background_label_id,
                         std::map<int, std::map<int, vector<NormalizedBBox>>>* all_detections) {
  all_detections->clear();
  for (int i = 0; i < num_det; ++i, det_data += 7) {
    const int item = static_cast<int>(det_data[0]);
    if (item == -1) continue;
    const int label = static_cast<int>(det_data[1]);
    Require(label == -1 || label != background_label_id, "detection number ", i, " has label ",
            label, ", which is background_label_id");
    NormalizedBBox bbox;
    SetBox({float(det_data[3]), float(det_data[4]), float(det_data[5]), float(det_data[6])}, &bbox);
    bbox.set_score(static_cast<float>(det_data[2]));
    (*all_detections)[item][label].push_back(bbox);
  }
}

#define INSTANTIATE_READERS(Dtype)                                                           \
  template void GetGroundTruth(const Dtype*, const int, const int, const bool,               \
                               std::map<int, vector<NormalizedBBox>>*);                      \
  template void GetGroundTruth(const Dtype*, const int, const int, const bool,               \
                               std::map<int, LabelBBox>*);                                   \
  template void GetLocPredictions(const Dtype*, const int, const int, const int, const bool, \
                                  vector<LabelBBox>*);                                       \
  template void GetConfidenceScores(const Dtype*, const int, const int, const int,           \
                                    vector<std::map<int, vector<float>>>*);                  \
  template void GetPriorBBoxes(const Dtype*, const int, vector<NormalizedBBox>*,             \
                               vector<vector<float>>*);                                      \
  template void GetDetectionResults(const Dtype*, const int, const int,                      \
                                    std::map<int, std::map<int, vector<NormalizedBBox>>>*);
INSTANTIATE_READERS(float)
INSTANTIATE_READERS(double)
#undef INSTANTIATE_READERS

void GetTopKScoreIndex(const vector<float>& scores, const vector<int>& indices, const int top_k,
                       vector<std::pair<float, int>>* score_index_vec) {
  Require(scores.size() == indices.size(), "scores and indices differ in number");
  score_index_vec->clear();
  for (size_t i = 0; i < scores.size(); ++i) score_index_vec->emplace_back(scores[i], indices[i]);
  SortByScore(top_k, score_index_vec);
}

void GetMaxScoreIndex(const vector<float>& scores, const float threshold, const int top_k,
                      vector<std::pair<float, int>>* score_index_vec) {
  score_index_vec->clear();
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > threshold) score_index_vec->emplace_back(scores[i], static_cast<int>(i));
  }
  SortByScore(top_k, score_index_vec);
}

void ApplyNMS(const vector<NormalizedBBox>& bboxes, const vector<float>& scores,
              const float threshold, const int top_k, vector<int>* indices) {
  ApplyNMSFast(bboxes, scores, -std::numeric_limits<float>::infinity(), threshold, 1, top_k,
               indices);
}

void ApplyNMSFast(const vector<NormalizedBBox>& bboxes, const vector<float>& scores,
                  const float score_threshold, const float nms_threshold, const float eta,
                  const int top_k, vector<int>* indices) {
  Require(bboxes.size() == scores.size(), "boxes and scores differ in number");
  vector<Box> boxes;
  for (const NormalizedBBox& bbox : bboxes) boxes.push_back(BoxOf(bbox));
  vector<ScoredIndex> candidates;
  GetMaxScoreIndex(scores, score_threshold, top_k, &candidates);
  *indices = Suppress(boxes.data(), candidates, nms_threshold, eta);
}

void CumSum(const vector<std::pair<float, int>>& pairs, vector<int>* cumsum) {
  vector<std::pair<float, int>> sorted = pairs;
  SortByScore(-1, &sorted);
  cumsum->clear();
  int sum = 0;
  for (const auto& pair : sorted) cumsum->push_back(sum += pair.second);
}

namespace {

float ElevenPoint(const vector<float>& precision, const vector<float>& recall) {
  float sum = 0;
  for (int step = 0; step <= 10; ++step) {
    float best = 0;
    for (size_t i = 0; i < recall.size(); ++i) {
      if (recall[i] >= step / 10.) best = std::max(best, precision[i]);
    }
    sum += best / 11;
  }
  return sum;
}

/// The area under a precision that is constant on each step of the recall.
float AreaUnder(const vector<float>& precision, const vector<float>& recall) {
  float area = 0, before = 0;
  for (size_t i = 0; i < recall.size(); ++i) {
    area += (recall[i] - before) * precision[i];
    before = recall[i];
  }
  return area;
}

}  // namespace

void ComputeAP(const vector<std::pair<float, int>>& tp, const int num_pos,
               const vector<std::pair<float, int>>& fp, const string ap_version,
               vector<float>* prec, vector<float>* rec, float* ap) {
  RequireApVersion(ap_version);
  Require(tp.size() == fp.size(), "true and false positives differ in number: ", tp.size(), " and ",
          fp.size());
  prec->clear();
  rec->clear();
  *ap = 0;
  if (tp.empty() || num_pos == 0) return;
  vector<int> true_sum, false_sum;
  CumSum(tp, &true_sum);
  CumSum(fp, &false_sum);
  for (size_t i = 0; i < tp.size(); ++i) {
    const int found = true_sum[i] + false_sum[i];
    prec->push_back(found > 0 ? float(true_sum[i]) / found : 0.f);
    rec->push_back(float(true_sum[i]) / num_pos);
  }
  if (ap_version == "11point") {
    *ap = ElevenPoint(*prec, *rec);
  } else if (ap_version == "Integral") {
    *ap = AreaUnder(*prec, *rec);
  } else {
    vector<float> best = *prec;  // at this recall or a higher one
    for (size_t i = best.size() - 1; i > 0; --i) best[i - 1] = std::max(best[i - 1], best[i]);
    *ap = AreaUnder(best, *rec);
  }
}

}  // namespace caffe
