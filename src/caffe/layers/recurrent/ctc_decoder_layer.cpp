#include "caffe/layers/ctc_decoder_layer.hpp"

#include <algorithm>

#include "caffe/layers/layer_shapes.hpp"
#include "caffe/util/text/ctc_path.hpp"
#include "caffe/util/text/edit_distance.hpp"

namespace caffe {
namespace {

/// Which bottom and which top is what; -1: there is none.
struct Roles {
  int indicators = -1, labels = -1;
  int sequences = -1, penalties = -1, accuracy = -1;
};

Roles RolesOf(const std::vector<Shape>& bottoms, int tops) {
  const Shape& x = bottoms.at(0);
  Require(x.size() >= 3, "bottom 0, the scores, must have axes (time, batch, classes), not ",
          ShapeString(x));
  Roles roles;
  const auto is_indicators = [&](const Shape& shape) {
    return shape.size() >= 2 && shape[0] == x[0] && shape[1] == x[1];
  };
  if (bottoms.size() == 2 && !is_indicators(bottoms[1])) {
    roles.labels = 1;
    roles.accuracy = 0;
    Require(!bottoms[1].empty() && bottoms[1][0] == x[1],
            "bottom 1 must be labels, one row for each of ", x[1], " sequences, or continuation ",
            "indicators of shape ", x[0], " ", x[1], "; it has shape ", ShapeString(bottoms[1]));
    Require(tops == 1, "with labels as bottom 1 there is 1 top, not ", tops);
    return roles;
  }
  roles.sequences = 0;
  if (bottoms.size() == 1) {
    Require(tops == 1, "with scores alone there is 1 top, not ", tops);
    return roles;
  }
  Require(is_indicators(bottoms[1]), "bottom 1, the continuation indicators, must have shape ",
          x[0], " ", x[1], ", not ", ShapeString(bottoms[1]));
  roles.indicators = 1;
  if (bottoms.size() == 2) {
    Require(tops <= 2, "with scores and indicators there are 1 or 2 tops, not ", tops);
    if (tops == 2) roles.penalties = 1;
    return roles;
  }
  roles.labels = 2;
  Require(bottoms[2].size() >= 2 && bottoms[2][1] == x[1], "bottom 2, the labels, must have shape ",
          "(labels, ", x[1], "), not ", ShapeString(bottoms[2]));
  if (tops == 3) roles.penalties = 1;
  if (tops > 1) roles.accuracy = tops - 1;
  return roles;
}

std::vector<Shape> ShapesFor(const std::vector<Shape>& bottoms, int tops) {
  const Roles roles = RolesOf(bottoms, tops);
  const Shape& x = bottoms[0];
  std::vector<Shape> shapes(tops);
  if (roles.sequences >= 0) shapes[roles.sequences] = {x[1], x[0], 1, 1};
  if (roles.penalties >= 0) shapes[roles.penalties] = {x[1], 1, 1, 1};
  if (roles.accuracy >= 0) shapes[roles.accuracy] = {1, roles.sequences < 0 ? 2 : 1, 1, 1};
  return shapes;
}

std::vector<Shape> TopShapesOfCtcDecoder(const LayerParameter& layer,
                                         const std::vector<Shape>& bottoms) {
  return ShapesFor(bottoms, layer.top_size());
}

const bool ctc_decoder_registered = OperationTable::Add(Operation("CTCGreedyDecoder")
                                                            .CpuOnly(kSequential)
                                                            .Shapes(TopShapesOfCtcDecoder)
                                                            .BackwardReads(Operation::kNothing));

}  // namespace

template <typename Dtype>
void CTCGreedyDecoderLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> shapes = ShapesFor(ShapesOf(bottom), top.size());
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes[i]);
  T_ = bottom[0]->shape(0);
  N_ = bottom[0]->shape(1);
  C_ = bottom[0]->count(2);
  Require(blank() < C_, Error::Field{"ctc_decoder_param"}, ": blank_index ", blank(),
          " must be less than the number of classes, ", C_);
}

template <typename Dtype>
vector<int> CTCGreedyDecoderLayer<Dtype>::LabelsOf(const Blob<Dtype>& labels, int sequence,
                                                   bool by_step) const {
  const int each = labels.count() / N_;
  vector<int> result;
  for (int i = 0; i < each; ++i) {
    const Dtype value = labels.cpu_data()[by_step ? i * N_ + sequence : sequence * each + i];
    if (!(value >= 0) || value >= Dtype(C_)) break;
    const int label = static_cast<int>(value + Dtype(0.5));
    if (by_step || label != blank()) result.push_back(label);
  }
  return result;
}

template <typename Dtype>
void CTCGreedyDecoderLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  const Roles roles = RolesOf(ShapesOf(bottom), top.size());
  const bool merge = this->layer_param_.ctc_decoder_param().ctc_merge_repeated();
  const size_t row = size_t(N_) * C_;
  if (roles.sequences >= 0) {
    caffe_set(top[roles.sequences]->count(), Dtype(-1), top[roles.sequences]->mutable_cpu_data());
  }
  double distance = 0;
  int right = 0;
  for (int n = 0; n < N_; ++n) {
    int steps = T_;
    for (int t = 1; roles.indicators >= 0 && t < steps; ++t) {
      if (bottom[roles.indicators]->cpu_data()[t * N_ + n] == 0) steps = t;
    }
    const Dtype* scores = bottom[0]->cpu_data() + size_t(n) * C_;
    const vector<int> labels = BestPathLabels(steps, C_, row, scores, blank(), merge);
    if (roles.sequences >= 0) {
      std::copy(labels.begin(), labels.end(),
                top[roles.sequences]->mutable_cpu_data() + size_t(n) * T_);
    }
    if (roles.penalties >= 0) {
      Dtype penalty = 0;
      for (int t = 0; t < steps; ++t) {
        penalty -= *std::max_element(scores + t * row, scores + t * row + C_);
      }
      top[roles.penalties]->mutable_cpu_data()[n] = penalty;
    }
    if (roles.accuracy < 0) continue;
    const vector<int> wanted = LabelsOf(*bottom[roles.labels], n, roles.indicators >= 0);
    const size_t longer = std::max(labels.size(), wanted.size());
    if (longer == 0) continue;  // counts as no distance, but not as right
    const size_t errors = EditDistance(labels, wanted);
    distance += double(errors) / longer;
    right += errors == 0;
  }
  if (roles.accuracy < 0) return;
  Dtype* accuracy = top[roles.accuracy]->mutable_cpu_data();
  accuracy[0] = static_cast<Dtype>(1 - distance / N_);
  if (roles.sequences < 0) accuracy[1] = Dtype(right) / N_;
}

INSTANTIATE_CLASS(CTCGreedyDecoderLayer);
REGISTER_LAYER_CLASS(CTCGreedyDecoder);

}  // namespace caffe
