#include "caffe/layers/detection/proposal_target_layer.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/util/text/param_str.hpp"

namespace caffe {
namespace {

std::vector<Shape> ShapesFor(int num_classes, int regions) {
  const Shape boxes = {regions, 4 * num_classes};
  return {{regions, 5}, {regions}, boxes, boxes, boxes};
}

/// With the most regions that there may be.
std::vector<Shape> TopShapesOfProposalTarget(const LayerParameter& layer,
                                             const std::vector<Shape>& bottoms) {
  const ProposalTargetSettings settings(layer);
  const Shape &proposals = bottoms.at(0), &truths = bottoms.at(1);
  Require(proposals.size() == 2 && proposals[1] == 5,
          "the proposals must have shape (P, 5), rows of item and corners, not ",
          ShapeString(proposals));
  CheckTrueBoxes(truths);
  Require(settings.num_classes > 1 && settings.num_classes < 100000, Error::Field{"param_str"},
          ": num_classes counts the background too, so it is 2 or more, not ",
          settings.num_classes);
  const int all = proposals[0] + truths[0];
  return ShapesFor(settings.num_classes,
                   settings.batch_size < 0 ? all : std::min(all, settings.batch_size));
}

const bool proposal_target_registered = OperationTable::Add(Operation("ProposalTarget")
                                                                .CpuOnly(kSequential)
                                                                .Shapes(TopShapesOfProposalTarget)
                                                                .BackwardReads(Operation::kNothing)
                                                                .FloatBottoms({-1})
                                                                .FloatTops({-1})
                                                                .Stateful());

}  // namespace

ProposalTargetSettings::ProposalTargetSettings(const LayerParameter& param) {
  ParamStr settings(param.python_param().param_str());
  num_classes = static_cast<int>(settings.Number("num_classes", 21));
  agnostic = settings.Flag("agnostic", false);
  batch_size = static_cast<int>(settings.Number("batch_size", 128));
  fg_fraction = settings.Number("fg_fraction", 0.25f);
  fg_thresh = settings.Number("fg_thresh", 0.5f);
  bg_thresh_hi = settings.Number("bg_thresh_hi", 0.5f);
  bg_thresh_lo = settings.Number("bg_thresh_lo", 0);
  inside_weights = settings.Numbers("bbox_inside_weights", {1, 1, 1, 1});
  means = settings.Numbers("bbox_normalize_means", {0, 0, 0, 0});
  stds = settings.Numbers("bbox_normalize_stds", {0.1f, 0.1f, 0.2f, 0.2f});
  settings.RequireAllKnown();
}

template <typename Dtype>
void ProposalTargetLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                            const vector<Blob<Dtype>*>&) {
  const ProposalTargetSettings& s = settings_;
  Require(s.batch_size > 0 || s.batch_size == -1, Error::Field{"param_str"},
          ": batch_size must be positive, or -1 for all regions, got ", s.batch_size);
  Require(s.fg_fraction >= 0 && s.fg_fraction <= 1, Error::Field{"param_str"},
          ": fg_fraction is a share of batch_size, from 0 to 1, not ", s.fg_fraction);
  Require(s.inside_weights.size() == 4 && s.means.size() == 4 && s.stds.size() == 4,
          Error::Field{"param_str"},
          ": bbox_inside_weights, bbox_normalize_means and bbox_normalize_stds are 4 ",
          "numbers each, not ", s.inside_weights.size(), ", ", s.means.size(), " and ",
          s.stds.size());
  for (const float std : s.stds) {
    Require(std > 0, Error::Field{"param_str"}, ": bbox_normalize_stds must be positive, got ",
            std);
  }
}

/// Those that stay: first `objects` objects, then background.
template <typename Dtype>
vector<int> ProposalTargetLayer<Dtype>::Choose(const vector<Region>& regions,
                                               size_t* objects) const {
  vector<int> chosen, background;
  for (size_t i = 0; i < regions.size(); ++i) {
    const BestOverlap& best = regions[i].best;
    if (best.truth >= 0 && best.overlap >= settings_.fg_thresh) {
      chosen.push_back(static_cast<int>(i));
    } else if (best.overlap < settings_.bg_thresh_hi && best.overlap >= settings_.bg_thresh_lo) {
      background.push_back(static_cast<int>(i));
    }
  }
  const bool all = settings_.batch_size < 0;
  const size_t limit = all ? regions.size() : settings_.batch_size;
  KeepAtRandom(all ? limit : std::lround(settings_.fg_fraction * settings_.batch_size), &chosen);
  *objects = chosen.size();
  KeepAtRandom(limit - *objects, &background);
  chosen.insert(chosen.end(), background.begin(), background.end());
  return chosen;
}

/// The four numbers of a region's box at its class's place in rows of zeros.
template <typename Dtype>
void ProposalTargetLayer<Dtype>::WriteTarget(const Region& region, const LabelledBox& truth,
                                             Dtype* targets, Dtype* inside, Dtype* outside) const {
  const int place = settings_.agnostic ? 1 : static_cast<int>(truth.label);
  Require(place >= 1 && place < settings_.num_classes, "a true box has class ", truth.label,
          "; with 'num_classes': ", settings_.num_classes, " in param_str classes are 1 to ",
          settings_.num_classes - 1);
  Prior prior;
  prior.box = region.box;
  const Box code = Encode(prior, RegionCode(), truth.box);
  const float numbers[] = {code.xmin, code.ymin, code.xmax, code.ymax};
  for (int k = 0; k < 4; ++k) {
    targets[4 * place + k] = (numbers[k] - settings_.means[k]) / settings_.stds[k];
    inside[4 * place + k] = settings_.inside_weights[k];
    outside[4 * place + k] = settings_.inside_weights[k] > 0;
  }
}

template <typename Dtype>
void ProposalTargetLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const vector<LabelledBox> truths = ReadLabelledBoxes(*bottom[1]);
  vector<Region> regions;
  const Dtype* row = bottom[0]->cpu_data();
  for (int i = 0; i < bottom[0]->shape(0); ++i, row += 5) {
    Require(row[0] == 0, "ProposalTarget takes the proposals of one image: row ", i, " is of item ",
            row[0]);
    regions.push_back({{float(row[1]), float(row[2]), float(row[3]), float(row[4])}, {}});
  }
  for (const LabelledBox& truth : truths) regions.push_back({truth.box, {}});
  for (Region& region : regions) region.best = FindBestOverlap(region.box, truths);

  size_t objects = 0;
  const vector<int> chosen = Choose(regions, &objects);
  const vector<Shape> shapes = ShapesFor(settings_.num_classes, static_cast<int>(chosen.size()));
  for (size_t i = 0; i < top.size(); ++i) {
    top[i]->Reshape(shapes[i]);
    caffe_set(top[i]->count(), Dtype(0), top[i]->mutable_cpu_data());
  }
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Region& region = regions[chosen[i]];
    const float corners[] = {region.box.xmin, region.box.ymin, region.box.xmax, region.box.ymax};
    std::copy(corners, corners + 4, top[0]->mutable_cpu_data() + 5 * i + 1);
    if (i >= objects) continue;
    const LabelledBox& truth = truths[region.best.truth];
    top[1]->mutable_cpu_data()[i] = truth.label;
    const size_t at = i * shapes[2][1];
    WriteTarget(region, truth, top[2]->mutable_cpu_data() + at, top[3]->mutable_cpu_data() + at,
                top[4]->mutable_cpu_data() + at);
  }
}

INSTANTIATE_CLASS(ProposalTargetLayer);
REGISTER_LAYER_CLASS(ProposalTarget);

}  // namespace caffe
