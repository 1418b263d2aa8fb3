#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

// The histories of squared gradients stand behind those of gradients.
template <typename Dtype>
void AdamSolver<Dtype>::AdamPreSolve() {
  const auto require = [](const char* field, double value) {
    Require(value >= 0 && value < 1, Error::Field{field}, " of Adam is ", value,
            Error::Remedy{"give at least 0 and less than 1"});
  };
  require("momentum", this->param_.momentum());
  require("momentum2", this->param_.momentum2());
  for (const Blob<Dtype>* param : this->net_->learnable_params()) {
    this->history_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
  }
}

template <typename Dtype>
void AdamSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  const size_t params = this->net_->learnable_params().size();
  const double beta1 = this->GetMomentum(), beta2 = this->param_.momentum2();
  const int t = this->update_number();
  const double correction = std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  kernels::AdamUpdate<Dtype>(param.count(), rate * this->net_->params_lr()[param_id] * correction,
                             beta1, beta2, this->param_.delta(), param.mutable_cpu_diff(),
                             this->history_[param_id]->mutable_cpu_data(),
                             this->history_[params + param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(AdamSolver);
REGISTER_SOLVER_CLASS(Adam);

}  // namespace caffe
