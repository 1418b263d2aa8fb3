#include "caffe/layers/seg_accuracy_layer.hpp"

#include "caffe/core/limits.hpp"
#include "caffe/layers/loss_layer.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfSegAccuracy(const LayerParameter&,
                                          const std::vector<Shape>& bottoms) {
  ClassAxis(bottoms.at(0), bottoms.at(1), 1);
  return {{1, 1, 1, 3}};
}

const bool seg_accuracy_registered = OperationTable::Add(Operation("SegAccuracy")
                                                             .Shapes(TopShapesOfSegAccuracy)
                                                             .BackwardReads(Operation::kNothing)
                                                             .Native()
                                                             .FloatBottoms({1})
                                                             .FloatTops({-1})
                                                             .Stateful()
                                                             .CpuOnly("it counts pixels by class"));

struct Means {
  double accuracy, recall, overlap;
};

Means MeansOf(const vector<int64_t>& counts, int classes) {
  vector<int64_t> labelled(classes, 0), found(classes, 0);
  for (int i = 0; i < classes; ++i) {
    for (int j = 0; j < classes; ++j) {
      labelled[i] += counts[size_t(i) * classes + j];
      found[j] += counts[size_t(i) * classes + j];
    }
  }
  int64_t pixels = 0, right = 0;
  int present = 0;
  double recalls = 0, overlaps = 0;
  for (int i = 0; i < classes; ++i) {
    const int64_t both = counts[size_t(i) * classes + i];
    const int64_t either = labelled[i] + found[i] - both;
    pixels += labelled[i];
    right += both;
    overlaps += either == 0 ? 1. : double(both) / either;
    if (labelled[i] == 0) continue;
    ++present;
    recalls += double(both) / labelled[i];
  }
  return {pixels ? double(right) / pixels : 0., present ? recalls / present : 0.,
          overlaps / classes};
}

}  // namespace

template <typename Dtype>
void SegAccuracyLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  counts_.clear();
}

template <typename Dtype>
void SegAccuracyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  ClassAxis(bottom[0]->shape(), bottom[1]->shape(), 1);
  channels_ = bottom[0]->shape(1);
  const int classes = std::max(channels_, 2);
  if (counts_.empty() || classes != classes_) {
    limits::Check(limits::kBlobBytes, limits::Product({uint64_t(classes), uint64_t(classes), 8}),
                  "counting pixels by pairs of ", classes, " classes");
    counts_.assign(size_t(classes) * classes, 0);
  }
  classes_ = classes;
  top[0]->Reshape({1, 1, 1, 3});
}

template <typename Dtype>
template <typename T>
int SegAccuracyLayer<Dtype>::ClassOf(const T* scores, size_t channel_step) const {
  using F = AccumulatorType<T>;
  if (channels_ == 1) return static_cast<F>(*scores) > F(0.5);
  int best = 0;
  for (int c = 1; c < channels_; ++c) {
    if (static_cast<F>(scores[c * channel_step]) > static_cast<F>(scores[best * channel_step])) {
      best = c;
    }
  }
  return best;
}

template <typename Dtype>
bool SegAccuracyLayer<Dtype>::IsIgnored(Dtype label) const {
  const auto& ignored = this->layer_param_.seg_accuracy_param().ignore_label();
  return std::any_of(ignored.begin(), ignored.end(),
                     [label](int value) { return label == static_cast<Dtype>(value); });
}

template <typename Dtype>
void SegAccuracyLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  if (this->layer_param_.seg_accuracy_param().reset()) counts_.assign(counts_.size(), 0);
  const Dtype* labels = bottom[1]->cpu_data();
  const int pixels = bottom[0]->count(2);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* scores = bottom[0]->template cpu_data_as<T>();
    for (int i = 0; i < bottom[1]->count(); ++i) {
      if (IsIgnored(labels[i])) continue;
      const size_t label = ReadLabel(labels[i], i, classes_, nullptr);
      const T* first = scores + size_t(i / pixels) * channels_ * pixels + i % pixels;
      ++counts_[label * classes_ + ClassOf(first, pixels)];
    }
  });
  const Means means = MeansOf(counts_, classes_);
  Dtype* to = top[0]->mutable_cpu_data();
  to[0] = static_cast<Dtype>(means.accuracy);
  to[1] = static_cast<Dtype>(means.recall);
  to[2] = static_cast<Dtype>(means.overlap);
}

INSTANTIATE_CLASS(SegAccuracyLayer);
REGISTER_LAYER_CLASS(SegAccuracy);

}  // namespace caffe
