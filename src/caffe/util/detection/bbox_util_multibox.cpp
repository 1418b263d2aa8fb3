// MultiBoxLoss's steps on messages, with the SSD fork's signatures.
#include "caffe/kernels/softmax.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/multibox.hpp"

namespace caffe {
namespace {

using Messages = vector<NormalizedBBox>;
using Truths = std::map<int, Messages>;
using Indices = std::map<int, vector<int>>;
using Overlaps = std::map<int, vector<float>>;

vector<Prior> PriorsOf(const Messages& boxes, const vector<vector<float>>& variances) {
  Require(boxes.size() == variances.size(), "there are ", boxes.size(), " priors and ",
          variances.size(), " variances");
  vector<Prior> priors(boxes.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    priors[i].box = BoxOf(boxes[i]);
    Require(variances[i].size() == 4, "a prior has ", variances[i].size(), " variances, not 4");
    std::copy(variances[i].begin(), variances[i].end(), priors[i].variance);
  }
  return priors;
}

TrueBox TruthOf(const NormalizedBBox& bbox, int item) {
  TrueBox truth;
  truth.box = BoxOf(bbox);
  truth.item = item;
  truth.label = bbox.label();
  truth.difficult = bbox.difficult();
  return truth;
}

/// The map's key for a class of locations.
int KeyOf(const MultiBoxLossParameter& param, int loc_class) {
  return param.share_location() ? -1 : loc_class;
}

const NormalizedBBox& LocationOf(const LabelBBox& locations, int key, int prior) {
  const auto found = locations.find(key);
  Require(found != locations.end() && size_t(prior) < found->second.size(),
          "there is no location of label ", key, " for prior ", prior);
  return found->second[prior];
}

PredictedBox PredictionsOf(const MultiBoxLossParameter& param, const vector<Prior>& priors,
                           const LabelBBox& locations) {
  return [&param, &priors, &locations](int prior, int loc_class) {
    const BoxCode code = {param.code_type(), param.encode_variance_in_target()};
    return Decode(priors[prior], code,
                  BoxOf(LocationOf(locations, KeyOf(param, loc_class), prior)));
  };
}

/// Calls f(key, prior, true box) for each match of an item.
template <typename Function>
void ForEachMatch(const Indices& matches, const Messages& truths, Function&& f) {
  for (const auto& [key, indices] : matches) {
    for (size_t prior = 0; prior < indices.size(); ++prior) {
      if (indices[prior] < 0) continue;
      Require(size_t(indices[prior]) < truths.size(), "a match is with true box ", indices[prior],
              " of ", truths.size());
      f(key, static_cast<int>(prior), truths[indices[prior]]);
    }
  }
}

const Messages& TruthsOf(const Truths& all, int item) {
  static const Messages none;
  const auto found = all.find(item);
  return found == all.end() ? none : found->second;
}

LocationTarget TargetOf(const MultiBoxLossParameter& param, const vector<Prior>& priors, int key,
                        int prior, const LabelBBox& locations, const NormalizedBBox& truth) {
  const Box matched = param.use_prior_for_matching()
                          ? priors[prior].box
                          : PredictionsOf(param, priors, locations)(prior, std::max(key, 0));
  return MakeLocationTarget(param, priors[prior], matched, BoxOf(truth));
}

double LocationLossOf(const MultiBoxLossParameter& param, const NormalizedBBox& location,
                      const LocationTarget& to) {
  const float l[] = {location.xmin(), location.ymin(), location.xmax(), location.ymax()};
  double loss = 0;
  for (int k = 0; k < 4; ++k) {
    loss += LocationLoss(param.loc_loss_type(), (double(l[k]) - to.target[k]) * to.scale[k]);
  }
  return loss;
}

}  // namespace

void FindMatches(const vector<LabelBBox>& all_loc_preds, const Truths& all_gt_bboxes,
                 const Messages& prior_bboxes, const vector<vector<float>>& prior_variances,
                 const MultiBoxLossParameter& multibox_loss_param,
                 vector<Overlaps>* all_match_overlaps, vector<Indices>* all_match_indices) {
  const MultiBoxLossParameter& param = multibox_loss_param;
  const vector<Prior> priors = PriorsOf(prior_bboxes, prior_variances);
  all_match_overlaps->assign(all_loc_preds.size(), {});
  all_match_indices->assign(all_loc_preds.size(), {});
  for (size_t item = 0; item < all_loc_preds.size(); ++item) {
    vector<TrueBox> truths;
    for (const NormalizedBBox& bbox : TruthsOf(all_gt_bboxes, item)) {
      truths.push_back(TruthOf(bbox, item));
    }
    if (truths.empty()) continue;
    vector<Matches> matches =
        MatchClasses(param, priors, truths, PredictionsOf(param, priors, all_loc_preds[item]));
    for (size_t c = 0; c < matches.size(); ++c) {
      if (!param.share_location() && c == param.background_label_id()) continue;
      (*all_match_indices)[item][KeyOf(param, c)] = std::move(matches[c].index);
      (*all_match_overlaps)[item][KeyOf(param, c)] = std::move(matches[c].overlap);
    }
  }
}

int CountNumMatches(const vector<Indices>& all_match_indices, const int num) {
  int count = 0;
  for (int item = 0; item < num; ++item) {
    for (const auto& entry : all_match_indices.at(item)) {
      count += std::count_if(entry.second.begin(), entry.second.end(),
                             [](int match) { return match >= 0; });
    }
  }
  return count;
}

template <typename Dtype>
void MineHardExamples(const Blob<Dtype>& conf_blob, const vector<LabelBBox>& all_loc_preds,
                      const Truths& all_gt_bboxes, const Messages& prior_bboxes,
                      const vector<vector<float>>& prior_variances,
                      const vector<Overlaps>& all_match_overlaps,
                      const MultiBoxLossParameter& multibox_loss_param, int* num_matches,
                      int* num_negs, vector<Indices>* all_match_indices,
                      vector<vector<int>>* all_neg_indices) {
  const MultiBoxLossParameter& param = multibox_loss_param;
  const int items = static_cast<int>(all_loc_preds.size());
  const int classes = static_cast<int>(param.num_classes());
  all_neg_indices->assign(items, {});
  *num_negs = 0;
  *num_matches = CountNumMatches(*all_match_indices, items);
  if (param.mining_type() == MultiBoxLossParameter_MiningType_NONE || *num_matches == 0) return;
  Require(param.share_location(), "mining needs share_location: true");
  const bool hard = param.mining_type() == MultiBoxLossParameter_MiningType_HARD_EXAMPLE;
  const vector<Prior> priors = PriorsOf(prior_bboxes, prior_variances);
  const size_t num_priors = priors.size();
  Require(size_t(conf_blob.count()) == items * num_priors * classes, "there are ",
          conf_blob.count(), " scores for ", items, " items, ", num_priors, " priors and ", classes,
          " classes");
  vector<Dtype> log_sums(items * num_priors);
  kernels::LogSumExp(log_sums.size(), classes, 1, conf_blob.cpu_data(), log_sums.data());
  for (int item = 0; item < items; ++item) {
    const auto found = (*all_match_indices)[item].find(-1);
    if (found == (*all_match_indices)[item].end()) continue;
    vector<int>& indices = found->second;
    const LabelBBox& locations = all_loc_preds[item];
    vector<int> labels(num_priors, param.background_label_id());
    vector<double> losses(num_priors, 0);
    size_t positives = 0;
    ForEachMatch((*all_match_indices)[item], TruthsOf(all_gt_bboxes, item),
                 [&](int key, int prior, const NormalizedBBox& truth) {
                   ++positives;
                   labels[prior] = MultiBoxLabel(param, TruthOf(truth, item));
                   if (!hard) return;
                   losses[prior] =
                       LocationLossOf(param, LocationOf(locations, key, prior),
                                      TargetOf(param, priors, key, prior, locations, truth));
                 });
    for (size_t i = 0; i < num_priors; ++i) {
      const size_t row = item * num_priors + i;
      losses[i] += ConfidenceLoss(param.conf_loss_type(), conf_blob.cpu_data() + row * classes,
                                  classes, log_sums[row], labels[i]);
    }
    const vector<bool> chosen =
        MineExamples(param, priors, {indices, all_match_overlaps.at(item).at(-1)}, losses,
                     positives, PredictionsOf(param, priors, locations));
    for (size_t i = 0; i < num_priors; ++i) {
      if (indices[i] >= 0 && hard && !chosen[i]) {
        indices[i] = kUnmatched;
        --*num_matches;
      } else if (indices[i] == kUnmatched && chosen[i]) {
        (*all_neg_indices)[item].push_back(static_cast<int>(i));
        ++*num_negs;
      }
    }
  }
}

template <typename Dtype>
void EncodeLocPrediction(const vector<LabelBBox>& all_loc_preds, const Truths& all_gt_bboxes,
                         const vector<Indices>& all_match_indices, const Messages& prior_bboxes,
                         const vector<vector<float>>& prior_variances,
                         const MultiBoxLossParameter& multibox_loss_param, Dtype* loc_pred_data,
                         Dtype* loc_gt_data) {
  const vector<Prior> priors = PriorsOf(prior_bboxes, prior_variances);
  for (size_t item = 0; item < all_loc_preds.size(); ++item) {
    const LabelBBox& locations = all_loc_preds[item];
    ForEachMatch(
        all_match_indices.at(item), TruthsOf(all_gt_bboxes, item),
        [&](int key, int prior, const NormalizedBBox& truth) {
          const NormalizedBBox& location = LocationOf(locations, key, prior);
          const LocationTarget to =
              TargetOf(multibox_loss_param, priors, key, prior, locations, truth);
          const float l[] = {location.xmin(), location.ymin(), location.xmax(), location.ymax()};
          for (int k = 0; k < 4; ++k) {
            const float scale = to.scale[k] == 0 ? 1 : to.scale[k];
            *loc_pred_data++ = (to.scale[k] == 0 ? to.target[k] : l[k]) * scale;
            *loc_gt_data++ = to.target[k] * scale;
          }
        });
  }
}

template <typename Dtype>
void EncodeConfPrediction(const Dtype* conf_data, const int num, const int num_priors,
                          const MultiBoxLossParameter& multibox_loss_param,
                          const vector<Indices>& all_match_indices,
                          const vector<vector<int>>& all_neg_indices, const Truths& all_gt_bboxes,
                          Dtype* conf_pred_data, Dtype* conf_gt_data) {
  const MultiBoxLossParameter& param = multibox_loss_param;
  const size_t classes = param.num_classes();
  const bool mining = param.mining_type() != MultiBoxLossParameter_MiningType_NONE;
  const bool softmax = param.conf_loss_type() == MultiBoxLossParameter_ConfLossType_SOFTMAX;
  size_t count = 0;  // rows written
  for (int item = 0; item < num; ++item) {
    const size_t first = size_t(item) * num_priors;
    const auto write = [&](int prior, int label) {
      const size_t row = mining ? count++ : first + prior;
      conf_gt_data[softmax ? row : row * classes + label] = softmax ? label : 1;
      if (mining) {
        std::copy_n(conf_data + (first + prior) * classes, classes, conf_pred_data + row * classes);
      }
    };
    ForEachMatch(all_match_indices.at(item), TruthsOf(all_gt_bboxes, item),
                 [&](int, int prior, const NormalizedBBox& truth) {
                   write(prior, MultiBoxLabel(param, TruthOf(truth, item)));
                 });
    if (!mining) continue;
    for (const int prior : all_neg_indices.at(item)) write(prior, param.background_label_id());
  }
}

#define INSTANTIATE_ENCODERS(Dtype)                                                           \
  template void MineHardExamples(const Blob<Dtype>&, const vector<LabelBBox>&, const Truths&, \
                                 const Messages&, const vector<vector<float>>&,               \
                                 const vector<Overlaps>&, const MultiBoxLossParameter&, int*, \
                                 int*, vector<Indices>*, vector<vector<int>>*);               \
  template void EncodeLocPrediction(                                                          \
      const vector<LabelBBox>&, const Truths&, const vector<Indices>&, const Messages&,       \
      const vector<vector<float>>&, const MultiBoxLossParameter&, Dtype*, Dtype*);            \
  template void EncodeConfPrediction(const Dtype*, const int, const int,                      \
                                     const MultiBoxLossParameter&, const vector<Indices>&,    \
                                     const vector<vector<int>>&, const Truths&, Dtype*, Dtype*);
INSTANTIATE_ENCODERS(float)
INSTANTIATE_ENCODERS(double)
#undef INSTANTIATE_ENCODERS

}  // namespace caffe
