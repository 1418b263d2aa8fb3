#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void NesterovSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  kernels::NesterovUpdate(param.count(), rate * this->net_->params_lr()[param_id],
                          this->GetMomentum(), param.mutable_cpu_diff(),
                          this->history_[param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(NesterovSolver);
REGISTER_SOLVER_CLASS(Nesterov);

}  // namespace caffe
