#include "caffe/layers/parameter_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfParameter(const LayerParameter& layer, const std::vector<Shape>&) {
  const ParameterParameter& param = layer.parameter_param();
  Require(param.has_shape(), Error::Field{"parameter_param"}, Error::Remedy{"give the shape"});
  Shape top;
  for (const int64_t dim : param.shape().dim()) {
    Require(dim > 0 && dim <= INT_MAX, Error::Field{"parameter_param"}, ": shape has dim ", dim,
            ": extents are positive");
    top.push_back(static_cast<int>(dim));
  }
  return {top};
}

const bool parameter_registered = OperationTable::Add(Operation("Parameter")
                                                          .Shapes(TopShapesOfParameter)
                                                          .BackwardReads(Operation::kNothing)
                                                          .Native()
                                                          .TypeAgnostic());

}  // namespace

template <typename Dtype>
void ParameterLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const ParameterParameter& param = this->layer_param_.parameter_param();
  const Shape shape = TopShapesOfParameter(this->layer_param_, {})[0];
  MakeOrCheckParameters<Dtype>({{shape, param.blob_filler()}}, &this->blobs_);
  this->param_propagate_down_.resize(1, true);
}

template <typename Dtype>
void ParameterLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
  top[0]->ReshapeLike(*this->blobs_[0]);
}

// A copy: what frees, converts or overwrites activations must not reach the parameter.
template <typename Dtype>
void ParameterLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                        const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    std::copy_n(this->blobs_[0]->template cpu_data_as<T>(), top[0]->count(),
                top[0]->template overwrite_cpu_data_as<T>());
  });
}

template <typename Dtype>
void ParameterLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>&,
                                         const vector<Blob<Dtype>*>&) {
  if (!this->param_propagate_down_[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    kernels::Axpy(top[0]->count(), G(1), top[0]->template cpu_diff_as<D>(),
                  this->blobs_[0]->template mutable_cpu_diff_as<G>());
  });
}

INSTANTIATE_CLASS(ParameterLayer);
REGISTER_LAYER_CLASS(Parameter);

}  // namespace caffe
