#ifndef CAFFE_SGD_SOLVERS_HPP_
#define CAFFE_SGD_SOLVERS_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/solver.hpp"

namespace caffe {

template <typename Dtype>
class DeviceUpdate;

/// Stochastic gradient descent with momentum: h = momentum h + rate g, w -= h; and what all other
/// update rules share: learning rates, regularisation, clipping, snapshots of the history.
///
/// In addition to BVLC's parameters it knows NVCaffe's: min_lr, rampup_*, policies of momentum and
/// weight decay, and LARC (layer-wise adaptive rates, You, Gitman and Ginsburg 2017), for every
/// rule.
///
/// In GPU mode the library's own rules change all parameters in one kernel; subclasses of others,
/// whose functions may be overridden, are asked as on the CPU, parameter by parameter.
template <typename Dtype>
class SGDSolver : public Solver<Dtype> {
 public:
  explicit SGDSolver(const SolverParameter& param) : Solver<Dtype>(param) { PreSolve(); }
  explicit SGDSolver(const string& param_file) : Solver<Dtype>(param_file) { PreSolve(); }
  const char* type() const override { return "SGD"; }
  const vector<shared_ptr<Blob<Dtype>>>& history() { return history_; }
  void ApplyUpdate() override;
  void CheckTraining() override;
  void BroadcastState(Communicator* communicator) override;
  /// The rate of the present iteration, before lr_mult.
  Dtype GetLearningRate();

 protected:
  void PreSolve();
  Dtype GetMomentum();
  Dtype GetWeightDecay();
  /// Divides the gradient by iter_size.
  virtual void Normalize(int param_id);
  /// Adds the regulariser's gradient.
  virtual void Regularize(int param_id);
  /// Replaces the gradient by what Update subtracts.
  virtual void ComputeUpdateValue(int param_id, Dtype rate);
  virtual void ClipGradients();
  void SnapshotSolverState(const string& model_filename) override;
  virtual void SnapshotSolverStateToBinaryProto(const string& model_filename);
  virtual void SnapshotSolverStateToHDF5(const string& model_filename);
  void RestoreSolverStateFromHDF5(const string& state_file) override;
  void RestoreSolverStateFromBinaryProto(const string& state_file) override;

  vector<shared_ptr<Blob<Dtype>>> history_;
  /// Scratch for subclasses written for Caffe: a blob per parameter.
  vector<shared_ptr<Blob<Dtype>>> update_, temp_;

  DISABLE_COPY_AND_ASSIGN(SGDSolver);

 private:
  void CheckUpdateParam() const;
  /// What clipping multiplies gradients of this norm by; logs it unless it is 1.
  Dtype ClipFactor(Dtype norm) const;
  /// Does the work of ApplyUpdate where the device can; false if it is the host's.
  bool UpdateOnDevice(Dtype rate);
  Dtype LarcRate(int param_id, Dtype rate);
  void SaveUpdateState(TrainingState* state);
  void WarnOfOtherType(const TrainingState& state) const;
  void RestoreUpdateState(const TrainingState& state);

  Blob<double> cosines_;  // larc_turbo: smoothed cosine between gradient and history
  std::shared_ptr<DeviceUpdate<Dtype>> device_update_;  // what UpdateOnDevice keeps
};

/// Nesterov's accelerated gradient: h = momentum h + rate g, w -= (1 + momentum) h - momentum
/// h_old.
template <typename Dtype>
class NesterovSolver : public SGDSolver<Dtype> {
 public:
  explicit NesterovSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {}
  explicit NesterovSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {}
  const char* type() const override { return "Nesterov"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
};

/// NVCaffe's SAG, an average of gradients: h = momentum h + (1 - momentum) g, w -= rate h. On a GPU
/// the host computes it.
template <typename Dtype>
class SAGSolver : public SGDSolver<Dtype> {
 public:
  explicit SAGSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {}
  explicit SAGSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {}
  const char* type() const override { return "SAG"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
};

/// AdaGrad (Duchi, Hazan and Singer 2011): h += g^2, w -= rate g / (sqrt(h) + delta).
template <typename Dtype>
class AdaGradSolver : public SGDSolver<Dtype> {
 public:
  explicit AdaGradSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    constructor_sanity_check();
  }
  explicit AdaGradSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    constructor_sanity_check();
  }
  const char* type() const override { return "AdaGrad"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
  void constructor_sanity_check() const;
};

/// RMSProp (Tieleman and Hinton 2012): h = rms_decay h + (1 - rms_decay) g^2, w -= rate g /
/// (sqrt(h) + delta).
template <typename Dtype>
class RMSPropSolver : public SGDSolver<Dtype> {
 public:
  explicit RMSPropSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    constructor_sanity_check();
  }
  explicit RMSPropSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    constructor_sanity_check();
  }
  const char* type() const override { return "RMSProp"; }

 protected:
  void ComputeUpdateValue(int param_id, Dtype rate) override;
  void constructor_sanity_check() const;
};

/// AdaDelta (Zeiler 2012), momentum being its decay rate: g2 = m g2 + (1 - m) g^2, u = g
/// sqrt((delta + u2) / (delta + g2)), u2 = m u2 + (1 - m) u^2, w -= rate u.
template <typename Dtype>
class AdaDeltaSolver : public SGDSolver<Dtype> {
 public:
  explicit AdaDeltaSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {
    AdaDeltaPreSolve();
  }
  explicit AdaDeltaSolver(const string& param_file) : SGDSolver<Dtype>(param_file) {
    AdaDeltaPreSolve();
  }
  const char* type() const override { return "AdaDelta"; }

 protected:
  void AdaDeltaPreSolve();
  void ComputeUpdateValue(int param_id, Dtype rate) override;
};

/// Adam (Kingma and Ba 2014) with beta1 momentum and beta2 momentum2: m = b1 m + (1 - b1) g, v = b2
/// v + (1 - b2) g^2, w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + delta).
template <typename Dtype>
class AdamSolver : public SGDSolver<Dtype> {
 public:
  explicit AdamSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) { AdamPreSolve(); }
  explicit AdamSolver(const string& param_file) : SGDSolver<Dtype>(param_file) { AdamPreSolve(); }
  const char* type() const override { return "Adam"; }

 protected:
  void AdamPreSolve();
  void ComputeUpdateValue(int param_id, Dtype rate) override;
};

}  // namespace caffe

#endif  // CAFFE_SGD_SOLVERS_HPP_
