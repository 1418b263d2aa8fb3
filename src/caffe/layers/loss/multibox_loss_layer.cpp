#include "caffe/layers/multibox_loss_layer.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/layers/detection/priors.hpp"
#include "caffe/util/detection/multibox.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfMultiboxLoss(const LayerParameter&, const std::vector<Shape>&) {
  return {Shape()};
}

// Gradients need the boxes that the forward pass matched; boxes and losses stay in the net's type.
const bool multibox_loss_registered = OperationTable::Add(Operation("MultiBoxLoss")
                                                              .CpuOnly(kSequential)
                                                              .Shapes(TopShapesOfMultiboxLoss)
                                                              .BackwardReads(Operation::kBottomData)
                                                              .FloatBottoms({-1})
                                                              .FloatTops({-1})
                                                              .Loss());

/// A row of scores that is compared with a label; -1: none of them.
struct Scored {
  int prior, label;
};

/// The derivative of LocationLoss.
template <typename Number>
Number SlopeOf(MultiBoxLossParameter_LocLossType type, Number d) {
  const bool square = type == MultiBoxLossParameter_LocLossType_L2 || std::fabs(d) < 1;
  return square ? d : std::copysign(Number(1), d);
}

}  // namespace

/// A location that is compared with a true box.
template <typename Dtype>
struct MultiBoxLossLayer<Dtype>::Positive {
  int prior, loc_class, label;
  LocationTarget to;
};

/// What counts of one item.
template <typename Dtype>
struct MultiBoxLossLayer<Dtype>::Assignment {
  vector<Positive> positives;
  vector<Scored> scored;
};

/// One item's part of the bottoms.
template <typename Dtype>
struct MultiBoxLossLayer<Dtype>::Item {
  const Dtype* locations;
  const Dtype* scores;
  const Dtype* log_sums;  // log of the sum of exp of each prior's scores
  vector<TrueBox> truths;
  vector<Prior> priors;
  vector<bool> easy;  // priors that a first stage thinks to be background; empty: none
};

template <typename Dtype>
BoxCode MultiBoxLossLayer<Dtype>::code() const {
  return {param().code_type(), param().encode_variance_in_target()};
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const MultiBoxLossParameter& p = param();
  Require(p.num_classes() > 0 && p.num_classes() < 1000000, Error::Field{"multibox_loss_param"},
          ": num_classes must be given and positive, got ", p.num_classes());
  num_classes_ = static_cast<int>(p.num_classes());
  num_loc_classes_ = LocationClasses(p);
  Require(p.conf_loss_type() != MultiBoxLossParameter_ConfLossType_SOFTMAX ||
              p.background_label_id() < p.num_classes(),
          Error::Field{"multibox_loss_param"}, ": background_label_id ", p.background_label_id(),
          " must be less than num_classes ", num_classes_);
  Require(!p.map_object_to_agnostic() || num_classes_ == 2, Error::Field{"multibox_loss_param"},
          ": map_object_to_agnostic needs num_classes 2, got ", num_classes_);
  Require(!mining() || p.share_location(), Error::Field{"multibox_loss_param"},
          ": mining needs share_location: true, or give mining_type: NONE");
  Require(!p.has_do_neg_mining() || p.do_neg_mining() == mining(),
          Error::Field{"multibox_loss_param"},
          ": do_neg_mining (the old name) contradicts mining_type",
          Error::Remedy{"give mining_type only"});
  Require(p.overlap_threshold() > 0, Error::Field{"multibox_loss_param"},
          ": overlap_threshold must be positive, got ", p.overlap_threshold());
  Require(p.neg_pos_ratio() > 0 || p.mining_type() != MultiBoxLossParameter_MiningType_MAX_NEGATIVE,
          Error::Field{"multibox_loss_param"}, ": neg_pos_ratio must be positive, got ",
          p.neg_pos_ratio());
  Require(p.sample_size() > 0 || p.mining_type() != MultiBoxLossParameter_MiningType_HARD_EXAMPLE,
          Error::Field{"multibox_loss_param"}, ": sample_size must be positive, got ",
          p.sample_size());
  Require(!p.nms_param().soft_nms(), Error::Field{"multibox_loss_param"},
          ": soft_nms is for DetectionOutput", Error::Remedy{"leave it out"});
  LOG_IF(INFO, p.ignore_difficult_gt()) << "multibox_loss_param: ignore_difficult_gt is ignored";
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  num_priors_ = CountPriors("MultiBoxLoss", bottom);
  CheckPredictions(bottom, num_priors_, num_loc_classes_, num_classes_);
  Require(bottom[3]->num_axes() == 4 && bottom[3]->shape(3) == 8,
          "MultiBoxLoss takes true boxes of shape (1, 1, N, 8), not ",
          ShapeString(bottom[3]->shape()));
  Require(bottom.size() != 5,
          "MultiBoxLoss takes a first stage's probabilities and locations (bottoms 4 and 5) or "
          "neither: it has 5 bottoms");
  if (bottom.size() == 6) CheckFirstStage(bottom, 4, num_priors_);
}

template <typename Dtype>
bool MultiBoxLossLayer<Dtype>::Counts(int bottom) const {
  return this->layer_param_.propagate_down_size() <= bottom ||
         this->layer_param_.propagate_down(bottom);
}

template <typename Dtype>
Dtype MultiBoxLossLayer<Dtype>::Normalizer() const {
  size_t matched = 0;
  for (const Assignment& item : *assignments_) matched += item.positives.size();
  return this->GetNormalizer(NormalizationOf(this->layer_param_.loss_param()),
                             static_cast<int>(assignments_->size()), num_priors_,
                             static_cast<int>(matched));
}

template <typename Dtype>
typename MultiBoxLossLayer<Dtype>::Item MultiBoxLossLayer<Dtype>::ItemOf(
    const vector<Blob<Dtype>*>& bottom, int i) const {
  return {bottom[0]->cpu_data() + size_t(i) * bottom[0]->count(1),
          bottom[1]->cpu_data() + size_t(i) * bottom[1]->count(1),
          log_sums_.data() + size_t(i) * num_priors_,
          {},
          {},
          {}};
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::ReadPriorsOf(const vector<Blob<Dtype>*>& bottom, int i,
                                            Item* item) const {
  item->priors = ReadPriors(bottom[2]->cpu_data(), num_priors_);
  if (bottom.size() < 6) return;
  const Dtype* probabilities = bottom[4]->cpu_data() + size_t(i) * bottom[4]->count(1);
  const Dtype* locations = bottom[5]->cpu_data() + size_t(i) * bottom[5]->count(1);
  for (int p = 0; p < num_priors_; ++p) {
    item->priors[p] = MovedPrior(item->priors[p], code(), locations, p);
    item->easy.push_back(IsBackground(probabilities, p, param().objectness_score()));
  }
}

template <typename Dtype>
const Dtype* MultiBoxLossLayer<Dtype>::LocationOf(const Item& item, int prior,
                                                  int loc_class) const {
  return item.locations + (size_t(prior) * num_loc_classes_ + loc_class) * 4;
}

template <typename Dtype>
Box MultiBoxLossLayer<Dtype>::Decoded(const Item& item, int prior, int loc_class) const {
  const Dtype* l = LocationOf(item, prior, loc_class);
  return Decode(item.priors[prior], code(), {float(l[0]), float(l[1]), float(l[2]), float(l[3])});
}

template <typename Dtype>
PredictedBox MultiBoxLossLayer<Dtype>::PredictionsOf(const Item& item) const {
  return [this, &item](int prior, int loc_class) { return Decoded(item, prior, loc_class); };
}

template <typename Dtype>
typename MultiBoxLossLayer<Dtype>::Positive MultiBoxLossLayer<Dtype>::MakePositive(
    const Item& item, int prior, int loc_class, const TrueBox& truth) const {
  const Box matched =
      param().use_prior_for_matching() ? item.priors[prior].box : Decoded(item, prior, loc_class);
  return {prior, loc_class, MultiBoxLabel(param(), truth),
          MakeLocationTarget(param(), item.priors[prior], matched, truth.box)};
}

template <typename Dtype>
double MultiBoxLossLayer<Dtype>::LocationLossOf(const Item& item, const Positive& positive) const {
  const Dtype* location = LocationOf(item, positive.prior, positive.loc_class);
  double loss = 0;
  for (int k = 0; k < 4; ++k) {
    const LocationTarget& to = positive.to;
    const double difference = (double(location[k]) - to.target[k]) * to.scale[k];
    loss += LocationLoss(param().loc_loss_type(), difference);
  }
  return loss;
}

template <typename Dtype>
double MultiBoxLossLayer<Dtype>::ConfidenceLossOf(const Item& item, int prior, int label) const {
  return ConfidenceLoss(param().conf_loss_type(), item.scores + size_t(prior) * num_classes_,
                        num_classes_, item.log_sums[prior], label);
}

template <typename Dtype>
vector<bool> MultiBoxLossLayer<Dtype>::Mine(const Item& item, const Matches& matches,
                                            const vector<Positive>& positives) const {
  const bool hard = param().mining_type() == MultiBoxLossParameter_MiningType_HARD_EXAMPLE;
  vector<int> labels(num_priors_, param().background_label_id());
  vector<double> losses(num_priors_, 0);
  for (const Positive& positive : positives) {
    labels[positive.prior] = positive.label;
    if (hard) losses[positive.prior] = LocationLossOf(item, positive);
  }
  for (int i = 0; i < num_priors_; ++i) losses[i] += ConfidenceLossOf(item, i, labels[i]);
  vector<bool> left_out = item.easy;
  for (size_t i = 0; i < left_out.size(); ++i) {
    left_out[i] = left_out[i] && matches.index[i] == kUnmatched;
  }
  return MineExamples(param(), item.priors, matches, losses, positives.size(), PredictionsOf(item),
                      left_out);
}

template <typename Dtype>
typename MultiBoxLossLayer<Dtype>::Assignment MultiBoxLossLayer<Dtype>::Assign(
    const Item& item) const {
  const MultiBoxLossParameter& p = param();
  const int background = static_cast<int>(p.background_label_id());
  Assignment a;
  if (!item.truths.empty()) {
    const vector<Matches> matches =
        MatchClasses(param(), item.priors, item.truths, PredictionsOf(item));
    for (int c = 0; c < num_loc_classes_; ++c) {
      for (int i = 0; i < num_priors_; ++i) {
        const int match = matches[c].index[i];
        if (match >= 0) a.positives.push_back(MakePositive(item, i, c, item.truths[match]));
      }
    }
    if (mining()) {
      const vector<bool> chosen = Mine(item, matches[0], a.positives);
      if (p.mining_type() == MultiBoxLossParameter_MiningType_HARD_EXAMPLE) {
        const auto left_out = [&](const Positive& positive) { return !chosen[positive.prior]; };
        a.positives.erase(std::remove_if(a.positives.begin(), a.positives.end(), left_out),
                          a.positives.end());
      }
      for (int i = 0; i < num_priors_; ++i) {
        if (chosen[i] && matches[0].index[i] == kUnmatched) a.scored.push_back({i, background});
      }
    }
  }
  if (mining()) {
    for (const Positive& positive : a.positives) {
      a.scored.push_back({positive.prior, positive.label});
    }
    return a;
  }
  // All priors; with sigmoids, background is what no class says yes to.
  const bool softmax = p.conf_loss_type() == MultiBoxLossParameter_ConfLossType_SOFTMAX;
  for (int i = 0; i < num_priors_; ++i) a.scored.push_back({i, softmax ? background : -1});
  for (const Positive& positive : a.positives) a.scored[positive.prior].label = positive.label;
  return a;
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const int items = bottom[0]->shape(0);
  log_sums_.resize(size_t(items) * num_priors_);
  kernels::LogSumExp(log_sums_.size(), num_classes_, 1, bottom[1]->cpu_data(), log_sums_.data());
  vector<Item> of;
  for (int i = 0; i < items; ++i) {
    of.push_back(ItemOf(bottom, i));
    ReadPriorsOf(bottom, i, &of.back());
  }
  for (const TrueBox& truth :
       ReadTruths(bottom[3]->cpu_data(), bottom[3]->count() / 8, param().background_label_id())) {
    if (truth.difficult && !param().use_difficult_gt()) continue;
    Require(truth.item >= 0 && truth.item < items, "a true box is of item ", truth.item,
            ", but the batch has ", items);
    of[truth.item].truths.push_back(truth);
  }
  vector<Assignment> assignments(items);
  vector<double> loc(items, 0), conf(items, 0);
  kernels::ParallelFor(items, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      assignments[i] = Assign(of[i]);
      for (const Positive& p : assignments[i].positives) loc[i] += LocationLossOf(of[i], p);
      for (const Scored& s : assignments[i].scored) {
        conf[i] += ConfidenceLossOf(of[i], s.prior, s.label);
      }
    }
  });
  assignments_ = std::make_shared<const vector<Assignment>>(std::move(assignments));
  double loss = 0;
  for (int i = 0; i < items; ++i) {
    if (Counts(0)) loss += param().loc_weight() * loc[i];
    if (Counts(1)) loss += conf[i];
  }
  top[0]->mutable_cpu_data()[0] = static_cast<Dtype>(loss / Normalizer());
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::LocationGradient(Dtype weight,
                                                const vector<Blob<Dtype>*>& bottom) const {
  Dtype* gradient = bottom[0]->mutable_cpu_diff();
  std::fill_n(gradient, bottom[0]->count(), Dtype(0));
  for (size_t i = 0; i < assignments_->size(); ++i) {
    const Item item = ItemOf(bottom, static_cast<int>(i));
    for (const Positive& positive : (*assignments_)[i].positives) {
      const Dtype* location = LocationOf(item, positive.prior, positive.loc_class);
      Dtype* to = gradient + (location - bottom[0]->cpu_data());
      for (int k = 0; k < 4; ++k) {
        if (positive.to.scale[k] == 0) continue;
        const Dtype difference = (location[k] - positive.to.target[k]) * positive.to.scale[k];
        to[k] = weight * SlopeOf(param().loc_loss_type(), difference);
      }
    }
  }
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::ConfidenceGradient(Dtype weight,
                                                  const vector<Blob<Dtype>*>& bottom) const {
  const bool softmax = param().conf_loss_type() == MultiBoxLossParameter_ConfLossType_SOFTMAX;
  Dtype* gradient = bottom[1]->mutable_cpu_diff();
  std::fill_n(gradient, bottom[1]->count(), Dtype(0));
  for (size_t i = 0; i < assignments_->size(); ++i) {
    const Item item = ItemOf(bottom, static_cast<int>(i));
    for (const Scored& scored : (*assignments_)[i].scored) {
      const Dtype* x = item.scores + size_t(scored.prior) * num_classes_;
      Dtype* to = gradient + (x - bottom[1]->cpu_data());
      for (int c = 0; c < num_classes_; ++c) {
        const Dtype p =
            softmax ? std::exp(x[c] - item.log_sums[scored.prior]) : 1 / (1 + std::exp(-x[c]));
        to[c] = weight * (p - (c == scored.label ? 1 : 0));
      }
    }
  }
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 2; i < propagate_down.size(); ++i) {
    Require(!propagate_down[i],
            "MultiBoxLoss has no gradient for its priors, true boxes and first stage");
  }
  Require(assignments_ != nullptr, "MultiBoxLoss has matched no boxes for its backward pass",
          Error::Remedy{"run forward first"});
  const Dtype weight = top[0]->cpu_diff()[0] / Normalizer();
  if (propagate_down[0]) LocationGradient(weight * Dtype(param().loc_weight()), bottom);
  if (propagate_down[1]) ConfidenceGradient(weight, bottom);
}

INSTANTIATE_CLASS(MultiBoxLossLayer);
REGISTER_LAYER_CLASS(MultiBoxLoss);

}  // namespace caffe
