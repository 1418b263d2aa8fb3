#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/reductions.hpp"
#include "caffe/layers/reduction_layer.hpp"

namespace caffe {

namespace {

cuda::Term TermOf(ReductionParameter_ReductionOp operation) {
  return operation == ReductionParameter_ReductionOp_ASUM    ? cuda::Term::ABSOLUTE
         : operation == ReductionParameter_ReductionOp_SUMSQ ? cuda::Term::SQUARE
                                                             : cuda::Term::VALUE;
}

}  // namespace

template <typename Dtype>
void ReductionLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const cuda::Term term = TermOf(this->layer_param_.reduction_param().operation());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template gpu_data_as<T>();
    cuda::ReduceTo(cuda::CurrentStream(), term, num_, dim_, coeff_, x,
                   top[0]->template overwrite_gpu_data_as<Dtype>());
  });
}

template <typename Dtype>
void ReductionLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const cuda::Term term = TermOf(this->layer_param_.reduction_param().operation());
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const T* x = term == cuda::Term::VALUE ? nullptr : bottom[0]->template gpu_data_as<T>();
    cuda::ReduceToGradient(cuda::CurrentStream(), term, num_, dim_, coeff_, x, top[0]->gpu_diff(),
                           bottom[0]->template overwrite_gpu_diff_as<D>());
  });
}

INSTANTIATE_LAYER_GPU_FUNCS(ReductionLayer);

}  // namespace caffe
