#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void SAGSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  kernels::SagUpdate(param.count(), rate * this->net_->params_lr()[param_id], this->GetMomentum(),
                     param.mutable_cpu_diff(), this->history_[param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(SAGSolver);
REGISTER_SOLVER_CLASS(SAG);

}  // namespace caffe
