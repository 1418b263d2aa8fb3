#include "caffe/layers/label_margin_layer.hpp"

#include <cmath>

#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/loss_layer.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {

std::vector<Shape> LabelMarginShapes(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  ScoresPerItem(bottoms.at(0), bottoms.at(1));
  std::vector<Shape> tops = {bottoms[0]};
  if (layer.top_size() > 1) tops.push_back({1});
  return tops;
}

double MarginSchedule::Next(bool advance) {
  const double margin = base_ + std::pow(1 + gamma_ * pass_, power_) - 1;
  pass_ += advance;
  return margin;
}

void MarginSchedule::SetState(const std::string& state) {
  StringReader stream(state);
  Require(bool(stream >> pass_), "the saved state, a number of passes, is '", state, "'");
}

template <typename Dtype>
void LabelMarginLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  classes_ = ScoresPerItem(bottom[0]->shape(), bottom[1]->shape());
  rows_ = bottom[0]->shape(0);
  if (top[0] != bottom[0]) top[0]->ReshapeLike(*bottom[0]);
  if (top.size() > 1) top[1]->Reshape({1});
}

template <typename Dtype>
int LabelMarginLayer<Dtype>::LabelAt(const Dtype* labels, int n) const {
  return labels[n] < 0 ? -1 : ReadLabel(labels[n], n, classes_, nullptr);
}

template <typename Dtype>
void LabelMarginLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const bool changes = Changes();
  const double margin = changes ? NextMargin() : 0;
  if (top.size() > 1) top[1]->mutable_cpu_data()[0] = static_cast<Dtype>(margin);
  if (!changes && top[0] == bottom[0]) return;
  const Dtype* labels = bottom[1]->cpu_data();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    if (x != y) std::copy_n(x, bottom[0]->count(), y);
    for (int n = 0; changes && n < rows_; ++n) {
      const int label = LabelAt(labels, n);
      if (label < 0) continue;
      T& score = y[size_t(n) * classes_ + label];
      score = static_cast<T>(static_cast<AccumulatorType<T>>(At(double(score)).value));
    }
  });
}

template <typename Dtype>
void LabelMarginLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[1], this->type(), " has no gradient for its labels");
  if (!propagate_down[0] || top[0] == bottom[0]) return;
  const Dtype* labels = bottom[1]->cpu_data();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    std::copy_n(top[0]->template cpu_diff_as<D>(), bottom[0]->count(),
                bottom[0]->template overwrite_cpu_diff_as<D>());
    if (!Changes() || HasUnitSlope()) return;
    const T* x = bottom[0]->template cpu_data_as<T>();
    D* dx = bottom[0]->template mutable_cpu_diff_as<D>();
    for (int n = 0; n < rows_; ++n) {
      const int label = LabelAt(labels, n);
      if (label < 0) continue;
      const size_t i = size_t(n) * classes_ + label;
      const double gradient = double(dx[i]) * At(double(x[i])).slope;
      dx[i] = static_cast<D>(static_cast<AccumulatorType<D>>(gradient));
    }
  });
}

INSTANTIATE_CLASS(LabelMarginLayer);

}  // namespace caffe
