#include "caffe/util/detection/multibox.hpp"

#include "caffe/error.hpp"

namespace caffe {

int LocationClasses(const MultiBoxLossParameter& param) {
  return param.share_location() ? 1 : static_cast<int>(param.num_classes());
}

int MultiBoxLabel(const MultiBoxLossParameter& param, const TrueBox& truth) {
  const int classes = static_cast<int>(param.num_classes());
  const int label =
      param.map_object_to_agnostic() ? int(param.background_label_id()) + 1 : truth.label;
  Require(label >= 0 && label < classes, "a true box of item ", truth.item, " has label ", label,
          ": with num_classes ", classes, " valid are 0 to ", classes - 1);
  return label;
}

std::vector<Matches> MatchClasses(const MultiBoxLossParameter& param,
                                  const std::vector<Prior>& priors,
                                  const std::vector<TrueBox>& all_truths,
                                  const PredictedBox& predicted) {
  const int num_priors = static_cast<int>(priors.size()), classes = LocationClasses(param);
  const auto match_to = [&](const std::vector<Box>& truths, const std::vector<Box>& predictions) {
    return Match(truths, predictions, param.match_type(), param.overlap_threshold(),
                 param.ignore_cross_boundary_bbox());
  };
  const auto is_of_class = [&](const TrueBox& truth, int c) {
    return param.share_location() || MultiBoxLabel(param, truth) == c;
  };
  std::vector<Matches> all;
  std::vector<Box> truths, predictions(num_priors);
  if (param.use_prior_for_matching()) {
    for (const TrueBox& truth : all_truths) truths.push_back(truth.box);
    for (int i = 0; i < num_priors; ++i) predictions[i] = priors[i].box;
    all.assign(classes, match_to(truths, predictions));
    for (int c = 0; c < classes; ++c) {
      for (int& match : all[c].index) {
        if (match >= 0 && !is_of_class(all_truths[match], c)) match = kUnmatched;
      }
    }
    return all;
  }
  for (int c = 0; c < classes; ++c) {
    std::vector<int> index;  // of each of `truths` in all_truths
    truths.clear();
    for (size_t i = 0; i < all_truths.size(); ++i) {
      if (!is_of_class(all_truths[i], c)) continue;
      truths.push_back(all_truths[i].box);
      index.push_back(static_cast<int>(i));
    }
    for (int i = 0; i < num_priors; ++i) predictions[i] = predicted(i, c);
    all.push_back(match_to(truths, predictions));
    for (int& match : all.back().index) match = match >= 0 ? index[match] : match;
  }
  return all;
}

LocationTarget MakeLocationTarget(const MultiBoxLossParameter& param, const Prior& prior,
                                  const Box& matched, const Box& truth) {
  const Box e = Encode(prior, {param.code_type(), param.encode_variance_in_target()}, truth);
  LocationTarget result = {{e.xmin, e.ymin, e.xmax, e.ymax}, {}};
  const float corners[] = {matched.xmin, matched.ymin, matched.xmax, matched.ymax};
  for (int k = 0; k < 4; ++k) {
    Require(prior.variance[k] > 0, "a prior has the variance ", prior.variance[k],
            ": it must be positive");
    const bool inside = corners[k] >= 0 && corners[k] <= 1;
    result.scale[k] = param.bp_inside() && !inside        ? 0
                      : param.encode_variance_in_target() ? 1 / prior.variance[k]
                                                          : 1;
  }
  return result;
}

std::vector<bool> MineExamples(const MultiBoxLossParameter& param, const std::vector<Prior>& priors,
                               const Matches& matches, const std::vector<double>& losses,
                               size_t positives, const PredictedBox& predicted,
                               const std::vector<bool>& left_out) {
  const bool hard = param.mining_type() == MultiBoxLossParameter_MiningType_HARD_EXAMPLE;
  const int num_priors = static_cast<int>(priors.size());
  std::vector<ScoredIndex> candidates;
  for (int i = 0; i < num_priors; ++i) {
    if (!left_out.empty() && left_out[i]) continue;
    const bool negative =
        matches.index[i] == kUnmatched && matches.overlap[i] < param.neg_overlap();
    if (hard || negative) candidates.emplace_back(losses[i], i);
  }
  const double most = hard ? param.sample_size() : double(positives) * param.neg_pos_ratio();
  const size_t wanted = std::min<double>(most, candidates.size());
  std::vector<bool> is_chosen(num_priors, false);
  if (param.has_nms_param() && param.nms_param().nms_threshold() > 0) {
    std::vector<Box> boxes;
    for (int i = 0; i < num_priors; ++i) {
      boxes.push_back(param.use_prior_for_nms() ? priors[i].box : predicted(i, 0));
    }
    SortByScore(param.nms_param().has_top_k() ? param.nms_param().top_k() : -1, &candidates);
    for (const int i : Suppress(boxes.data(), candidates, param.nms_param().nms_threshold(), 1,
                                true, static_cast<int>(wanted))) {
      is_chosen[i] = true;
    }
  } else {
    SortByScore(static_cast<int>(wanted), &candidates);
    for (const ScoredIndex& candidate : candidates) is_chosen[candidate.second] = true;
  }
  return is_chosen;
}

}  // namespace caffe
