#include "caffe/layers/normalize_layer.hpp"

#include "caffe/kernels/normalize.hpp"
#include "caffe/layers/layer_shapes.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfNormalize(const LayerParameter&, const std::vector<Shape>& bottoms) {
  Require(bottoms.at(0).size() >= 2, "Normalize takes a bottom of 2 axes or more (N, C, ...), not ",
          ShapeString(bottoms[0]));
  return {bottoms[0]};
}

const bool normalize_registered = OperationTable::Add(Operation("Normalize")
                                                          .Shapes(TopShapesOfNormalize)
                                                          .BackwardReads(Operation::kBottomData)
                                                          .Native()
                                                          .QuantizableInIntegers());

}  // namespace

template <typename Dtype>
void NormalizeLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&) {
  TopShapesOfNormalize(this->layer_param_, {bottom[0]->shape()});
  has_scale_ = !this->layer_param_.has_normalize_param();
  if (!has_scale_) {
    const NormFaceNormalizeParameter& param = this->layer_param_.normalize_param();
    Require(!this->layer_param_.has_norm_param(), "Normalize",
            Error::Remedy{"give norm_param (SSD) or normalize_param (NormFace), not both"});
    Require(param.normalize_type() == "L2", Error::Field{"normalize_param"}, ": normalize_type ",
            param.normalize_type(), " is not available", Error::Remedy{"use L2"});
    Require(!param.bp_norm(), Error::Field{"normalize_param.bp_norm"},
            " is for a second top with the norms, which Normalize does not have here",
            Error::Remedy{"leave it out"});
    across_spatial_ = false;
    channel_shared_ = true;
    eps_ = 1e-6;
    return;
  }
  const NormalizeParameter& param = this->layer_param_.norm_param();
  across_spatial_ = param.across_spatial();
  channel_shared_ = param.channel_shared();
  eps_ = param.eps();
  const vector<int> shape = channel_shared_ ? vector<int>() : vector<int>(1, bottom[0]->shape(1));
  MakeOrCheckParameters<Dtype>(
      {{shape, FillerOr(param.has_scale_filler(), param.scale_filler(), 1)}}, &this->blobs_);
  this->param_propagate_down_.resize(1, true);
}

template <typename Dtype>
void NormalizeLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfNormalize(this->layer_param_, {bottom[0]->shape()})[0]);
  Require(channel_shared_ || bottom[0]->shape(1) == this->blobs_[0]->count(), "Normalize has ",
          this->blobs_.empty() ? 0 : this->blobs_[0]->count(),
          " scales, one a channel; its bottom is ", ShapeString(bottom[0]->shape()));
  shape_ = std::make_shared<kernels::NormShape>();
  shape_->num = bottom[0]->shape(0);
  shape_->channels = bottom[0]->shape(1);
  shape_->spatial = bottom[0]->count(2);
  shape_->across_spatial = across_spatial_;
  shape_->eps = eps_;
  shape_->fixed_norm = this->layer_param_.normalize_param().fix_gradient();
}

template <typename Dtype>
vector<double> NormalizeLayer<Dtype>::Scales() const {
  if (!has_scale_) return vector<double>(shape_->channels, 1);
  const Dtype* scale = this->blobs_[0]->template cpu_data_as<Dtype>();
  if (channel_shared_) return vector<double>(shape_->channels, scale[0]);
  return vector<double>(scale, scale + shape_->channels);
}

template <typename Dtype>
void NormalizeLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const vector<double> scales = Scales();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    kernels::Normalize(*shape_, scales.data(), x, top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void NormalizeLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const bool scale_wanted = has_scale_ && this->param_propagate_down_[0];
  if (!scale_wanted && !propagate_down[0]) return;
  const vector<double> scales = Scales();
  vector<double> d_scales(shape_->channels);
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    const T* x = bottom[0]->template cpu_data_as<T>();
    const D* dy = top[0]->template cpu_diff_as<D>();
    D* dx = propagate_down[0] ? bottom[0]->template overwrite_cpu_diff_as<D>() : nullptr;
    kernels::NormalizeGradient(*shape_, scales.data(), x, dy, dx,
                               scale_wanted ? d_scales.data() : nullptr);
    if (!scale_wanted) return;
    G* d_scale = this->blobs_[0]->template mutable_cpu_diff_as<G>();
    for (size_t c = 0; c < shape_->channels; ++c) {
      d_scale[channel_shared_ ? 0 : c] += static_cast<G>(d_scales[c]);
    }
  });
}

INSTANTIATE_CLASS(NormalizeLayer);
REGISTER_LAYER_CLASS(Normalize);

}  // namespace caffe
