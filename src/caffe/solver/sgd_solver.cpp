#include <typeinfo>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/update.hpp"
#include "caffe/sgd_solvers.hpp"
#include "learning_rate.hpp"

namespace caffe {
namespace {

void CheckRegularizer(const string& type) {
  Require(type == "L2" || type == "L1" || type == "WD" || type == "L2_unitary", "unknown ",
          Error::Field{"regularization_type"}, " '", type, "'",
          Error::Remedy{"valid are L2, L1, WD and L2_unitary"});
}

void CheckLarcPolicy(const string& policy) {
  Require(policy == "scale" || policy == "clip", "unknown ", Error::Field{"larc_policy"}, " '",
          policy, "'", Error::Remedy{"valid are scale and clip"});
}

}  // namespace

// A solver whose gradients other code applies may do without a policy; otherwise mistakes are
// said now rather than after a long first test.
template <typename Dtype>
void SGDSolver<Dtype>::CheckUpdateParam() const {
  const SolverParameter& param = this->param_;
  CheckRegularizer(param.regularization_type());
  CheckLarcPolicy(param.larc_policy());
  if (!param.has_lr_policy()) return;
  CheckPolicies(param);
  LOG_IF(WARNING, !param.has_base_lr() && Caffe::root_solver())
      << "base_lr is missing and taken as 0: nothing will be learned";
}

namespace {

/// False for a program's subclass, whose updates may need no rate.
template <typename Dtype>
bool IsTheLibrarys(const SGDSolver<Dtype>& solver) {
  const std::type_info& type = typeid(solver);
  return type == typeid(SGDSolver<Dtype>) || type == typeid(NesterovSolver<Dtype>) ||
         type == typeid(SAGSolver<Dtype>) || type == typeid(AdaGradSolver<Dtype>) ||
         type == typeid(RMSPropSolver<Dtype>) || type == typeid(AdaDeltaSolver<Dtype>) ||
         type == typeid(AdamSolver<Dtype>);
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::CheckTraining() {
  if (!this->param_.has_lr_policy() && IsTheLibrarys(*this)) CheckPolicies(this->param_);
  Solver<Dtype>::CheckTraining();
}

template <typename Dtype>
void SGDSolver<Dtype>::PreSolve() {
  CheckUpdateParam();
  history_.clear();
  update_.clear();
  temp_.clear();
  for (const Blob<Dtype>* param : this->net_->learnable_params()) {
    history_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
    update_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
    temp_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
  }
  cosines_.Reshape({static_cast<int>(history_.size())});
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::GetLearningRate() {
  return static_cast<Dtype>(LearningRate(this->param_, this->iter_, &this->current_step_));
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::GetMomentum() {
  int step = this->current_step_;
  const double rate = LearningRate(this->param_, this->iter_, &step);
  return static_cast<Dtype>(Momentum(this->param_, this->iter_, rate));
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::GetWeightDecay() {
  return static_cast<Dtype>(WeightDecay(this->param_, this->iter_));
}

template <typename Dtype>
void SGDSolver<Dtype>::ApplyUpdate() {
  // Histories of gradients that stay zero fade through the denormal numbers.
  const kernels::FlushDenormals flush;
  FollowPlateau(this->param_, this->iter_, this->smoothed_loss_, &this->minimum_loss_,
                &this->iter_last_event_, &this->current_step_);
  const Dtype rate = GetLearningRate();
  if (this->param_.display() && this->iter_ % this->param_.display() == 0) {
    LOG_IF(INFO, Caffe::root_solver()) << "Iteration " << this->iter_ << ", lr = " << rate;
  }
  if (UpdateOnDevice(rate)) return;
  this->UnscaleGradients();
  ClipGradients();
  for (size_t i = 0; i < this->net_->learnable_params().size(); ++i) {
    Normalize(i);
    const Dtype effective = this->param_.larc() ? LarcRate(i, rate) : rate;
    Regularize(i);
    ComputeUpdateValue(i, effective);
    if (this->param_.regularization_type() == "WD") {
      // Decoupled: the weights decay by themselves, not through the history.
      const Dtype decay = GetWeightDecay() * this->net_->params_weight_decay()[i];
      Blob<Dtype>& param = *this->net_->learnable_params()[i];
      kernels::AddL2Gradient(param.count(), effective * this->net_->params_lr()[i] * decay,
                             param.cpu_data(), param.mutable_cpu_diff());
    }
  }
  this->net_->Update();
}

template <typename Dtype>
void SGDSolver<Dtype>::ClipGradients() {
  const Dtype limit = this->param_.clip_gradients();
  if (limit < 0) return;
  double sumsq = 0;
  for (const Blob<Dtype>* param : this->net_->learnable_params()) sumsq += param->sumsq_diff();
  const Dtype factor = ClipFactor(std::sqrt(sumsq));
  if (factor == 1) return;
  for (Blob<Dtype>* param : this->net_->learnable_params()) param->scale_diff(factor);
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::ClipFactor(Dtype norm) const {
  const Dtype limit = this->param_.clip_gradients();
  if (!(norm > limit)) return 1;  // not a number: nothing can be scaled right
  const Dtype factor = limit / norm;
  LOG_IF(INFO, Caffe::root_solver()) << "Gradient clipping: scaling down gradients (L2 norm "
                                     << norm << " > " << limit << ") by scale factor " << factor;
  return factor;
}

#ifdef CPU_ONLY
template <typename Dtype>
bool SGDSolver<Dtype>::UpdateOnDevice(Dtype) {
  return false;
}
#endif

template <typename Dtype>
void SGDSolver<Dtype>::Normalize(int param_id) {
  if (this->param_.iter_size() == 1) return;
  this->net_->learnable_params()[param_id]->scale_diff(Dtype(1) / this->param_.iter_size());
}

template <typename Dtype>
void SGDSolver<Dtype>::Regularize(int param_id) {
  const string& type = this->param_.regularization_type();
  CheckRegularizer(type);
  const Dtype decay = GetWeightDecay() * this->net_->params_weight_decay()[param_id];
  if (decay == 0 || type == "WD") return;
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  const auto add = type == "L1" ? kernels::AddL1Gradient<Dtype> : kernels::AddL2Gradient<Dtype>;
  add(param.count(), decay, param.cpu_data(), param.mutable_cpu_diff());
}

// The rate that, times lr_mult, gives what LARC says: a layer learns in proportion to the norm of
// its weights over that of its gradient. `scale` multiplies the global rate, `clip` bounds it.
template <typename Dtype>
Dtype SGDSolver<Dtype>::LarcRate(int param_id, Dtype rate) {
  const SolverParameter& solver = this->param_;
  const Dtype multiplier = this->net_->params_lr()[param_id];
  if (multiplier <= 0) return rate;
  const Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  const double weights = std::sqrt(double(param.sumsq_data()));
  const double gradient = std::sqrt(double(param.sumsq_diff()));
  double local = 1;
  if (weights > 0 && gradient > 0) {
    local = (1 - double(GetMomentum())) * solver.larc_eta() * weights / gradient;
  }
  if (solver.larc_turbo()) {
    const Blob<Dtype>& history = *history_[param_id];
    const double past = std::sqrt(double(history.sumsq_data()));
    const double cosine =
        past > 0 && gradient > 0
            ? kernels::Dot(param.count(), param.cpu_diff(), history.cpu_data()) / (past * gradient)
            : 0;
    double& smoothed = cosines_.mutable_cpu_data()[param_id];
    smoothed = 0.95 * smoothed + 0.05 * cosine;
    local -= 0.9 * smoothed * local;
  }
  CheckLarcPolicy(solver.larc_policy());
  const bool scales = solver.larc_policy() == "scale";
  const double wanted = scales ? rate * local : std::min(double(rate), local);
  return static_cast<Dtype>(wanted / multiplier);
}

template <typename Dtype>
void SGDSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
  kernels::SgdUpdate(param.count(), rate * this->net_->params_lr()[param_id], GetMomentum(),
                     param.mutable_cpu_diff(), history_[param_id]->mutable_cpu_data());
}

INSTANTIATE_CLASS(SGDSolver);
REGISTER_SOLVER_CLASS(SGD);

}  // namespace caffe
