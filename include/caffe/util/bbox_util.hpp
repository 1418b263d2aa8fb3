#ifndef CAFFE_UTIL_BBOX_UTIL_HPP_
#define CAFFE_UTIL_BBOX_UTIL_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

/// Boxes as messages, with the names that the SSD fork of Caffe gave them. Corners are fractions of
/// an image's sides unless a function says pixels. With `normalized` false they are the first and
/// the last pixel: a side is max - min + 1. An output may be the input itself; of a moved box the
/// flag `difficult` goes along, label and score of the output stay. Functions for Dtype are there
/// for float and double.
namespace caffe {

typedef EmitConstraint_EmitType EmitType;
typedef PriorBoxParameter_CodeType CodeType;
typedef MultiBoxLossParameter_MatchType MatchType;
typedef MultiBoxLossParameter_LocLossType LocLossType;
typedef MultiBoxLossParameter_ConfLossType ConfLossType;
typedef MultiBoxLossParameter_MiningType MiningType;

/// Boxes by label; -1 where all labels share them.
typedef std::map<int, vector<NormalizedBBox>> LabelBBox;

// Orders for std::sort, by score.
bool SortBBoxAscend(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2);
bool SortBBoxDescend(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2);
template <typename T>
bool SortScorePairAscend(const std::pair<float, T>& pair1, const std::pair<float, T>& pair2) {
  return pair1.first < pair2.first;
}
template <typename T>
bool SortScorePairDescend(const std::pair<float, T>& pair1, const std::pair<float, T>& pair2) {
  return pair1.first > pair2.first;
}

/// The whole image: (0, 0) to (1, 1).
NormalizedBBox UnitBBox();
/// True if a corner lies outside of [0, 1] x [0, 1].
bool IsCrossBoundaryBBox(const NormalizedBBox& bbox);
/// The part that both boxes have; all zeros if there is none.
void IntersectBBox(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2,
                   NormalizedBBox* intersect_bbox);
/// The `size` that the message has, else its area; 0 if a side is negative.
float BBoxSize(const NormalizedBBox& bbox, const bool normalized = true);
/// Moves corners into [0, 1] x [0, 1].
void ClipBBox(const NormalizedBBox& bbox, NormalizedBBox* clip_bbox);
/// Moves corners, in pixels, into [0, width] x [0, height].
void ClipBBox(const NormalizedBBox& bbox, const float height, const float width,
              NormalizedBBox* clip_bbox);
/// From fractions to pixels of an image of height x width; its size is that of pixels unless both
/// are 1.
void ScaleBBox(const NormalizedBBox& bbox, const int height, const int width,
               NormalizedBBox* scale_bbox);
/// A box found in an image that had been resized, in pixels of the image as it was, which is
/// img_size.first high and img_size.second wide.
void OutputBBox(const NormalizedBBox& bbox, const std::pair<int, int>& img_size,
                const bool has_resize, const ResizeParameter& resize_param,
                NormalizedBBox* out_bbox);
/// A box relative to src_bbox in the frame that src_bbox is in.
void LocateBBox(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                NormalizedBBox* loc_bbox);
/// The inverse, clipped; false if nothing of the box is left.
bool ProjectBBox(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                 NormalizedBBox* proj_bbox);
/// A box in a crop of an image of height x width that FIT_SMALL_SIZE resized: from fractions of
/// the crop to those of height_scale and width_scale, if they are given.
void ExtrapolateBBox(const ResizeParameter& param, const int height, const int width,
                     const NormalizedBBox& crop_bbox, NormalizedBBox* bbox);
/// Fractions of an image of old_width x old_height as fractions of the resized one.
void UpdateBBoxByResizePolicy(const ResizeParameter& param, const int old_width,
                              const int old_height, NormalizedBBox* bbox);
/// Intersection over union, in [0, 1].
float JaccardOverlap(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2,
                     const bool normalized = true);
/// The part of bbox1 that bbox2 covers, in [0, 1].
float BBoxCoverage(const NormalizedBBox& bbox1, const NormalizedBBox& bbox2);
/// True if an annotation `bbox` is kept in the patch src_bbox: its centre lies in the patch, or,
/// for MIN_OVERLAP, the patch covers more than emit_overlap of it.
bool MeetEmitConstraint(const NormalizedBBox& src_bbox, const NormalizedBBox& bbox,
                        const EmitConstraint& emit_constraint);

/// The four numbers by which a prediction means `bbox` relative to a prior. By code_type:
///
///   CORNER       corner - prior's corner
///   CENTER_SIZE  (centre - prior's) / prior's size, log(size / prior's size)
///   CORNER_SIZE  (corner - prior's corner) / prior's size
///
/// divided by the prior's four variances unless encode_variance_in_target. Throws Error if there
/// are not four, or for a box without area where a quotient or logarithm needs it.
void EncodeBBox(const NormalizedBBox& prior_bbox, const vector<float>& prior_variance,
                const CodeType code_type, const bool encode_variance_in_target,
                const NormalizedBBox& bbox, NormalizedBBox* encode_bbox);
/// The inverse of EncodeBBox; with clip_bbox, clipped to the image.
void DecodeBBox(const NormalizedBBox& prior_bbox, const vector<float>& prior_variance,
                const CodeType code_type, const bool variance_encoded_in_target,
                const bool clip_bbox, const NormalizedBBox& bbox, NormalizedBBox* decode_bbox);
/// The same for each box and the prior of its index. Throws Error if they differ in number.
void DecodeBBoxes(const vector<NormalizedBBox>& prior_bboxes,
                  const vector<vector<float>>& prior_variances, const CodeType code_type,
                  const bool variance_encoded_in_target, const bool clip_bbox,
                  const vector<NormalizedBBox>& bboxes, vector<NormalizedBBox>* decode_bboxes);

/// Matches predictions to those of `gt` that have `label` (-1: any). First each true box gets the
/// prediction that overlaps it most; with PER_PREDICTION those left over then take the true box
/// that they overlap most, if by at least overlap_threshold. Gives for each prediction the index in
/// `gt` (-1: none, -2: ignored because it crosses the border) and the overlap.
void MatchBBox(const vector<NormalizedBBox>& gt, const vector<NormalizedBBox>& pred_bboxes,
               const int label, const MatchType match_type, const float overlap_threshold,
               const bool ignore_cross_boundary_bbox, vector<int>* match_indices,
               vector<float>* match_overlaps);

// How MultiBoxLoss compares predictions with true boxes, in steps and with the SSD fork's
// signatures. Keys of the maps are labels, -1 with share_location.

/// For each item and label, the index of the true box that each prior is matched to (-1: none, -2:
/// over the border), and its largest overlap. An item without true boxes gets empty maps.
void FindMatches(const vector<LabelBBox>& all_loc_preds,
                 const std::map<int, vector<NormalizedBBox>>& all_gt_bboxes,
                 const vector<NormalizedBBox>& prior_bboxes,
                 const vector<vector<float>>& prior_variances,
                 const MultiBoxLossParameter& multibox_loss_param,
                 vector<std::map<int, vector<float>>>* all_match_overlaps,
                 vector<std::map<int, vector<int>>>* all_match_indices);
/// How many priors of the first `num` items are matched.
int CountNumMatches(const vector<std::map<int, vector<int>>>& all_match_indices, const int num);
/// Chooses negatives (mining_type) by their losses; with HARD_EXAMPLE it takes back matches that
/// are not chosen. Gives the negative priors of each item and the numbers of matches and negatives
/// left. `conf_blob`: scores (num, priors * num_classes).
template <typename Dtype>
void MineHardExamples(const Blob<Dtype>& conf_blob, const vector<LabelBBox>& all_loc_preds,
                      const std::map<int, vector<NormalizedBBox>>& all_gt_bboxes,
                      const vector<NormalizedBBox>& prior_bboxes,
                      const vector<vector<float>>& prior_variances,
                      const vector<std::map<int, vector<float>>>& all_match_overlaps,
                      const MultiBoxLossParameter& multibox_loss_param, int* num_matches,
                      int* num_negs, vector<std::map<int, vector<int>>>* all_match_indices,
                      vector<vector<int>>* all_neg_indices);
/// Writes four numbers for each match, in the order of items, labels, priors: the predicted
/// location and what it is compared with. What does not count (bp_inside) is the same in both.
template <typename Dtype>
void EncodeLocPrediction(const vector<LabelBBox>& all_loc_preds,
                         const std::map<int, vector<NormalizedBBox>>& all_gt_bboxes,
                         const vector<std::map<int, vector<int>>>& all_match_indices,
                         const vector<NormalizedBBox>& prior_bboxes,
                         const vector<vector<float>>& prior_variances,
                         const MultiBoxLossParameter& multibox_loss_param, Dtype* loc_pred_data,
                         Dtype* loc_gt_data);
/// Writes labels, as numbers for SOFTMAX, as a 1 among num_classes for LOGISTIC; with mining those
/// of the matches and negatives of each item, and their scores to conf_pred_data; else those of all
/// priors, the scores being conf_data themselves. What is not matched keeps what conf_gt_data has.
template <typename Dtype>
void EncodeConfPrediction(const Dtype* conf_data, const int num, const int num_priors,
                          const MultiBoxLossParameter& multibox_loss_param,
                          const vector<std::map<int, vector<int>>>& all_match_indices,
                          const vector<vector<int>>& all_neg_indices,
                          const std::map<int, vector<NormalizedBBox>>& all_gt_bboxes,
                          Dtype* conf_pred_data, Dtype* conf_gt_data);

/// True boxes of a label blob, by item: num_gt rows of eight numbers, item (-1: no box), label,
/// instance, xmin, ymin, xmax, ymax, difficult. Without use_difficult_gt difficult ones are left
/// out. Throws Error for a box whose label is background_label_id.
template <typename Dtype>
void GetGroundTruth(const Dtype* gt_data, const int num_gt, const int background_label_id,
                    const bool use_difficult_gt,
                    std::map<int, vector<NormalizedBBox>>* all_gt_bboxes);
/// The same by item and label.
template <typename Dtype>
void GetGroundTruth(const Dtype* gt_data, const int num_gt, const int background_label_id,
                    const bool use_difficult_gt, std::map<int, LabelBBox>* all_gt_bboxes);
/// Locations (num, priors, classes, 4) of each item by class; with share_location, which needs one
/// class, by -1. num_preds_per_class is the number of priors. Throws Error for shared locations of
/// several classes.
template <typename Dtype>
void GetLocPredictions(const Dtype* loc_data, const int num, const int num_preds_per_class,
                       const int num_loc_classes, const bool share_location,
                       vector<LabelBBox>* loc_preds);
/// Scores (num, priors, classes) of each item by class.
template <typename Dtype>
void GetConfidenceScores(const Dtype* conf_data, const int num, const int num_preds_per_class,
                         const int num_classes, vector<std::map<int, vector<float>>>* conf_scores);
/// A prior blob: the corners of num_priors boxes, then four variances of each.
template <typename Dtype>
void GetPriorBBoxes(const Dtype* prior_data, const int num_priors,
                    vector<NormalizedBBox>* prior_bboxes, vector<vector<float>>* prior_variances);
/// Rows of a detection blob (1, 1, N, 7): item (-1: no box), label, score, xmin, ymin, xmax, ymax;
/// by item and label. Throws Error for a label that is background_label_id, unless that is -1.
template <typename Dtype>
void GetDetectionResults(const Dtype* det_data, const int num_det, const int background_label_id,
                         std::map<int, std::map<int, vector<NormalizedBBox>>>* all_detections);

/// Pairs of score and index in descending order of scores, equal ones as they were, NaNs last; the
/// first top_k (-1: all). Throws Error if scores and indices differ in number.
void GetTopKScoreIndex(const vector<float>& scores, const vector<int>& indices, const int top_k,
                       vector<std::pair<float, int>>* score_index_vec);
/// The same for the scores above `threshold`; an index is the place in `scores`.
void GetMaxScoreIndex(const vector<float>& scores, const float threshold, const int top_k,
                      vector<std::pair<float, int>>* score_index_vec);
/// Non-maximum suppression: of the top_k best boxes (-1: of all) the indices of those that overlap
/// no better one that is kept by more than `threshold`, the best first. Throws Error if boxes and
/// scores differ in number.
void ApplyNMS(const vector<NormalizedBBox>& bboxes, const vector<float>& scores,
              const float threshold, const int top_k, vector<int>* indices);
/// The same for scores above score_threshold. With eta < 1 nms_threshold is multiplied by eta each
/// time a box is kept, as long as it is above 0.5.
void ApplyNMSFast(const vector<NormalizedBBox>& bboxes, const vector<float>& scores,
                  const float score_threshold, const float nms_threshold, const float eta,
                  const int top_k, vector<int>* indices);

/// cumsum[i] = the sum of the first i + 1 numbers, in descending order of their scores.
void CumSum(const vector<std::pair<float, int>>& pairs, vector<int>* cumsum);
/// Average precision from the scores of detections with a 1 where each is a true (tp) or a false
/// (fp) positive, and num_pos true boxes. `ap_version`: "11point" (mean of the best precisions at
/// recalls 0, 0.1, ... 1; PASCAL VOC 2007), "MaxIntegral" (area under the precision made
/// decreasing; VOC 2012, ILSVRC), "Integral" (area under the precision). Also gives precision and
/// recall after each detection. Throws Error for another version.
void ComputeAP(const vector<std::pair<float, int>>& tp, const int num_pos,
               const vector<std::pair<float, int>>& fp, const string ap_version,
               vector<float>* prec, vector<float>* rec, float* ap);

}  // namespace caffe

#endif  // CAFFE_UTIL_BBOX_UTIL_HPP_
