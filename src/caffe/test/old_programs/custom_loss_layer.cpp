// A custom loss layer, and a training program around it.
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/layers/loss_layer.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/signal_handler.h"

namespace caffe {

template <typename Dtype>
class MyEuclideanLossLayer : public LossLayer<Dtype> {
 public:
  explicit MyEuclideanLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param), diff_() {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    LossLayer<Dtype>::Reshape(bottom, top);
    CHECK_EQ(bottom[0]->count(1), bottom[1]->count(1)) << "Inputs must have the same dimension.";
    diff_.ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "MyEuclideanLoss"; }
  virtual inline bool AllowForceBackward(const int bottom_index) const { return true; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    int count = bottom[0]->count();
    caffe_sub(count, bottom[0]->cpu_data(), bottom[1]->cpu_data(), diff_.mutable_cpu_data());
    Dtype dot = caffe_cpu_dot(count, diff_.cpu_data(), diff_.cpu_data());
    Dtype loss = dot / bottom[0]->num() / Dtype(2);
    top[0]->mutable_cpu_data()[0] = loss;
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    for (int i = 0; i < 2; ++i) {
      if (propagate_down[i]) {
        const Dtype sign = (i == 0) ? 1 : -1;
        const Dtype alpha = sign * top[0]->cpu_diff()[0] / bottom[i]->num();
        caffe_cpu_axpby(bottom[i]->count(), alpha, diff_.cpu_data(), Dtype(0),
                        bottom[i]->mutable_cpu_diff());
      }
    }
  }

  Blob<Dtype> diff_;
};

INSTANTIATE_CLASS(MyEuclideanLossLayer);
REGISTER_LAYER_CLASS(MyEuclideanLoss);

}  // namespace caffe

int main(int argc, char** argv) {
  caffe::GlobalInit(&argc, &argv);
  CHECK_EQ(argc, 2) << "usage: custom_loss_layer solver.prototxt";
  caffe::SolverParameter solver_param;
  caffe::ReadSolverParamsFromTextFileOrDie(argv[1], &solver_param);
  caffe::Caffe::set_mode(caffe::Caffe::CPU);
  caffe::SignalHandler signal_handler(caffe::SolverAction::STOP, caffe::SolverAction::SNAPSHOT);

  boost::shared_ptr<caffe::Solver<float> > solver(
      caffe::SolverRegistry<float>::CreateSolver(solver_param));
  solver->SetActionFunction(signal_handler.GetActionFunction());
  const float before = solver->net()->ForwardBackward();
  solver->Solve();
  const float after = solver->net()->ForwardBackward();
  CHECK_EQ(solver->iter(), solver_param.max_iter());
  CHECK_LT(after, 0.01 * before);
  // The answer is 0.5 whatever the input.
  const std::vector<boost::shared_ptr<caffe::Blob<float> > >& blobs =
      solver->net()->layer_by_name("ip")->blobs();
  CHECK_NEAR(blobs[1]->cpu_data()[0], 0.5, 0.02);
  return 0;
}
