#ifndef CAFFE_UTIL_MULTIBOX_HPP_
#define CAFFE_UTIL_MULTIBOX_HPP_

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/detection/box.hpp"

/// What MultiBoxLoss is made of: which predictions of one image are compared with what. The layer
/// and the functions of the SSD fork's names (caffe/util/bbox_util.hpp) share it.
namespace caffe {

/// The box that prior number `prior` predicts for a class of locations (0 if all classes share
/// them).
using PredictedBox = std::function<Box(int prior, int loc_class)>;

/// The number of classes of locations.
int LocationClasses(const MultiBoxLossParameter& param);

/// The class that a true box is trained for. Throws Error if it is out of range.
int MultiBoxLabel(const MultiBoxLossParameter& param, const TrueBox& truth);

/// For each class of locations, the index in `truths` of what each prior is matched to. Priors are
/// matched to all true boxes, and the matches are then separated by class; with
/// use_prior_for_matching false each class's predictions are matched to its own true boxes only.
std::vector<Matches> MatchClasses(const MultiBoxLossParameter& param,
                                  const std::vector<Prior>& priors,
                                  const std::vector<TrueBox>& truths,
                                  const PredictedBox& predicted);

/// What a matched prior's location is compared with: |location - target| * scale for each number;
/// the scale is 1, 1 / variance, or 0 for a number that does not count (bp_inside).
struct LocationTarget {
  float target[4], scale[4];
};
/// Throws Error for variances that are not positive.
LocationTarget MakeLocationTarget(const MultiBoxLossParameter& param, const Prior& prior,
                                  const Box& matched, const Box& truth);

/// The loss of a difference between a location and its target.
template <typename Number>
Number LocationLoss(MultiBoxLossParameter_LocLossType type, Number difference) {
  const Number size = std::fabs(difference);
  const bool square = type == MultiBoxLossParameter_LocLossType_L2 || size < 1;
  return square ? difference * difference / 2 : size - Number(0.5);
}

/// The loss of one prior's scores for a label: softmax, whose log_sum is the log of the sum of exp,
/// or one sigmoid a class; there -1 is none of them.
template <typename Dtype>
double ConfidenceLoss(MultiBoxLossParameter_ConfLossType type, const Dtype* scores, int classes,
                      double log_sum, int label) {
  if (type == MultiBoxLossParameter_ConfLossType_SOFTMAX) return log_sum - scores[label];
  double loss = 0;
  for (int c = 0; c < classes; ++c) {
    const double x = scores[c];
    loss += std::max(x, 0.) - (c == label ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return loss;
}

/// Which priors mining chooses: MAX_NEGATIVE, the neg_pos_ratio times `positives` unmatched ones of
/// the largest losses; HARD_EXAMPLE, the sample_size of all of the largest losses; with nms_param
/// only such that do not overlap others. `losses` has one for each prior; `left_out`, if it is not
/// empty, marks the priors that cannot be chosen.
std::vector<bool> MineExamples(const MultiBoxLossParameter& param, const std::vector<Prior>& priors,
                               const Matches& matches, const std::vector<double>& losses,
                               size_t positives, const PredictedBox& predicted,
                               const std::vector<bool>& left_out = {});

}  // namespace caffe

#endif  // CAFFE_UTIL_MULTIBOX_HPP_
