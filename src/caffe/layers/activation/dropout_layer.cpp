#include "caffe/layers/dropout_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/transpose_bytes.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

const bool dropout_registered = OperationTable::Add(Operation("Dropout")
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
  const DropoutParameter& param = this->layer_param_.dropout_param();
  threshold_ = param.dropout_ratio();
  Require(threshold_ >= 0 && threshold_ < 1, Error::Field{"dropout_param"},
          ": dropout_ratio must be at least 0 and less than 1, got ", threshold_);
  const bool scale_train = param.scale_train();
  scale_ = scale_train ? Dtype(1) / (Dtype(1) - threshold_) : Dtype(1);
  test_scale_ = scale_train ? Dtype(1) : Dtype(1) - threshold_;
  drops_ = this->phase_ == TRAIN || param.sample_weights_test();
  random_.reset();
  if (param.random_seed() >= 0) {
    random_.reset(new Caffe::RNG(static_cast<unsigned>(param.random_seed())));
  }
}

// One draw per element in Caffe's order; in pieces, because a draw is an int and the mask a byte.
template <typename Dtype>
void DropoutLayer<Dtype>::DrawMask(size_t count) {
  constexpr size_t kPiece = 1024;
  unsigned int draws[kPiece];
  mask_.resize(count);
  // The layer's own generator takes the thread's place while it draws.
  if (random_) std::swap(Caffe::rng_stream(), *random_);
  for (size_t start = 0; start < count; start += kPiece) {
    const size_t length = std::min(kPiece, count - start);
    caffe_rng_bernoulli(static_cast<int>(length), Dtype(1) - threshold_, draws);
    std::copy(draws, draws + length, mask_.begin() + start);
  }
  if (random_) std::swap(Caffe::rng_stream(), *random_);
}

template <typename Dtype>
void DropoutLayer<Dtype>::TurnMask(const Layout& layout) {
  vector<uint8_t> turned(mask_.size());
  const size_t image = layout.channels * layout.spatial;
  for (size_t n = 0; n < layout.num; ++n) {
    kernels::TransposeBytes(layout.channels, layout.spatial, mask_.data() + n * image,
                            layout.spatial, turned.data() + n * image, layout.channels);
  }
  mask_.swap(turned);
}

template <typename Dtype>
std::string DropoutLayer<Dtype>::SaveState() {
  return random_ ? RandomStateOf(*static_cast<rng_t*>(random_->generator())) : std::string();
}

template <typename Dtype>
void DropoutLayer<Dtype>::RestoreState(const std::string& state) {
  if (random_) SetRandomStateOf(state, static_cast<rng_t*>(random_->generator()));
}

template <typename Dtype>
template <typename T>
void DropoutLayer<Dtype>::Apply(size_t count, const T* x, T* y) const {
  if (drops_) {
    kernels::MaskScale<T>(count, mask_.data(), scale_, x, y);
  } else if (test_scale_ != 1) {
    kernels::Affine<T, T>(count, test_scale_, 0, x, y);
  } else {
    kernels::Convert(count, x, y);
  }
}

template <typename Dtype>
void DropoutLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (drops_) DrawMask(bottom[0]->count());
  if (!drops_ && test_scale_ == 1 && bottom[0] == top[0]) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    layout_ = StoredLayout<T>(*bottom[0]);
    if (drops_ && layout_.kind == Layout::CHANNELS_LAST) TurnMask(layout_);
    const T* x = ReadAs<T>(bottom[0]->data_tensor(), layout_);
    Apply(bottom[0]->count(), x, OverwriteAs<T>(top[0]->data_tensor(), layout_));
  });
}

template <typename Dtype>
void DropoutLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Require(!drops_ || mask_.size() == static_cast<size_t>(bottom[0]->count()),
          "Dropout has drawn no mask for its backward pass", Error::Remedy{"run forward first"});
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using D = decltype(diff_tag);
    const Layout layout = drops_ ? layout_ : StoredLayout<decltype(data_tag)>(*top[0]);
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    Apply(bottom[0]->count(), dy, OverwriteAs<D>(bottom[0]->diff_tensor(), layout));
  });
}

INSTANTIATE_CLASS(DropoutLayer);
REGISTER_LAYER_CLASS(Dropout);

}  // namespace caffe
