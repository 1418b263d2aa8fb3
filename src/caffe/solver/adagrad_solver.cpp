#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void AdaGradSolver<Dtype>::constructor_sanity_check() const {
  Require(this->param_.momentum() == 0, "AdaGrad has no momentum: ", Error::Field{"momentum"},
          " is ", this->param_.momentum(), Error::Remedy{"leave it out"});
}

template <typename Dtype>
void AdaGradSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  kernels::AdaGradUpdate<Dtype>(param.count(), rate * this->net_->params_lr()[param_id],
                                this->param_.delta(), param.mutable_cpu_diff(),
                                this->history_[param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(AdaGradSolver);
REGISTER_SOLVER_CLASS(AdaGrad);

}  // namespace caffe
