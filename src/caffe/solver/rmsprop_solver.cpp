#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void RMSPropSolver<Dtype>::constructor_sanity_check() const {
  Require(this->param_.momentum() == 0, "RMSProp has no momentum: ", Error::Field{"momentum"},
          " is ", this->param_.momentum(), Error::Remedy{"leave it out"});
  Require(this->param_.rms_decay() >= 0 && this->param_.rms_decay() < 1, Error::Field{"rms_decay"},
          " must be at least 0 and less than 1, got ", this->param_.rms_decay());
}

template <typename Dtype>
void RMSPropSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  kernels::RmsPropUpdate<Dtype>(
      param.count(), rate * this->net_->params_lr()[param_id], this->param_.rms_decay(),
      this->param_.delta(), param.mutable_cpu_diff(), this->history_[param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(RMSPropSolver);
REGISTER_SOLVER_CLASS(RMSProp);

}  // namespace caffe
