#include "caffe/layers/dropout_layer.hpp"

#include "caffe/kernels/elementwise.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

const bool registered = OperationTable::Add(Operation("Dropout")
                                                .Shapes(SameShapes)
                                                .InPlace()
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TestIdentity()
                                                .Quantizable());

}  // namespace

template <typename Dtype>
void DropoutLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  threshold_ = this->layer_param_.dropout_param().dropout_ratio();
  Require(threshold_ >= 0 && threshold_ < 1,
          "dropout_param: dropout_ratio must be at least 0 and less than 1, got ", threshold_);
  scale_ = Dtype(1) / (Dtype(1) - threshold_);
}

// One draw per element in Caffe's order; in pieces, because a draw is an int and the mask a byte.
template <typename Dtype>
void DropoutLayer<Dtype>::DrawMask(size_t count) {
  constexpr size_t kPiece = 1024;
  unsigned int draws[kPiece];
  mask_.resize(count);
  for (size_t start = 0; start < count; start += kPiece) {
    const size_t length = std::min(kPiece, count - start);
    caffe_rng_bernoulli(static_cast<int>(length), Dtype(1) - threshold_, draws);
    std::copy(draws, draws + length, mask_.begin() + start);
  }
}

template <typename Dtype>
void DropoutLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (this->phase_ == TEST) {
    if (bottom[0] != top[0]) top[0]->CopyFrom(*bottom[0]);
    return;
  }
  DrawMask(bottom[0]->count());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    kernels::MaskScale<T>(bottom[0]->count(), mask_.data(), scale_, x,
                          top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void DropoutLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    if (this->phase_ == TEST) {
      if (dx != dy) std::copy(dy, dy + bottom[0]->count(), dx);
    } else {
      kernels::MaskScale<D>(bottom[0]->count(), mask_.data(), scale_, dy, dx);
    }
  });
}

INSTANTIATE_CLASS(DropoutLayer);
REGISTER_LAYER_CLASS(Dropout);

}  // namespace caffe
