// A custom update rule: steps by the sign of the gradient.
#include <cmath>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
class SignSolver : public SGDSolver<Dtype> {
 public:
  explicit SignSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) { SignPreSolve(); }
  explicit SignSolver(const string& param_file) : SGDSolver<Dtype>(param_file) { SignPreSolve(); }
  virtual inline const char* type() const { return "Sign"; }

 protected:
  void SignPreSolve() {
    // A second history, as Adam has one.
    const vector<Blob<Dtype>*>& net_params = this->net_->learnable_params();
    for (int i = 0; i < net_params.size(); ++i) {
      const vector<int>& shape = net_params[i]->shape();
      this->history_.push_back(shared_ptr<Blob<Dtype> >(new Blob<Dtype>(shape)));
    }
  }
  virtual void ComputeUpdateValue(int param_id, Dtype rate) {
    const vector<Blob<Dtype>*>& net_params = this->net_->learnable_params();
    const vector<float>& net_params_lr = this->net_->params_lr();
    Dtype momentum = this->param_.momentum();
    Dtype local_rate = rate * net_params_lr[param_id];
    const int count = net_params[param_id]->count();
    switch (Caffe::mode()) {
      case Caffe::CPU: {
        caffe_cpu_sign(count, net_params[param_id]->cpu_diff(),
                       this->temp_[param_id]->mutable_cpu_data());
        caffe_cpu_axpby(count, local_rate, this->temp_[param_id]->cpu_data(), momentum,
                        this->history_[param_id]->mutable_cpu_data());
        Blob<Dtype>* steps = this->history_[param_id + net_params.size()].get();
        caffe_add_scalar(count, Dtype(1), steps->mutable_cpu_data());
        caffe_copy(count, this->history_[param_id]->cpu_data(),
                   net_params[param_id]->mutable_cpu_diff());
        break;
      }
      case Caffe::GPU: {
#ifndef CPU_ONLY
        NOT_IMPLEMENTED;
#else
        NO_GPU;
#endif
        break;
      }
      default:
        LOG(FATAL) << "Unknown caffe mode: " << Caffe::mode();
    }
  }

  DISABLE_COPY_AND_ASSIGN(SignSolver);
};

INSTANTIATE_CLASS(SignSolver);
REGISTER_SOLVER_CLASS(Sign);

}  // namespace caffe

using namespace caffe;  // NOLINT(build/namespaces)

class CountingCallback : public Solver<float>::Callback {
 public:
  CountingCallback() : starts(0), gradients(0) {}
  int starts, gradients;

 protected:
  virtual void on_start() { ++starts; }
  virtual void on_gradients_ready() { ++gradients; }
};

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: custom_solver net.prototxt";
  SolverParameter param;
  param.set_type("Sign");
  param.set_net(argv[1]);
  param.set_base_lr(0.01);
  param.set_lr_policy("step");
  param.set_stepsize(40);
  param.set_gamma(0.2);
  param.set_momentum(0.5);
  param.set_max_iter(100);
  param.set_snapshot(50);
  param.set_snapshot_prefix("sign");
  param.set_random_seed(3);
  shared_ptr<Solver<float> > solver(SolverRegistry<float>::CreateSolver(param));
  CHECK_EQ(std::string(solver->type()), "Sign");
  CountingCallback callback;
  solver->add_callback(&callback);
  const float before = solver->net()->ForwardBackward();
  solver->Solve();
  CHECK_EQ(callback.starts, 100);
  CHECK_EQ(callback.gradients, 100);
  const float after = solver->net()->ForwardBackward();
  CHECK_LT(after, 0.5 * before);

  // Again from the middle: the same weights.
  shared_ptr<Solver<float> > resumed(SolverRegistry<float>::CreateSolver(param));
  resumed->Solve("sign_iter_50.solverstate");
  const vector<Blob<float>*>& expected = solver->net()->learnable_params();
  const vector<Blob<float>*>& found = resumed->net()->learnable_params();
  for (int i = 0; i < expected.size(); ++i) {
    for (int k = 0; k < expected[i]->count(); ++k) {
      CHECK_EQ(expected[i]->cpu_data()[k], found[i]->cpu_data()[k]);
    }
  }
  return 0;
}
