#include "caffe/layers/elementwise/fake_quantization_layer.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/core/as_stored.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "caffe/net/integer_grids.hpp"

namespace caffe {
namespace {

const bool fake_quantization_registered =
    OperationTable::Add(Operation("FakeQuantization")
                            .Shapes(SameShapes)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .FloatParameters());

/// The most batches that a float can count.
constexpr double kMaxBatches = 1 << 24;

}  // namespace

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                              const vector<Blob<Dtype>*>&) {
  const FakeQuantizationParameter& param = this->layer_param_.fake_quantization_param();
  CheckQuantizedTraining(param.quantization());
  Require(param.has_minimum() == param.has_maximum(), Error::Field{"fake_quantization_param"},
          ": give both minimum ", "and maximum, or none, and the range is observed");
  is_stated_ = param.has_minimum();
  const float minimum = param.minimum(), maximum = param.maximum();
  Require(!is_stated_ || (std::isfinite(minimum) && std::isfinite(maximum) && minimum <= 0 &&
                          maximum >= 0 && minimum < maximum),
          Error::Field{"fake_quantization_param"},
          ": minimum and maximum must be finite with 0 between them, got ", minimum, " and ",
          maximum);
  MakeOrCheckParameters<Dtype>({{{2}, ConstantOf(0)}, {{2}, ConstantOf(0)}}, &this->blobs_);
  if (is_stated_) {
    Dtype* range = this->blobs_[0]->mutable_cpu_data();
    range[0] = minimum;
    range[1] = maximum;
  }
  if (this->layer_param_.blobs_size() == 0) set_stage(ROUND);
  this->layer_param_.clear_param();
  for (int i = 0; i < 2; ++i) {
    ParamSpec* spec = this->layer_param_.add_param();
    spec->set_lr_mult(0);
    spec->set_decay_mult(0);
  }
  this->param_propagate_down_.assign(2, false);
  if (group_.empty()) group_ = {this};
}

template <typename Dtype>
typename FakeQuantizationLayer<Dtype>::Stage FakeQuantizationLayer<Dtype>::stage() const {
  return static_cast<Stage>(static_cast<int>(this->blobs_[1]->template cpu_data_as<Dtype>()[1]));
}

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::set_stage(Stage value) {
  if (stage() != value) this->blobs_[1]->mutable_cpu_data()[1] = static_cast<Dtype>(value);
}

template <typename Dtype>
bool FakeQuantizationLayer<Dtype>::HasRange() const {
  return is_stated_ || this->blobs_[1]->template cpu_data_as<Dtype>()[0] > 0;
}

template <typename Dtype>
bool FakeQuantizationLayer<Dtype>::Range(double* minimum, double* maximum) const {
  *minimum = *maximum = 0;
  bool known = false;
  for (const FakeQuantizationLayer* layer : group_) {
    if (!layer->HasRange()) continue;
    const Dtype* range = layer->blobs_[0]->template cpu_data_as<Dtype>();
    *minimum = std::min<double>(*minimum, range[0]);
    *maximum = std::max<double>(*maximum, range[1]);
    known = true;
  }
  return known;
}

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::TakeIntoRange(float least, float most, bool finite) {
  const FakeQuantizationParameter& param = this->layer_param_.fake_quantization_param();
  Require(finite, "blob '", param.blob(),
          "' has infinities or NaNs, which have no range: training ",
          "has diverged. Try a smaller base_lr or clip_gradients, or start with -weights of a net ",
          "that was trained in float");
  Dtype* range = this->blobs_[0]->mutable_cpu_data();
  Dtype* state = this->blobs_[1]->mutable_cpu_data();
  const double decay = param.quantization().ema_decay();
  const double batches = std::min(static_cast<double>(state[0]) + 1, kMaxBatches);
  const double share = (1 - decay) / (1 - std::pow(decay, batches));
  range[0] = static_cast<Dtype>(range[0] + (least - range[0]) * share);
  range[1] = static_cast<Dtype>(range[1] + (most - range[1]) * share);
  state[0] = static_cast<Dtype>(batches);
}

template <typename Dtype>
bool FakeQuantizationLayer<Dtype>::SetGrid() {
  double minimum = 0, maximum = 0;
  if (!Range(&minimum, &maximum)) return false;
  // What shares the scale of a Softmax, Sigmoid or TanH has it, of 8 bits, whatever the others
  // have.
  const auto stated = std::find_if(group_.begin(), group_.end(),
                                   [](const auto* layer) { return layer->is_stated_; });
  if (stated != group_.end()) {
    const FakeQuantizationParameter& param = (*stated)->layer_param_.fake_quantization_param();
    grid_ = kernels::AffineGrid(param.minimum(), param.maximum(), 0, 255);
  } else {
    grid_ = BlobGrid(this->layer_param_.fake_quantization_param().quantization(), minimum, maximum);
  }
  grid_.rounds_means = rounds_means_;
  grid_.middle = grid_.least < 0 ? 0 : 128;
  return true;
}

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  Prepare(*bottom[0], [&](float* least, float* most) {
    bool finite = true;
    Dispatch(this->forward_type(), [&](auto tag) {
      using T = decltype(tag);
      const Layout layout = LayoutFor<T>(bottom[0]->data_tensor(), bottom[0]->shape());
      // Zeros that fill up blocks of channels change nothing.
      finite = kernels::RangeWithZero(layout.extent(bottom[0]->count()),
                                      ReadAs<T>(bottom[0]->data_tensor(), layout), least, most);
    });
    return finite;
  });
  if (instead_ && instead_(*bottom[0], top[0])) return;
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    MapAsStored<T>(*bottom[0], top[0], [&](size_t n, const T* x, T* y) {
      if (rounds_) {
        kernels::FakeQuantize(n, grid_, x, y);
      } else {
        std::copy_n(x, n, y);
      }
    });
  });
}

template <typename Dtype>
void FakeQuantizationLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                const vector<bool>& propagate_down,
                                                const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const Layout layout = LayoutFor<D>(top[0]->diff_tensor(), top[0]->shape());
    const size_t count = layout.extent(bottom[0]->count());
    const D* dy = ReadAs<D>(top[0]->diff_tensor(), layout);
    D* dx = OverwriteAs<D>(bottom[0]->diff_tensor(), layout);
    if (rounds_) {
      kernels::FakeQuantizeGradient(count, grid_, ReadAs<T>(bottom[0]->data_tensor(), layout), dy,
                                    dx);
    } else {
      std::copy_n(dy, count, dx);
    }
  });
}

INSTANTIATE_CLASS(FakeQuantizationLayer);
REGISTER_LAYER_CLASS(FakeQuantization);

}  // namespace caffe
