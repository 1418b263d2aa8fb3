#include "caffe/layers/detection/anchor_target_layer.hpp"

#include <algorithm>

#include "caffe/kernels/parallel.hpp"
#include "caffe/util/text/param_str.hpp"

namespace caffe {
namespace {

constexpr int kIgnored = -1, kBackground = 0, kObject = 1;

std::vector<Shape> TopShapesOfAnchorTarget(const LayerParameter& layer,
                                           const std::vector<Shape>& bottoms) {
  const AnchorTargetSettings settings(layer);
  const size_t ratios = settings.ratios.size(), scales = settings.scales.size();
  const int anchors = static_cast<int>(ratios * scales);
  const Shape &scores = bottoms.at(0), &truths = bottoms.at(1), &image = bottoms.at(2);
  Require(scores.size() == 4 && scores[0] == 1,
          "AnchorTarget takes scores of one image, (1, 2 A, H, W), not ", ShapeString(scores));
  Require(scores[1] == 2 * anchors, Error::Field{"param_str"}, ": ", ratios, " ratios and ", scales,
          " scales need ", 2 * anchors, " channels of scores, got ", scores[1]);
  CheckTrueBoxes(truths);
  const bool is_empty = std::count(image.begin(), image.end(), 0) > 0;
  Require(!image.empty() && image.back() >= 2 && !is_empty,
          "AnchorTarget takes the image's height and width, (1, 2) or more, not ",
          ShapeString(image));
  const Shape boxes = {1, 4 * anchors, scores[2], scores[3]};
  return {{1, 1, anchors * scores[2], scores[3]}, boxes, boxes, boxes};
}

const bool anchor_target_registered = OperationTable::Add(Operation("AnchorTarget")
                                                              .CpuOnly(kSequential)
                                                              .Shapes(TopShapesOfAnchorTarget)
                                                              .BackwardReads(Operation::kNothing)
                                                              .FloatBottoms({-1})
                                                              .FloatTops({-1})
                                                              .Stateful());

}  // namespace

AnchorTargetSettings::AnchorTargetSettings(const LayerParameter& param) {
  ParamStr settings(param.python_param().param_str());
  feat_stride = settings.Number("feat_stride", 16);
  base_size = settings.Number("base_size", 16);
  ratios = settings.Numbers("ratios", {0.5f, 1, 2});
  scales = settings.Numbers("scales", {8, 16, 32});
  allowed_border = settings.Number("allowed_border", 0);
  positive_overlap = settings.Number("rpn_positive_overlap", 0.7f);
  negative_overlap = settings.Number("rpn_negative_overlap", 0.3f);
  clobber_positives = settings.Flag("rpn_clobber_positives", false);
  batch_size = static_cast<int>(settings.Number("rpn_batchsize", 256));
  fg_fraction = settings.Number("rpn_fg_fraction", 0.5f);
  inside_weights = settings.Numbers("rpn_bbox_inside_weights", {1, 1, 1, 1});
  positive_weight = settings.Number("rpn_positive_weight", -1);
  settings.RequireAllKnown();
}

template <typename Dtype>
void AnchorTargetLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                          const vector<Blob<Dtype>*>&) {
  const AnchorTargetSettings& s = settings_;
  Require(s.feat_stride > 0, Error::Field{"param_str"}, ": feat_stride must be positive, got ",
          s.feat_stride);
  Require(s.batch_size > 0, Error::Field{"param_str"}, ": rpn_batchsize must be positive, got ",
          s.batch_size);
  Require(s.fg_fraction >= 0 && s.fg_fraction <= 1, Error::Field{"param_str"},
          ": rpn_fg_fraction is a share of rpn_batchsize, from 0 to 1, not ", s.fg_fraction);
  Require(s.positive_weight < 1, Error::Field{"param_str"},
          ": rpn_positive_weight is a share below 1, or negative, ", "not ", s.positive_weight);
  Require(s.inside_weights.size() == 4, Error::Field{"param_str"},
          ": rpn_bbox_inside_weights are 4 numbers, not ", s.inside_weights.size());
  cell_anchors_ = CellAnchors("param_str", s.base_size, s.ratios, s.scales);
}

template <typename Dtype>
auto AnchorTargetLayer<Dtype>::AnchorsInside(const Blob<Dtype>& scores,
                                             const Blob<Dtype>& image) const -> vector<Anchor> {
  const float stride = settings_.feat_stride, border = settings_.allowed_border;
  const float height = float(image.cpu_data()[0]), width = float(image.cpu_data()[1]);
  vector<Anchor> inside;
  for (int cell = 0; cell < scores.height() * scores.width(); ++cell) {
    const float x = stride * float(cell % scores.width());
    const float y = stride * float(cell / scores.width());
    for (size_t number = 0; number < cell_anchors_.size(); ++number) {
      const Box box = Moved(cell_anchors_[number], x, y);
      if (box.xmin >= -border && box.ymin >= -border && box.xmax < width + border &&
          box.ymax < height + border) {
        inside.push_back({box, static_cast<int>(number), cell, kIgnored, {}});
      }
    }
  }
  return inside;
}

/// Several anchors may overlap a true box equally, and most: all of them are objects.
template <typename Dtype>
void AnchorTargetLayer<Dtype>::Label(const vector<LabelledBox>& truths,
                                     vector<Anchor>* anchors) const {
  kernels::ParallelFor(anchors->size(), 256, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      (*anchors)[i].best = FindBestOverlap((*anchors)[i].box, truths);
    }
  });
  vector<bool> fits_best(anchors->size());
  vector<float> overlaps(anchors->size());
  for (const LabelledBox& truth : truths) {
    float most = 0;
    for (size_t i = 0; i < anchors->size(); ++i) {
      overlaps[i] = Overlap((*anchors)[i].box, truth.box, false);
      most = std::max(most, overlaps[i]);
    }
    for (size_t i = 0; most > 0 && i < anchors->size(); ++i) {
      if (overlaps[i] == most) fits_best[i] = true;
    }
  }
  for (size_t i = 0; i < anchors->size(); ++i) {
    Anchor& anchor = (*anchors)[i];
    const bool background = anchor.best.overlap < settings_.negative_overlap;
    const bool object = fits_best[i] || anchor.best.overlap >= settings_.positive_overlap;
    if (object && anchor.best.truth >= 0) anchor.label = kObject;
    if (background && (!object || settings_.clobber_positives)) anchor.label = kBackground;
  }
}

template <typename Dtype>
void AnchorTargetLayer<Dtype>::LeaveOutAtRandom(vector<Anchor>* anchors) const {
  size_t left = settings_.batch_size;
  size_t limit = static_cast<size_t>(settings_.fg_fraction * settings_.batch_size);
  for (const int label : {kObject, kBackground}) {
    vector<int> chosen;
    for (size_t i = 0; i < anchors->size(); ++i) {
      if ((*anchors)[i].label != label) continue;
      chosen.push_back(static_cast<int>(i));
      (*anchors)[i].label = kIgnored;
    }
    KeepAtRandom(limit, &chosen);
    for (const int i : chosen) (*anchors)[i].label = label;
    left -= chosen.size();
    limit = left;
  }
}

template <typename Dtype>
void AnchorTargetLayer<Dtype>::Write(const vector<Anchor>& anchors,
                                     const vector<LabelledBox>& truths, int cells,
                                     const vector<Blob<Dtype>*>& top) const {
  const float share = settings_.positive_weight;
  const auto count = [&](int label) {
    return float(std::count_if(anchors.begin(), anchors.end(),
                               [label](const Anchor& anchor) { return anchor.label == label; }));
  };
  const float objects = count(kObject), background = count(kBackground);
  const float object_weight = share < 0 ? 1 / (objects + background) : share / objects;
  const float background_weight = share < 0 ? 1 / (objects + background) : (1 - share) / background;

  caffe_set(top[0]->count(), Dtype(kIgnored), top[0]->mutable_cpu_data());
  for (int i = 1; i < 4; ++i) caffe_set(top[i]->count(), Dtype(0), top[i]->mutable_cpu_data());
  Dtype* labels = top[0]->mutable_cpu_data();
  Dtype* targets = top[1]->mutable_cpu_data();
  Dtype* inside = top[2]->mutable_cpu_data();
  Dtype* outside = top[3]->mutable_cpu_data();
  Prior prior;
  for (const Anchor& anchor : anchors) {
    labels[anchor.number * cells + anchor.cell] = Dtype(anchor.label);
    prior.box = anchor.box;
    const Box code = anchor.label == kObject
                         ? Encode(prior, RegionCode(), truths[anchor.best.truth].box)
                         : Box();
    const float numbers[] = {code.xmin, code.ymin, code.xmax, code.ymax};
    for (int k = 0; k < 4; ++k) {
      const int at = (4 * anchor.number + k) * cells + anchor.cell;
      if (anchor.label == kIgnored) continue;
      targets[at] = numbers[k];
      inside[at] = anchor.label == kObject ? settings_.inside_weights[k] : 0;
      outside[at] = anchor.label == kObject ? object_weight : background_weight;
    }
  }
}

template <typename Dtype>
void AnchorTargetLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const vector<LabelledBox> truths = ReadLabelledBoxes(*bottom[1]);
  vector<Anchor> anchors = AnchorsInside(*bottom[0], *bottom[2]);
  Label(truths, &anchors);
  LeaveOutAtRandom(&anchors);
  Write(anchors, truths, bottom[0]->height() * bottom[0]->width(), top);
}

INSTANTIATE_CLASS(AnchorTargetLayer);
REGISTER_LAYER_CLASS(AnchorTarget);

}  // namespace caffe
