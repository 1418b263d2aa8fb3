#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

// The histories of squared updates stand behind those of squared gradients.
template <typename Dtype>
void AdaDeltaSolver<Dtype>::AdaDeltaPreSolve() {
  for (const Blob<Dtype>* param : this->net_->learnable_params()) {
    this->history_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
  }
}

template <typename Dtype>
void AdaDeltaSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  const size_t params = this->net_->learnable_params().size();
  kernels::AdaDeltaUpdate<Dtype>(
      param.count(), rate * this->net_->params_lr()[param_id], this->GetMomentum(),
      this->param_.delta(), param.mutable_cpu_diff(), this->history_[param_id]->mutable_cpu_data(),
      this->history_[params + param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(AdaDeltaSolver);
REGISTER_SOLVER_CLASS(AdaDelta);

}  // namespace caffe
